"""Every primitive under jit: value, gradient and Hessian product are the interpreted engine's."""

import numpy as np
import pytest
from oracles import derivatives
from oracles.problems import PROBLEMS

import tapegrad
from tapegrad import Tensor
from tapegrad.tensor.trees import flat

EXAMPLES = 3


def numbers(tree):
    return [np.asarray(x.data if isinstance(x, Tensor) else x) for x in flat(tree)]


def check_compiled(case):
    """All three in one function, so that it is compiled once."""
    argnums, points, tangents = case.argnums(), case.points(), case.tangents()

    def everything(*leaves):
        return (
            case.result(*leaves),
            tapegrad.value_and_grad(case.loss, argnums)(*leaves),
            tapegrad.hvp(case.loss, leaves, tuple(tangents)),
        )

    compiled = tapegrad.jit(everything)
    with np.errstate(all="ignore"):
        expected = numbers(everything(*points))
    actual = numbers(compiled(*points))
    assert compiled.traces == 1
    assert len(actual) == len(expected)
    for got, wanted in zip(actual, expected, strict=True):
        assert got.shape == wanted.shape
        if got.shape:
            assert got.dtype == wanted.dtype
        derivatives.close(got, wanted, case.dtype)
    for again, first in zip(numbers(compiled(*points)), actual, strict=True):
        assert again.tobytes() == first.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_primitive_compiled_is_the_primitive_interpreted(name):
    derivatives.agree(name, check_compiled, EXAMPLES)
