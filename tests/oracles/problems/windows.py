"""Convolution and pooling; the references take their windows from NumPy's sliding views."""

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from oracles.problems.drawing import Draw
from oracles.tensor import Array, Problem
from tapegrad import tensor


def windows(x: Array, size: tuple, stride: tuple, padding: tuple, border: float = 0.0) -> Array:
    """(batch, channels, down, across, rows, columns)."""
    x = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2], constant_values=border)
    return sliding_window_view(x, size, axis=(2, 3))[:, :, :: stride[0], :: stride[1]]


def one_or_two(d: Draw, low: int, high: int):
    """A number for both directions, or a pair; and always the pair."""
    if d.flag():
        number = d.integer(low, high)
        return number, (number, number)
    pair = d.integer(low, high), d.integer(low, high)
    return pair, pair


def conv2d(d: Draw) -> Problem:
    groups = d.integer(1, 2)
    channels, out = d.integer(1, 2), groups * d.integer(1, 2)
    size = d.integer(1, 3), d.integer(1, 3)
    stride, strides = one_or_two(d, 1, 2)
    padding, paddings = one_or_two(d, 0, 1)
    operands = [
        d.numbers((d.integer(1, 2), groups * channels, d.integer(3, 5), d.integer(3, 5))),
        d.numbers((out, channels, *size)),
    ]
    if d.flag():
        operands.append(d.numbers((out,)))

    def reference(x, weight, bias=None):
        seen = windows(x, size, strides, paddings)
        parts = [
            np.einsum("ncyxhw,ochw->noyx", part, weights)
            for part, weights in zip(np.split(seen, groups, 1), np.split(weight, groups, 0), strict=True)
        ]
        return np.concatenate(parts, 1) + (0 if bias is None else bias[:, None, None])

    def in_jax(j, x, weight, bias=None):
        y = j.lax.conv_general_dilated(x, weight, strides, [(p, p) for p in paddings], feature_group_count=groups)
        return y if bias is None else y + bias[:, None, None]

    return Problem(
        operands,
        lambda x, w, b=None: tensor.conv2d(x, w, b, stride, padding, groups),
        reference,
        lambda t, x, w, b=None: t.nn.functional.conv2d(x, w, b, strides, paddings, groups=groups),
        in_jax,
    )


def pooling(kind: str, ours: Callable, reduce: Callable, border: float, torch: str) -> Callable[[Draw], Problem]:
    def problem(d: Draw) -> Problem:
        size, sizes = one_or_two(d, 1, 3)
        stride, strides = one_or_two(d, 1, 3) if d.flag() else (None, sizes)
        paddings = d.integer(0, sizes[0] // 2), d.integer(0, sizes[1] // 2)
        x = getattr(d, kind)((d.integer(1, 2), d.integer(1, 2), d.integer(3, 5), d.integer(3, 5)))

        def in_jax(j, x):
            start, step = (-np.inf, j.lax.max) if border else (0.0, j.lax.add)
            edges = [(0, 0), (0, 0), *((p, p) for p in paddings)]
            y = j.lax.reduce_window(x, start, step, (1, 1, *sizes), (1, 1, *strides), edges)
            return y if border else y / (sizes[0] * sizes[1])

        return Problem(
            [x],
            lambda x: ours(x, size, stride, paddings),
            lambda x: reduce(windows(x, sizes, strides, paddings, border), axis=(-2, -1)),
            lambda t, x: getattr(t.nn.functional, torch)(x, sizes, strides, paddings),
            in_jax,
        )

    return problem


PROBLEMS: dict[str, Callable[[Draw], Problem]] = {
    "conv2d": conv2d,
    "max_pool2d": pooling("apart", tensor.max_pool2d, np.max, -np.inf, "max_pool2d"),
    "avg_pool2d": pooling("numbers", tensor.avg_pool2d, np.mean, 0.0, "avg_pool2d"),
}
