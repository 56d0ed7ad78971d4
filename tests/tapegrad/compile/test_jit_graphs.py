"""Random functions under jit: operations, broadcasts, reductions and products in random order, with awkward numbers."""

import math
import os

import numpy as np
import pytest

import tapegrad
from tapegrad import tensor
from tapegrad.tensor.trees import flat

COUNT = int(os.environ.get("TAPEGRAD_GRAPHS", "24"))
AWKWARD = [0.0, -0.0, 1e-30, -1e-30, 30.0, -30.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e30]
SMOOTH = ["tanh", "sigmoid", "sin", "cos", "softplus", "square", "erf", "neg"]
KINKED = ["relu", "abs"]
SAFE = [lambda x: tensor.exp(-tensor.abs(x)), lambda x: tensor.log1p(tensor.square(x)), lambda x: 1.0 / (1.0 + x * x)]
ROWS = ["softmax", "log_softmax"]
REDUCTIONS = ["sum", "mean", "max", "min", "logsumexp", "var"]
SHAPES = [(), (1,), (5,), (3, 5), (1, 5), (3, 1), (2, 3, 5), (2, 1, 5), (17,), (4, 17)]


def function_of(seed):
    """A function of two arrays, always the same for a seed."""

    def f(x, y):
        draw = np.random.default_rng(seed)
        values = [x, y]
        for _ in range(draw.integers(3, 14)):
            values.append(step(draw, values))
        total = values[-1]
        return (total * total).sum() + sum((tensor.tanh(v) * 0.5).sum() for v in values[-4:-1])

    return f


def step(draw, values):
    """One more operation on what there is."""
    x = values[draw.integers(len(values))]
    match draw.integers(9):
        case 0 | 1:
            return getattr(tensor, draw.choice(SMOOTH + KINKED))(x)
        case 2:
            return SAFE[draw.integers(len(SAFE))](x)
        case 3 | 4:
            fitting = [v for v in values if fits(x.shape, v.shape)]
            y = fitting[draw.integers(len(fitting))]
            return getattr(tensor, draw.choice(["add", "sub", "mul", "maximum", "minimum"]))(x, y)
        case 5 if x.shape:
            name, axis = draw.choice(REDUCTIONS), int(draw.integers(-1, x.ndim))
            return getattr(tensor, name)(x, None if axis < 0 else axis, keepdims=bool(draw.integers(2)))
        case 6 if x.shape:
            return getattr(tensor, draw.choice(ROWS))(x, int(draw.integers(x.ndim)))
        case 7:
            return tensor.transpose(x) if draw.integers(2) else tensor.reshape(x, (-1,))
        case 8 if x.ndim == 2:
            return x @ x.T
    return tensor.where(x > 0.25, x * 2.0, 0.5)


def fits(left, right):
    try:
        return math.prod(np.broadcast_shapes(left, right)) < 5000
    except ValueError:
        return False


def drawn(seed, awkward):
    draw = np.random.default_rng(10_000 + seed)
    dtype = draw.choice([np.float32, np.float64])
    arrays = []
    for _ in range(2):
        array = draw.normal(size=SHAPES[draw.integers(len(SHAPES))]).astype(dtype)
        if awkward and array.size:
            places = draw.integers(0, array.size, 1 + array.size // 4)
            array.reshape(-1)[places] = draw.choice(AWKWARD, places.size).astype(dtype)
        arrays.append(array)
    return arrays


def compare(got, expected, dtype):
    """Nan and infinities where they are expected; numbers within rounding of the largest."""
    with np.errstate(all="ignore"):
        got, expected = np.asarray(got, float), np.asarray(expected, float)
        assert got.shape == expected.shape
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(got[~finite], expected[~finite])
        bound = 2e-4 if dtype == np.float32 else 1e-11
        scale = max(1.0, float(np.max(np.abs(expected), initial=0.0, where=finite)))
        np.testing.assert_allclose(got[finite], expected[finite], rtol=bound, atol=bound * scale)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_function_and_its_derivatives(seed):
    f = function_of(seed)
    x, y = drawn(seed, awkward=False)

    def everything(x, y, v):
        return tapegrad.value_and_grad(f, (0, 1))(x, y), tapegrad.hvp(lambda x: f(x, y), (x,), (v,))

    args = (x, y, np.ones_like(x) * 0.5)
    compiled = tapegrad.jit(everything)
    for got, expected in zip(flat(compiled(*args)), flat(everything(*args)), strict=True):
        compare(got, expected, x.dtype)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(COUNT))
def test_awkward_numbers_in_a_random_function(seed):
    f = tapegrad.value_and_grad(function_of(seed), (0, 1))
    args = drawn(seed, awkward=True)
    with np.errstate(all="ignore"):
        expected = flat(f(*args))
    for got, wanted in zip(flat(tapegrad.jit(f)(*args)), expected, strict=True):
        same = np.isnan(np.asarray(got)) == np.isnan(np.asarray(wanted))
        assert np.all(same)
        compare(got, wanted, args[0].dtype)
