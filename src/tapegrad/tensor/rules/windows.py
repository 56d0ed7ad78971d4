"""Convolution and pooling: primitives on windows of images (batch, channels, height, width).

A convolution is a product of matrices: the windows of the images, copied side by side, times the weights.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from tapegrad.errors import ShapeError
from tapegrad.tensor.instruction import Instruction, primitive
from tapegrad.tensor.namespaces import Array

Two = tuple[int, int]


class Window(NamedTuple):
    """The size of a window, how far it moves, and how much is put around the image."""

    size: Two
    stride: Two
    padding: Two

    def places(self, image: tuple[int, ...]) -> Two:
        """How many places the window takes, down and across."""
        down, across = ((image[k - 2] + 2 * self.padding[k] - self.size[k]) // self.stride[k] + 1 for k in range(2))
        if down < 1 or across < 1:
            raise ShapeError(
                f"a window of {self.size} does not fit images of shape {image} with padding {self.padding}"
            )
        return down, across

    def offsets(self, count: Two) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """For each position inside the window its number, and where it reads in the padded images."""
        for r in range(self.size[0]):
            for c in range(self.size[1]):
                rows = slice(r, r + count[0] * self.stride[0], self.stride[0])
                columns = slice(c, c + count[1] * self.stride[1], self.stride[1])
                yield r * self.size[1] + c, (..., rows, columns)


def padded(xp: Any, x: Array, padding: Two, value: float = 0.0) -> Array:
    """Images with a border."""
    if padding == (0, 0):
        return x
    height, width = x.shape[-2:]
    made = xp.full((*x.shape[:-2], height + 2 * padding[0], width + 2 * padding[1]), value, x.dtype)
    made[..., padding[0] : padding[0] + height, padding[1] : padding[1] + width] = x
    return made


def cropped(x: Array, padding: Two) -> Array:
    """Images without their border."""
    height, width = x.shape[-2:]
    return x[..., padding[0] : height - padding[0], padding[1] : width - padding[1]]


def columns(xp: Any, x: Array, window: Window, count: Two) -> Array:
    """(batch, channels, positions in the window, down, across): every window of every image, copied."""
    x = padded(xp, x, window.padding)
    made = xp.empty((*x.shape[:2], math.prod(window.size), *count), x.dtype)
    for k, where in window.offsets(count):
        made[:, :, k] = x[where]
    return made


def scattered(xp: Any, pieces: Array, window: Window, shape: tuple[int, ...]) -> Array:
    """The adjoint of `columns`: every window added to where it was read."""
    made = xp.zeros((*shape[:2], shape[2] + 2 * window.padding[0], shape[3] + 2 * window.padding[1]), pieces.dtype)
    for k, where in window.offsets(pieces.shape[-2:]):
        made[where] += pieces[:, :, k]
    return cropped(made, window.padding)


def forward_conv2d(i: Instruction, x: Array, weight: Array) -> Array:
    """Σ over channels and positions of window·weight; settings: window, groups."""
    window, groups = i.settings
    _check(x, weight, groups)
    i.saved = (x if i.needs[1] else None, weight if i.needs[0] else None)
    count = window.places(x.shape)
    rows = columns(i.xp, x, window, count).reshape(x.shape[0], groups, math.prod(weight.shape[1:]), math.prod(count))
    result = i.xp.matmul(weight.reshape(groups, weight.shape[0] // groups, -1), rows)
    return result.reshape(x.shape[0], weight.shape[0], *count)


def _check(x: Array, weight: Array, groups: int) -> None:
    if x.ndim != 4 or weight.ndim != 4:
        raise ShapeError(f"conv2d wants images (N, C, H, W) and weights (O, C, h, w), got {x.shape} and {weight.shape}")
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise ShapeError(
            f"conv2d in {groups} groups of images with {x.shape[1]} channels wants weights of shape "
            f"(a multiple of {groups}, {x.shape[1] // groups}, h, w), got {weight.shape}"
        )


def vjp_conv2d(i: Instruction, g: Array) -> tuple[Array | None, Array | None]:
    """gweight = Σ g·windowᵀ; gx = weightᵀ·g, added back to where each window was read. The windows are copied anew."""
    window, groups = i.settings
    x, weight = i.saved  # type: ignore[misc]
    xp = i.xp
    shape, weights = i.shapes  # type: ignore[misc]
    count = g.shape[-2:]
    depth = math.prod(weights[1:])
    g = g.reshape(g.shape[0], groups, weights[0] // groups, math.prod(count))
    gx = gweight = None
    if i.needs[1]:
        rows = columns(xp, x, window, count).reshape(shape[0], groups, depth, math.prod(count))
        gweight = xp.matmul(g, xp.swapaxes(rows, -1, -2)).sum(axis=0).reshape(weights)
    if i.needs[0]:
        transposed = xp.swapaxes(weight.reshape(groups, weights[0] // groups, depth), -1, -2)
        pieces = xp.matmul(transposed, g).reshape(*shape[:2], math.prod(window.size), *count)
        gx = scattered(xp, pieces, window, shape)
    return gx, gweight


def _images(x: Array, what: str) -> None:
    if x.ndim != 4:
        raise ShapeError(f"{what} wants images (N, C, H, W), got shape {x.shape}; add the axes with expand_dims")


def forward_max_pool2d(i: Instruction, x: Array) -> Array:
    """The largest of each window; settings: the window."""
    window = i.settings
    _images(x, "max_pool2d")
    count = window.places(x.shape)
    # the border never wins: where a window has no more border than half of it, a number is in it
    bordered = padded(i.xp, x, window.padding, -math.inf if x.dtype.kind == "f" else x.min())
    result = None
    for _, where in window.offsets(count):
        seen = bordered[where]
        result = seen.copy() if result is None else i.xp.maximum(result, seen, out=result)
    i.saved = (x, result)
    return result


def vjp_max_pool2d(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g at the first of the largest of each window."""
    x, result = i.saved  # type: ignore[misc]
    window, xp = i.settings, i.xp
    bordered = padded(xp, x, window.padding, -math.inf)
    made = xp.zeros(bordered.shape, g.dtype)
    left = xp.ones(g.shape, bool)
    for _, where in window.offsets(g.shape[-2:]):
        won = xp.equal(bordered[where], result)
        won &= left
        left &= ~won
        made[where] += g * won
    return (cropped(made, window.padding),)


def forward_avg_pool2d(i: Instruction, x: Array) -> Array:
    """The mean of each window, border included; settings: the window."""
    window = i.settings
    _images(x, "avg_pool2d")
    bordered = padded(i.xp, x, window.padding)
    result = 0
    for _, where in window.offsets(window.places(x.shape)):
        result = result + bordered[where]
    return result / x.dtype.type(math.prod(window.size))


def vjp_avg_pool2d(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g/size, added up over the windows that read a place."""
    window, xp = i.settings, i.xp
    (shape,) = i.shapes  # type: ignore[misc]
    g = g / g.dtype.type(math.prod(window.size))
    made = xp.zeros((*shape[:2], shape[2] + 2 * window.padding[0], shape[3] + 2 * window.padding[1]), g.dtype)
    for _, where in window.offsets(g.shape[-2:]):
        made[where] += g
    return (cropped(made, window.padding),)


CONV2D = primitive("conv2d", forward_conv2d, vjp_conv2d, fresh=True, shapes=True)
MAX_POOL2D = primitive("max_pool2d", forward_max_pool2d, vjp_max_pool2d, fresh=True, shapes=True)
AVG_POOL2D = primitive("avg_pool2d", forward_avg_pool2d, vjp_avg_pool2d, fresh=True, shapes=True)
