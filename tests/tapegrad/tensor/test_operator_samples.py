"""PyTorch's own samples of its operators, through the primitives: values and gradients in float64.

docs/reference/tensor.md lists the operators, with how many samples were compared and how many use what is not here.
"""

import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from oracles import operators
from oracles import tensor as oracle

from tapegrad.tensor import Tensor

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "tensor.md").read_text()
LISTED = {
    name: (int(compared), int(left_out))
    for name, compared, left_out in re.findall(r"^\| `([\w.]+)` \| (\d+) \| (\d+) \|$", PAGE, flags=re.MULTILINE)
}
# Both sides compute in float64, in orders of their own.
TOLERANCE = 1e-10

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")


@pytest.fixture(scope="module")
def samples():
    """For each operator by its name a function that gives its samples, and PyTorch's function."""
    oracle.import_torch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return {op.name + ("." + op.variant_test_name if op.variant_test_name else ""): op for op in op_db}


def converted(value, leaves):
    """PyTorch's tensors as ours, integers as arrays; those that require gradients are collected, in order."""
    if isinstance(value, torch.Tensor):
        array = value.detach().numpy()
        if value.requires_grad:
            value.grad = None  # some samples share a tensor
            leaf = Tensor(array, requires_grad=True)
            leaves.append((value, leaf))
            return leaf
        return Tensor(array) if value.dtype.is_floating_point else array
    if isinstance(value, list | tuple):
        return (list if isinstance(value, list) else tuple)(converted(item, leaves) for item in value)
    return value


def several(result):
    return list(result) if isinstance(result, list | tuple) else [result]


def compare(name, op, sample):
    """One sample in both; `UnsupportedError` if it is none for us."""
    leaves = []
    given = converted([sample.input, *sample.args], leaves)
    named = {key: converted(value, leaves) for key, value in sample.kwargs.items()}
    results = several(operators.call(name, given, named))
    expected = several(op.op(sample.input, *sample.args, **sample.kwargs))
    assert len(results) == len(expected)
    rng = np.random.default_rng(0)
    for ours, theirs in zip(results, expected, strict=True):
        assert ours.shape == tuple(theirs.shape)
        close(ours.data, theirs)
        if not theirs.requires_grad:
            continue
        seed = rng.uniform(-1, 1, ours.shape)
        ours.backward(seed, retain=True)
        theirs.backward(torch.tensor(seed), retain_graph=True)
    for theirs, ours in leaves:
        assert (ours.grad is None) == (theirs.grad is None)
        if ours.grad is not None:
            close(ours.grad, theirs.grad)


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=TOLERANCE, atol=TOLERANCE)


def test_the_page_lists_what_is_compared():
    assert list(LISTED) == list(operators.OPERATORS)
    assert min(compared for compared, _ in LISTED.values()) >= 1


def compare_all(op, name):
    """How many samples were compared, and how many are none for us."""
    torch.manual_seed(0)
    counts = Counter()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in op.sample_inputs("cpu", torch.float64, requires_grad=True):
            try:
                compare(name, op, sample)
                counts["compared"] += 1
            except operators.UnsupportedError:
                counts["left out"] += 1
    return counts["compared"], counts["left out"]


@pytest.mark.parametrize("name", operators.OPERATORS)
def test_samples(samples, name):
    assert compare_all(samples[name], name) == LISTED[name]


def test_a_wrong_adapter_is_found(samples, monkeypatch):
    monkeypatch.setitem(operators.OPERATORS, "sin", lambda x: x - x**3 / 6)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        compare_all(samples["sin"], "sin")
