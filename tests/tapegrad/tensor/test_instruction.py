"""The table of primitives."""

from oracles.problems import MODULES, PROBLEMS

from tapegrad.tensor import instruction
from tapegrad.tensor.instruction import PRIMITIVES


def test_every_primitive_has_problems():
    """Those that rules/ compares with differences, PyTorch and JAX: none is left out, none is in two modules."""
    assert set(PROBLEMS) == set(PRIMITIVES)
    assert sum(map(len, MODULES.values())) == len(PROBLEMS)


def test_a_primitive_is_in_the_table_under_its_name():
    for name, primitive in PRIMITIVES.items():
        assert primitive.name == name
        assert repr(primitive) == f"<primitive {name}>"
    assert instruction.Primitive("made", None, None, fresh=True).name == "made"
    assert "made" not in PRIMITIVES
