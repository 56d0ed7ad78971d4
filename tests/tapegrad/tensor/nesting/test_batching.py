"""Several seeds at once: what one call says for all is what one for each says."""

import numpy as np
import pytest

from tapegrad import tensor
from tapegrad.tensor.instruction import PRIMITIVES
from tapegrad.tensor.nesting import batching
from tapegrad.tensor.nesting.batching import seeds, unseeded
from tapegrad.tensor.nesting.levels import Level
from tapegrad.tensor.nesting.namespace import traced
from tapegrad.tensor.nesting.traced import plain
from tapegrad.tensor.tensor import apply

draw = np.random.default_rng(0)
MATRIX, OTHER, VECTOR = (draw.normal(size=shape) for shape in ((3, 4), (4, 2), (4,)))

# primitive, operands, settings
CALLS = [
    ("mul", (MATRIX, VECTOR), None),
    ("sub", (VECTOR, MATRIX), None),
    ("clip", (MATRIX,), (-0.5, 0.5)),
    ("sum", (MATRIX,), (None, False)),
    ("sum", (MATRIX,), (-1, True)),
    ("mean", (MATRIX,), ((0, 1), False)),
    ("max", (MATRIX,), (0, False)),
    ("cumsum", (MATRIX,), None),
    ("cumsum", (MATRIX,), -2),
    ("reshape", (MATRIX,), (2, -1)),
    ("reshape", (MATRIX,), -1),
    ("transpose", (MATRIX,), None),
    ("transpose", (MATRIX,), (1, 0)),
    ("broadcast_to", (VECTOR,), (2, 3, 4)),
    ("concatenate", (MATRIX, MATRIX[:1]), 0),
    ("getitem", (MATRIX,), (slice(None, None, -1), 1)),
    ("getitem", (MATRIX,), (np.array([0, 0, 2]), np.array([1, 1, 3]))),
    ("getitem", (MATRIX[None],), (np.array([0, 0]), slice(None), np.array([1, 3]))),
    ("getitem", (MATRIX,), MATRIX > 0),
    ("pad", (MATRIX,), ((1, 0), (0, 2))),
    ("take_along_axis", (MATRIX,), (np.array([[0, 1], [1, 1], [3, 0]]), 1)),
    ("put", (MATRIX, VECTOR), 1),
    ("put", (MATRIX, VECTOR[:1]), (slice(None), 2)),
    ("put", (MATRIX[None], VECTOR[0]), (np.array([0]), slice(None), np.array([1]))),
    ("add_at", (MATRIX, VECTOR), ((np.array([0, 0]),), False)),
    ("add_at", (MATRIX, VECTOR), (1, True)),
    ("matmul", (MATRIX, OTHER), None),
    ("matmul", (VECTOR, OTHER), None),
    ("matmul", (MATRIX, VECTOR), None),
    ("matmul", (VECTOR, VECTOR), None),
    ("matmul", (np.stack([MATRIX] * 2), OTHER), None),
    ("matmul", (np.stack([MATRIX] * 2), VECTOR), None),
    ("einsum", (MATRIX, OTHER), "ij,jk->ki"),
    ("astype", (MATRIX,), np.float32),
    ("softmax", (MATRIX,), -1),
    ("logsumexp", (MATRIX,), (0, False)),
]


@pytest.mark.parametrize(("name", "operands", "settings"), CALLS, ids=[f"{k}-{c[0]}" for k, c in enumerate(CALLS)])
def test_each_operand_and_all_with_seeds(name, operands, settings):
    primitive, count = PRIMITIVES[name], 3
    stacked = [np.stack([x * (k + 1) for k in range(count)]) for x in operands]
    choices = [{k} for k in range(len(operands))] + ([set(range(len(operands)))] if len(operands) > 1 else [])
    for chosen in choices:
        with Level() as level:
            given = [seeds(stacked[k], level) if k in chosen else x for k, x in enumerate(operands)]
            result = unseeded(traced(primitive, tuple(given), settings), level, count)
        expected = [
            apply(
                primitive, tuple([stacked[k][n] if k in chosen else x for k, x in enumerate(operands)]), settings
            ).data
            for n in range(count)
        ]
        assert result == pytest.approx(np.stack(expected), abs=1e-12)
        assert result.dtype == expected[0].dtype


def test_what_has_a_rule_is_called_once(monkeypatch):
    monkeypatch.setattr(batching, "one_by_one", lambda call: pytest.fail(f"{call.primitive} seed by seed"))
    for name, operands, settings in CALLS:
        if name in batching.RULES and not (name in ("getitem", "put") and operands[0].ndim == 3):
            with Level() as level:
                traced(PRIMITIVES[name], (seeds(np.stack([operands[0]] * 2), level), *operands[1:]), settings)


def test_rules_are_of_primitives():
    assert set(batching.RULES) <= set(PRIMITIVES)


def test_what_is_the_same_for_all_seeds_is_repeated():
    assert unseeded(plain(MATRIX), 1, 2).tolist() == [MATRIX.tolist()] * 2
    assert tensor.sum(MATRIX).item() == MATRIX.sum()
