"""Nested: derivatives inside functions, by each engine's own transforms, in both modes."""

import math

import pytest

from gradmark.engines.floats import FLOATS
from gradmark.engines.nested import gradient_of, while_loop
from gradmark.engines.numpy_arrays import ARRAYS
from gradmark.errors import UnsupportedError
from gradmark.measure.reference import exact


def function(ops, x, y):
    """Every operator of duals."""
    return ops.exp(-x) * ops.tanh(y) + ops.sqrt(1.0 + x * x) / (2.0 - y) - 3.0 / x + (x - y) + (1.0 - x)


def slopes(x, y, h=1e-6):
    return [
        (function(math, x + h, y) - function(math, x - h, y)) / (2 * h),
        (function(math, x, y + h) - function(math, x, y - h)) / (2 * h),
    ]


def test_numbers_that_carry_a_tangent():
    assert gradient_of(math)(function, [0.7, 0.4], "forward") == pytest.approx(slopes(0.7, 0.4), rel=1e-8)


def test_they_nest():
    def square_of_slope(ops, x):
        (slope,) = ops.gradient_of(lambda ops, y: y * y * y, [x], "reverse")
        return slope * slope

    assert gradient_of(math)(square_of_slope, [1.5], "forward") == [36 * 1.5**3]


def test_plain_numbers_and_digits_have_them():
    from mpmath import mp

    with mp.workdps(60):
        x, _ = exact.namespace().gradient_of(function, [mp.mpf("0.7"), mp.mpf("0.4")], "reverse")
        assert float(x) == pytest.approx(FLOATS.gradient_of(function, [0.7, 0.4], "reverse")[0], rel=1e-14)


def engine_operations(engine):
    if engine == "tapegrad":
        from gradmark.engines.tapegrad import operations

        return operations(float)
    if engine == "torch":
        from gradmark.engines.torch import operations

        return operations("scalar", "cpu")
    from gradmark.engines.autograd import operations

    return operations("scalar")


pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")
ENGINES = [
    "tapegrad",
    pytest.param("torch", marks=[pytest.mark.peers("torch"), pytest.mark.slow]),
    pytest.param("autograd", marks=pytest.mark.peers("autograd")),
]


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_computes_them_itself(engine, mode):
    got = engine_operations(engine).gradient_of(function, [0.7, 0.4], mode)
    assert [float(x) for x in got] == pytest.approx(FLOATS.gradient_of(function, [0.7, 0.4], mode), rel=1e-12)


@pytest.mark.peers("jax")
@pytest.mark.slow
def test_jax_says_what_it_lacks():
    from gradmark.engines.jax import operations

    with pytest.raises(UnsupportedError, match="jax has no reverse mode through a loop that ends when a number says"):
        operations("scalar").while_loop(lambda x: x < 1, lambda x: x + 1, 0)


def test_loops_of_plain_arrays():
    import numpy as np

    assert while_loop(lambda x: x < 5, lambda x: x + 2, 0) == 6
    xs = np.arange(6.0).reshape(3, 2)
    last, results = ARRAYS.scan(lambda carry, x: (carry + x, 2 * carry), np.zeros(2), xs)
    assert last.tolist() == [6.0, 9.0]
    assert results.tolist() == [[0.0, 0.0], [0.0, 2.0], [4.0, 8.0]]
    both, none = ARRAYS.scan(lambda carry, x: (carry + x[0] * x[1], None), np.zeros(2), (xs, xs))
    assert (both.tolist(), none) == ([20.0, 35.0], None)
    assert ARRAYS.scan(lambda carry, _: (2 * carry, None), 1, None, length=3) == (8, None)
