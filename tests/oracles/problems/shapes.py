"""Primitives that move numbers: shapes, orders of axes, indices."""

import math
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from oracles.problems.drawing import Draw
from oracles.tensor import Problem
from tapegrad import tensor


def everywhere(x, f: Callable) -> Problem:
    """A function that all libraries spell alike, as a method or with an operator."""
    return Problem([x], f, f, lambda t, x: f(x), lambda j, x: f(x))


def reshape(d: Draw) -> Problem:
    x = d.numbers(d.shape())
    lengths = [-1] if d.flag() else [math.prod(x.shape[1:]), *x.shape[:1]]
    match d.integer(0, 3):
        case 0:
            return everywhere(x, lambda x: x.reshape(*lengths))
        case 1:
            shape = d.choice([(1, *lengths), (*lengths, 1)])
            return everywhere(x, lambda x: x.reshape(shape))
        case 2:
            axis = d.axis(x.ndim + 1)
            return Problem(
                [x],
                lambda x: tensor.expand_dims(x, axis),
                lambda x: np.expand_dims(x, axis),
                lambda t, x: t.unsqueeze(x, axis),
                lambda j, x: j.numpy.expand_dims(x, axis),
            )
        case _:
            axes = [k for k, n in enumerate(x.shape) if n == 1]
            axis = d.choice(axes) if axes and d.flag() else None
            return Problem(
                [x],
                lambda x: tensor.squeeze(x, axis),
                lambda x: np.squeeze(x, axis),
                lambda t, x: t.squeeze(x) if axis is None else t.squeeze(x, axis),
                lambda j, x: j.numpy.squeeze(x, axis),
            )


def transpose(d: Draw) -> Problem:
    x = d.numbers(d.shape(2))
    match d.integer(0, 2):
        case 0:
            return Problem([x], tensor.transpose, np.transpose, lambda t, x: x.permute(*range(x.ndim)[::-1]),
                           lambda j, x: x.T)  # fmt: skip
        case 1:
            order = tuple(k - x.ndim * d.flag() for k in d.draw(st.permutations(range(x.ndim))))
            return Problem([x], d.choice([lambda x: tensor.transpose(x, order), lambda x: x.transpose(*order)]),
                           lambda x: np.transpose(x, order), lambda t, x: x.permute(order),
                           lambda j, x: j.numpy.transpose(x, order))  # fmt: skip
        case _:
            first, second = d.axis(x.ndim), d.axis(x.ndim)
            return Problem([x], lambda x: tensor.swapaxes(x, first, second), lambda x: np.swapaxes(x, first, second),
                           lambda t, x: t.swapaxes(x, first, second),
                           lambda j, x: j.numpy.swapaxes(x, first, second))  # fmt: skip


def broadcast_to(d: Draw) -> Problem:
    x = d.numbers(d.shape(0, 2))
    shape = d.broadcast_of(x.shape)
    return Problem(
        [x],
        lambda x: tensor.broadcast_to(x, shape),
        lambda x: np.broadcast_to(x, shape),
        lambda t, x: t.broadcast_to(x, shape),
        lambda j, x: j.numpy.broadcast_to(x, shape),
    )


def concatenate(d: Draw) -> Problem:
    if d.flag():
        shape = d.shape()
        axis = d.axis(len(shape) + 1)
        return Problem(
            [d.numbers(shape) for _ in range(d.integer(1, 3))],
            lambda *xs: tensor.stack(xs, axis),
            lambda *xs: np.stack(xs, axis),
            lambda t, *xs: t.stack(xs, axis),
            lambda j, *xs: j.numpy.stack(xs, axis),
        )
    shape = list(d.shape(1))
    axis = d.axis(len(shape))
    operands = []
    for _ in range(d.integer(1, 3)):
        shape[axis] = d.integer(1, 3)
        operands.append(d.numbers(tuple(shape)))
    return Problem(
        operands,
        lambda *xs: tensor.concatenate(xs, axis),
        lambda *xs: np.concatenate(xs, axis),
        lambda t, *xs: t.cat(xs, axis),
        lambda j, *xs: j.numpy.concatenate(xs, axis),
    )


def index(d: Draw, shape: tuple[int, ...]):
    """Integers, slices, None, ..., arrays of integers that repeat, and masks, for a matrix of at least (2, 2)."""
    rows, columns = shape
    return d.choice(
        [
            0,
            -1,
            (1, -2),
            slice(None, None, 2),
            (slice(1, None), None, slice(None, 1)),
            (..., 1),
            (None, ..., slice(None)),
            np.int64(1),
            [0, 1, 0],
            np.array([[0, -1], [-1, -1]]),
            (np.array([0, 1, 0]), np.array([1, 0, 1])),
            (slice(None), np.array([0, 0, 1])),
            (np.array([[0], [1]]), np.array([0, 1])),
            d.rng.integers(0, 2, shape).astype(bool),
            np.arange(rows) % 2 == 0,
            (slice(None), np.arange(columns) > 0),
            (0, np.array([1, 1])),
        ]
    )


def getitem(d: Draw) -> Problem:
    if d.integer(0, 3) == 0:
        x = d.numbers(d.shape(1))
        axis = d.axis(x.ndim)
        length = x.shape[axis]
        ends = d.draw(st.lists(st.integers(0, length), max_size=2).map(sorted))
        part = d.integer(0, len(ends))
        return Problem(
            [x],
            lambda x: tensor.split(x, ends, axis)[part],
            lambda x: np.split(x, ends, axis)[part],
            lambda t, x: t.tensor_split(x, ends, axis)[part],
            lambda j, x: j.numpy.split(x, ends, axis)[part],
        )
    shape = (d.integer(2, 4), d.integer(2, 4))
    chosen = index(d, shape)
    reads = lambda x: x[chosen]  # noqa: E731
    # PyTorch steps forward only, and takes a list of integers as JAX takes none
    plain = np.array(chosen) if isinstance(chosen, list) else chosen
    return Problem([d.numbers(shape)], reads, reads, lambda t, x: x[plain], lambda j, x: x[plain])


def pad(d: Draw) -> Problem:
    x = d.numbers(d.shape(1))
    widths = [(d.integer(0, 2), d.integer(0, 2)) for _ in x.shape]
    given = widths
    if d.flag():
        one = (d.integer(0, 2), d.integer(0, 2))
        widths, given = [one] * x.ndim, one
    return Problem(
        [x],
        lambda x: tensor.pad(x, given),
        lambda x: np.pad(x, widths),
        lambda t, x: t.nn.functional.pad(x, [width for pair in widths[::-1] for width in pair]),
        lambda j, x: j.numpy.pad(x, widths),
    )


def take_along_axis(d: Draw) -> Problem:
    x = d.numbers(d.shape(1))
    axis = d.axis(x.ndim)
    shape = list(x.shape)
    shape[axis] = d.integer(1, 5)
    indices = d.rng.integers(-x.shape[axis], x.shape[axis], shape)
    return Problem(
        [x],
        lambda x: tensor.take_along_axis(x, indices, axis),
        lambda x: np.take_along_axis(x, indices, axis),
        lambda t, x: t.take_along_dim(x, t.tensor(indices % x.shape[axis]), axis),
        lambda j, x: j.numpy.take_along_axis(x, indices, axis),
    )


PROBLEMS: dict[str, Callable[[Draw], Problem]] = {
    "reshape": reshape,
    "transpose": transpose,
    "broadcast_to": broadcast_to,
    "concatenate": concatenate,
    "getitem": getitem,
    "pad": pad,
    "take_along_axis": take_along_axis,
}
