"""Every primitive on a device: compiled, value, gradient and Hessian product are those of the CPU's interpreted engine;
and interpreted, no rule looks at a number, which would wait for the device."""

import numpy as np
import pytest
from oracles import derivatives, foreign
from oracles.problems import MODULES, PROBLEMS

import tapegrad
from tapegrad import Tensor
from tapegrad.tensor import namespaces
from tapegrad.tensor.trees import flat


def numbers(tree):
    plain = [x.data if isinstance(x, Tensor) else x for x in flat(tree)]
    return [np.asarray(x.view(np.ndarray) if isinstance(x, foreign.ForeignArray) else x) for x in plain]


def everything(case):
    def compute(*leaves):
        slope = tapegrad.value_and_grad(case.loss, case.argnums())(*leaves)
        return case.result(*leaves), slope, tapegrad.hvp(case.loss, leaves, tuple(case.tangents()))

    return compute


def cases_of(name, wrap=np.asarray):
    cases = []
    derivatives.agree(name, cases.append, 1, wrap)
    return cases


@pytest.mark.slow
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("module", MODULES)
def test_compiled_for_a_device_they_give_what_they_give_here(module):
    """All primitives of a module are one function, so that they are compiled at once."""
    here = [case for name in MODULES[module] for case in cases_of(name)]
    there = [case for name in MODULES[module] for case in cases_of(name, foreign.foreign)]
    with np.errstate(all="ignore"):
        expected = [numbers(everything(case)(*case.points())) for case in here]

    def compute(groups):
        return [everything(case)(*points) for case, points in zip(there, groups, strict=True)]

    compiled = tapegrad.jit(compute)
    results = compiled([case.points() for case in there])
    for case, result, wanted in zip(here, results, expected, strict=True):
        for got, right in zip(numbers(result), wanted, strict=True):
            derivatives.close(got, right, case.dtype)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_interpreted_they_wait_for_nothing(name, monkeypatch):
    def refuse(self, *args):
        raise AssertionError("a rule looked at a number: on a device it would wait for that")

    (plain,), (case,) = cases_of(name), cases_of(name, foreign.foreign)
    with np.errstate(all="ignore"):
        expected = numbers(everything(plain)(*plain.points()))
        for method in ("__bool__", "__float__", "__int__", "item", "tolist"):
            monkeypatch.setattr(foreign.ForeignArray, method, refuse)
        result = everything(case)(*case.points())
    monkeypatch.undo()
    for got, right in zip(numbers(result), expected, strict=True):
        derivatives.close(got, right, case.dtype)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("name", ["logsumexp", "softmax_cross_entropy", "embedding"])
def test_a_rule_that_looks_is_found(name, monkeypatch):
    monkeypatch.setattr(namespaces, "ON_DEVICES", {"cupy"})  # so that foreign arrays are looked at, as NumPy's are
    with pytest.raises(AssertionError, match="a rule looked at a number"):
        test_interpreted_they_wait_for_nothing(name, monkeypatch)
