"""Random functions of two arrays, and numbers for them: what machine code and derivatives of arrays are tried with.

In: a seed. Out: the same function for the same seed: operations, broadcasts, reductions, products, pieces and loops in
random order; ordinary numbers, or some that are extreme. Growth is tamed where numbers are ordinary.
"""

import math

import numpy as np

import tapegrad
from tapegrad import tensor

# No two large ones cancel: what a sum of 1e30, 1 and -1e30 is depends on the order.
AWKWARD = [0.0, -0.0, 1e-30, -1e-30, 30.0, -30.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e30, -3e29, 1e-40, -1e-42]
EXTREME = {np.float32: [3e38, 1e-45, 88.8, -104.0], np.float64: [1.7e308, 5e-324, 709.8, -746.0]}
SHAPES = [(), (1,), (5,), (3, 5), (1, 5), (3, 1), (2, 3, 5), (2, 1, 5), (17,), (4, 17), (4, 4), (0,), (0, 5)]
# Shapes without numbers are drawn, but seldom: all but NumPy's errors is known of them.
WEIGHTS = np.array([1.0] * (len(SHAPES) - 2) + [0.2] * 2)
MOST_NUMBERS = 5000
SMOOTH = ["tanh", "sigmoid", "sin", "cos", "softplus", "square", "erf", "neg", "gelu"]
KINKED = ["relu", "abs"]
SAFE = [
    lambda x: tensor.exp(-tensor.abs(x)),
    lambda x: tensor.log1p(tensor.square(x)),
    lambda x: 1.0 / (1.0 + x * x),
    lambda x: tensor.sqrt(1.0 + x * x),
    lambda x: tensor.expm1(tensor.minimum(x, 2.0)),
    lambda x: (1.0 + x * x) ** -0.5,
]
BINARY = ["add", "sub", "mul", "maximum", "minimum"]
REDUCTIONS = ["sum", "mean", "max", "min", "logsumexp", "var"]


def function_of(seed):
    """A function of two arrays that gives a number."""

    def f(x, y):
        draw = np.random.default_rng(seed)
        values = [x, y]
        for _ in range(draw.integers(3, 14)):
            values.append(step(draw, values))
        total = tensor.tanh(values[-1]) if draw.integers(2) else values[-1]
        return (total * total).sum() + sum((tensor.tanh(v) * 0.5).sum() for v in values[-4:-1])

    return f


def step(draw, values):
    """One more operation on what there is."""
    x = values[draw.integers(len(values))]
    kind = draw.integers(15)
    if kind < 3:
        return getattr(tensor, draw.choice(SMOOTH + KINKED))(x)
    if kind < 6:
        fitting = [v for v in values if fits(x.shape, v.shape)]
        y = fitting[draw.integers(len(fitting))]
        return x / (1.0 + y * y) if draw.integers(5) == 0 else getattr(tensor, draw.choice(BINARY))(x, y)
    if kind == 6:
        return SAFE[draw.integers(len(SAFE))](x)
    if x.size and x.shape:
        if kind < 9:
            return reduced(draw, x)
        if kind < 11:
            return pieces(draw, x)
        if kind == 11:
            return loop(draw, x)
        if kind == 12:
            return tensor.cumsum(x, int(draw.integers(x.ndim)))
        # NumPy has BLAS scale a matrix by a single number, and by 0 that is 0, whatever is in the matrix
        if kind == 13 and x.ndim == 2 and 1 not in x.shape:
            return product(draw, x)
    return tensor.where(x > 0.25, x * 2.0, 0.5)


def reduced(draw, x):
    """A sum or an extreme of some axes, or rows made alike."""
    axis = int(draw.integers(x.ndim))
    match draw.integers(4):
        case 0:
            return tensor.softmax(x, axis) if draw.integers(2) else tensor.log_softmax(x, axis)
        case 1:
            return tensor.layer_norm(x, 1.0 + 0.1 * x[(0,) * (x.ndim - 1)], x[(0,) * (x.ndim - 1)])
    name = draw.choice(REDUCTIONS)
    return getattr(tensor, name)(x, None if draw.integers(3) == 0 else axis, keepdims=bool(draw.integers(2)))


def pieces(draw, x):
    """The same numbers in another place, or some of them."""
    match draw.integers(7):
        case 0:
            return tensor.transpose(x)
        case 1:
            return tensor.reshape(x, (-1,))
        case 2:
            return x[int(draw.integers(x.shape[0])) :]
        case 3:
            return x[..., ::-1]
        case 4:
            return x[draw.integers(0, x.shape[0], 3)] if x.size < MOST_NUMBERS // 3 else x
        case 5:
            return tensor.pad(x, [(1, 0)] * x.ndim) if x.size < MOST_NUMBERS // 8 else x
    return tensor.concatenate((x, x * 0.5), int(draw.integers(x.ndim))) if x.size < MOST_NUMBERS // 2 else x


def product(draw, x):
    """A product of matrices, or of a matrix and a vector. Where terms overflow, inf or nan comes of the order in which
    they are added, and of whether each is rounded before."""
    x = tensor.clip(x, -1e6, 1e6)
    match draw.integers(4):
        case 0:
            return (x @ x.T) * 0.3
        case 1:
            return x @ x[0]
        case 2:
            return product_of(x) * 0.3
    return tensor.einsum("ij,ik->jk", x, tensor.tanh(x))


def product_of(x):
    """A square one."""
    x = tensor.clip(x, -1e6, 1e6)
    return x.T @ x


def loop(draw, x):
    """A loop over the rows of an array, or over a count."""
    if draw.integers(2):
        return tapegrad.fori_loop(0, 3, lambda i, c: tensor.sin(c) + x * (i + 1), x)
    square = x.ndim == 2 and 1 not in x.shape
    weight = x[0] if x.ndim == 1 else tensor.tanh(product_of(x)) if square else None

    def body(carry, row):
        inner = carry * 0.5 if weight is None else carry @ weight if weight.ndim == 2 else carry * weight
        carry = tensor.tanh(inner + row)
        return carry, carry * row

    last, rows = tapegrad.scan(body, x[0] * 0.25, x, reverse=bool(draw.integers(2)))
    return rows if draw.integers(2) else last


def fits(left, right):
    try:
        return math.prod(np.broadcast_shapes(left, right)) < MOST_NUMBERS
    except ValueError:
        return False


def drawn(seed, awkward):
    """Two arrays, of the same shapes and dtype whether they are awkward or not."""
    draw = np.random.default_rng(10_000 + seed)
    dtype = (np.float32, np.float64)[draw.integers(2)]
    shapes = [SHAPES[draw.choice(len(SHAPES), p=WEIGHTS / WEIGHTS.sum())] for _ in range(2)]
    arrays = []
    for shape in shapes:
        array = draw.normal(size=shape).astype(dtype)
        if awkward and array.size:
            places = draw.integers(0, array.size, 1 + array.size // 4)
            with np.errstate(all="ignore"):
                array.reshape(-1)[places] = draw.choice(AWKWARD + EXTREME[dtype], places.size).astype(dtype)
        arrays.append(array)
    return arrays
