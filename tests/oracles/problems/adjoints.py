"""Primitives that only rules use, where they are differentiated themselves."""

from collections.abc import Callable

import numpy as np

from oracles.problems.drawing import Draw
from oracles.problems.shapes import index
from oracles.problems.windows import one_or_two, windows
from oracles.tensor import Array, Problem
from tapegrad.tensor.rules import adjoints, shapes
from tapegrad.tensor.rules import windows as rules
from tapegrad.tensor.tensor import apply


def put(d: Draw) -> Problem:
    shape = (d.integer(2, 4), d.integer(2, 4))
    # what is written twice to one place has the last value in NumPy, and any in JAX
    places = d.choice([0, (1, -2), slice(None, None, 2), (..., 1), np.arange(shape[0]) % 2 == 0, (slice(1, None), 0)])
    value = d.numbers(np.empty(shape)[places].shape)

    def reference(x, value):
        made = x.copy()
        made[places] = value
        return made

    def in_torch(t, x, value):
        made = x.clone()
        made[places if not hasattr(places, "dtype") else t.tensor(places)] = value
        return made

    return Problem(
        [d.numbers(shape), value],
        lambda x, value: apply(adjoints.PUT, (x, value), places),
        reference,
        in_torch,
        lambda j, x, value: x.at[places].set(value),
    )


def add_at(d: Draw) -> Problem:
    shape = (d.integer(2, 4), d.integer(2, 4))
    places = index(d, shape)
    once = shapes.is_basic(places)
    value = d.numbers(np.empty(shape)[places].shape)
    plain = np.array(places) if isinstance(places, list) else places

    def reference(x, value):
        made = x.copy()
        np.add.at(made, places, value)
        return made

    numbered = np.arange(shape[0] * shape[1]).reshape(shape)[places]  # where each of the places is, flattened

    def in_torch(t, x, value):
        return x.reshape(-1).index_add(0, t.tensor(numbered.reshape(-1)), value.reshape(-1)).reshape(shape)

    return Problem(
        [d.numbers(shape), value],
        lambda x, value: apply(adjoints.ADD_AT, (x, value), (places, once)),
        reference,
        in_torch,
        lambda j, x, value: x.at[plain].add(value),
    )


def astype(d: Draw) -> Problem:
    return Problem(
        [d.numbers(d.shape())],
        lambda x: apply(adjoints.ASTYPE, (x,), x.dtype),
        lambda x: x,
        lambda t, x: x.to(x.dtype) * 1.0,
        lambda j, x: x.astype(x.dtype),
    )


def convolution(d: Draw) -> tuple[int, rules.Window, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Groups, window, and the shapes of images, weights and result."""
    groups = d.integer(1, 2)
    channels, out = d.integer(1, 2), groups * d.integer(1, 2)
    window = rules.Window((d.integer(1, 3), d.integer(1, 3)), one_or_two(d, 1, 2)[1], one_or_two(d, 0, 1)[1])
    images = (d.integer(1, 2), groups * channels, d.integer(3, 5), d.integer(3, 5))
    return groups, window, images, (out, channels, *window.size), (images[0], out, *window.places(images))


def conv2d_images(d: Draw) -> Problem:
    groups, window, images, weights, result = convolution(d)
    (down, across), (top, left) = window.stride, window.padding

    def reference(g, weight):
        made = np.zeros((*images[:2], images[2] + 2 * top, images[3] + 2 * left))
        parts = zip(np.split(g, groups, 1), np.split(weight, groups, 0), np.split(made, groups, 1), strict=True)
        for part, matrix, into in parts:
            for r in range(result[2]):
                for c in range(result[3]):
                    where = (
                        ...,
                        slice(r * down, r * down + window.size[0]),
                        slice(c * across, c * across + window.size[1]),
                    )
                    into[where] += np.einsum("no,ochw->nchw", part[:, :, r, c], matrix)
        return made[:, :, top : top + images[2], left : left + images[3]]

    return Problem(
        [d.numbers(result), d.numbers(weights)],
        lambda g, weight: apply(rules.CONV2D_IMAGES, (g, weight), (window, groups, images)),
        reference,
        lambda t, g, weight: t.nn.grad.conv2d_input(images, weight, g, window.stride, window.padding, groups=groups),
        lambda j, g, weight: j.vjp(lambda x: in_jax(j, x, weight, window, groups), j.numpy.zeros(images))[1](g)[0],
    )


def conv2d_weights(d: Draw) -> Problem:
    groups, window, images, weights, result = convolution(d)

    def reference(x, g):
        seen = windows(x, window.size, window.stride, window.padding)
        parts = zip(np.split(seen, groups, 1), np.split(g, groups, 1), strict=True)
        return np.concatenate([np.einsum("ncyxhw,noyx->ochw", part, out) for part, out in parts], 0)

    return Problem(
        [d.numbers(images), d.numbers(result)],
        lambda x, g: apply(rules.CONV2D_WEIGHTS, (x, g), (window, groups, weights)),
        reference,
        lambda t, x, g: t.nn.grad.conv2d_weight(x, weights, g, window.stride, window.padding, groups=groups),
        lambda j, x, g: j.vjp(lambda w: in_jax(j, x, w, window, groups), j.numpy.zeros(weights))[1](g)[0],
    )


def in_jax(j, x: Array, weight: Array, window: rules.Window, groups: int):
    edges = [(border, border) for border in window.padding]
    return j.lax.conv_general_dilated(x, weight, window.stride, edges, feature_group_count=groups)


PROBLEMS: dict[str, Callable[[Draw], Problem]] = {
    "put": put,
    "add_at": add_at,
    "astype": astype,
    "conv2d_images": conv2d_images,
    "conv2d_weights": conv2d_weights,
}
