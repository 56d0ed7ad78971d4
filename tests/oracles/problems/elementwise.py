"""Elementwise primitives, with broadcasting where there are two operands."""

import functools
import operator
from collections.abc import Callable

import numpy as np
import scipy.special

from oracles.problems.drawing import Draw
from oracles.tensor import Array, Problem
from tapegrad import tensor
from tapegrad.tensor.namespaces import namespace


def unary(kind: str, ours: Callable, numpy: Callable, torch: Callable, jax: Callable) -> Callable[[Draw], Problem]:
    return lambda d: Problem([getattr(d, kind)(d.shape())], ours, numpy, torch, jax)


def binary(kinds: str, ours: Callable, numpy: Callable, torch: Callable, jax: Callable) -> Callable[[Draw], Problem]:
    def problem(d: Draw) -> Problem:
        operands = [getattr(d, kind)(shape) for kind, shape in zip(kinds.split(), d.broadcast(2), strict=True)]
        return Problem(operands, d.choice(ours), numpy, torch, jax)

    return problem


def power(d: Draw) -> Problem:
    if d.flag():
        exponent = d.choice([2, 3, -1, 0, 1, 0.5, 2.0, -1.5])
        base = (d.away if isinstance(exponent, int) else d.positive)(d.shape())
        return Problem([base], *(lambda *x, e=exponent: x[-1] ** e,) * 4)
    base, exponent = d.broadcast(2)
    return Problem(
        [d.positive(base), d.numbers(exponent)],
        d.choice([tensor.pow, operator.pow]),
        np.power,
        lambda t, x, y: t.pow(x, y),
        lambda j, x, y: j.numpy.power(x, y),
    )


def extreme(name: str) -> Callable[[Draw], Problem]:
    def problem(d: Draw) -> Problem:
        left, right = d.broadcast(2)
        return Problem(
            [d.apart(left), d.apart(right, 0.125)],
            getattr(tensor, name),
            getattr(np, name),
            lambda t, x, y: getattr(t, name)(x, y),
            lambda j, x, y: getattr(j.numpy, name)(x, y),
        )

    return problem


def like(array: Array, operand: Array | tensor.Tensor) -> Array:
    """An array of the library that an operand belongs to."""
    return namespace(operand.data if isinstance(operand, tensor.Tensor) else operand).asarray(array)


def where(d: Draw) -> Problem:
    condition, left, right = d.broadcast(3)
    chosen = d.rng.integers(0, 2, condition).astype(bool)
    return Problem(
        [d.numbers(left), d.numbers(right)],
        lambda x, y: tensor.where(like(chosen, x), x, y),
        lambda x, y: np.where(chosen, x, y),
        lambda t, x, y: t.where(t.tensor(chosen), x, y),
        lambda j, x, y: j.numpy.where(chosen, x, y),
    )


def clip(d: Draw) -> Problem:
    low, high = d.choice([(-0.7, 0.8), (None, 0.1), (-0.3, None), (0.5, 0.6)])
    return Problem(
        [d.rng.choice([-1.5, -0.9, -0.5, -0.1, 0.3, 1.0, 1.7], d.shape())],  # none within reach of a bound
        lambda x: tensor.clip(x, low, high),
        lambda x: np.clip(x, low, high),
        lambda t, x: t.clamp(x, low, high),
        lambda j, x: j.numpy.clip(x, low, high),
    )


def normal(x):
    return 0.5 * (1 + scipy.special.erf(x / np.sqrt(2)))


PROBLEMS: dict[str, Callable[[Draw], Problem]] = {
    "add": binary(
        "numbers numbers",
        [tensor.add, operator.add],
        np.add,
        lambda t, x, y: t.add(x, y),
        lambda j, x, y: x + y,
    ),
    "sub": binary(
        "numbers numbers",
        [tensor.sub, operator.sub],
        np.subtract,
        lambda t, x, y: t.sub(x, y),
        lambda j, x, y: x - y,
    ),
    "mul": binary(
        "numbers numbers",
        [tensor.mul, operator.mul],
        np.multiply,
        lambda t, x, y: t.mul(x, y),
        lambda j, x, y: x * y,
    ),
    "div": binary(
        "numbers away",
        [tensor.div, operator.truediv],
        np.divide,
        lambda t, x, y: t.div(x, y),
        lambda j, x, y: x / y,
    ),
    "pow": power,
    "maximum": extreme("maximum"),
    "minimum": extreme("minimum"),
    "where": where,
    "clip": clip,
    "neg": unary("numbers", tensor.neg, np.negative, lambda t, x: -x, lambda j, x: -x),
    "exp": unary("numbers", tensor.exp, np.exp, lambda t, x: t.exp(x), lambda j, x: j.numpy.exp(x)),
    "expm1": unary("numbers", tensor.expm1, np.expm1, lambda t, x: t.expm1(x), lambda j, x: j.numpy.expm1(x)),
    "log": unary("positive", tensor.log, np.log, lambda t, x: t.log(x), lambda j, x: j.numpy.log(x)),
    "log1p": unary("positive", tensor.log1p, np.log1p, lambda t, x: t.log1p(x), lambda j, x: j.numpy.log1p(x)),
    "sqrt": unary("positive", tensor.sqrt, np.sqrt, lambda t, x: t.sqrt(x), lambda j, x: j.numpy.sqrt(x)),
    "square": unary("numbers", tensor.square, np.square, lambda t, x: t.square(x), lambda j, x: j.numpy.square(x)),
    "sin": unary("numbers", tensor.sin, np.sin, lambda t, x: t.sin(x), lambda j, x: j.numpy.sin(x)),
    "cos": unary("numbers", tensor.cos, np.cos, lambda t, x: t.cos(x), lambda j, x: j.numpy.cos(x)),
    "tanh": unary("numbers", tensor.tanh, np.tanh, lambda t, x: t.tanh(x), lambda j, x: j.numpy.tanh(x)),
    "sigmoid": unary(
        "numbers", tensor.sigmoid, scipy.special.expit, lambda t, x: t.sigmoid(x), lambda j, x: j.nn.sigmoid(x)
    ),
    "softplus": unary(
        "numbers",
        tensor.softplus,
        lambda x: np.logaddexp(x, 0),
        lambda t, x: t.nn.functional.softplus(x, threshold=1e9),  # its default cuts the tail off
        lambda j, x: j.nn.softplus(x),
    ),
    "relu": unary("away", tensor.relu, lambda x: np.maximum(x, 0), lambda t, x: t.relu(x), lambda j, x: j.nn.relu(x)),
    "abs": unary("away", tensor.abs, np.abs, lambda t, x: t.abs(x), lambda j, x: j.numpy.abs(x)),
    "erf": unary("numbers", tensor.erf, scipy.special.erf, lambda t, x: t.erf(x), lambda j, x: j.scipy.special.erf(x)),
    "gelu": unary(
        "numbers",
        tensor.gelu,
        lambda x: x * normal(x),
        lambda t, x: t.nn.functional.gelu(x),
        lambda j, x: j.nn.gelu(x, approximate=False),
    ),
    "gelu_tanh": unary(
        "numbers",
        functools.partial(tensor.gelu, approximate="tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
        lambda j, x: j.nn.gelu(x, approximate=True),
    ),
}
