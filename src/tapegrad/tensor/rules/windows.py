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


# Windows of a few images at a time are copied and multiplied, about as many numbers as a core's cache holds: all at
# once would be as many copies of the images in memory as a window has places, and slower.
CACHED = 1 << 17


def portions(images: int, numbers: int) -> Iterator[slice]:
    """Slices of a batch, each with so many images that their windows' numbers fit the cache; at least one."""
    step = max(1, CACHED // max(1, numbers))
    for start in range(0, images, step):
        yield slice(start, start + step)


def columns(xp: Any, bordered: Array, window: Window, count: Two) -> Array:
    """(images, channels, positions in the window, down, across): every window of some images, copied."""
    made = xp.empty((*bordered.shape[:2], math.prod(window.size), *count), bordered.dtype)
    for k, where in window.offsets(count):
        made[:, :, k] = bordered[where]
    return made


def scatter(made: Array, pieces: Array, window: Window) -> None:
    """The adjoint of `columns`: every window added to where it was read."""
    for k, where in window.offsets(pieces.shape[-2:]):
        made[where] += pieces[:, :, k]


def forward_conv2d(i: Instruction, x: Array, weight: Array) -> Array:
    """Σ over channels and positions of window·weight; settings: window, groups."""
    window, groups = i.settings
    _check(x, weight, groups)
    i.saved = (x if i.needs[1] else None, weight if i.needs[0] else None)
    xp = i.xp
    images, outputs, depth = x.shape[0], weight.shape[0], math.prod(weight.shape[1:])
    count = window.places(x.shape)
    area = math.prod(count)
    weight = weight.reshape(groups, outputs // groups, depth)
    bordered = padded(xp, x, window.padding)
    result = xp.empty((images, groups, outputs // groups, area), xp.result_type(x, weight))
    for part in portions(images, groups * depth * area):
        rows = columns(xp, bordered[part], window, count)
        xp.matmul(weight, rows.reshape(-1, groups, depth, area), out=result[part])
    return result.reshape(images, outputs, *count)


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
    area, depth = math.prod(count), math.prod(weights[1:])
    g = g.reshape(shape[0], groups, weights[0] // groups, area)
    gx: Array = None
    gweight: Array = None
    if i.needs[1]:
        bordered = padded(xp, x, window.padding)
        gweight = xp.zeros((groups, weights[0] // groups, depth), g.dtype)
    if i.needs[0]:
        transposed = weight.reshape(groups, weights[0] // groups, depth).swapaxes(-1, -2)
        gx = padded(xp, xp.zeros(shape, g.dtype), window.padding)
    for part in portions(shape[0], groups * depth * area):
        if i.needs[1]:
            rows = columns(xp, bordered[part], window, count).reshape(-1, groups, depth, area)
            gweight += xp.matmul(g[part], rows.swapaxes(-1, -2)).sum(0)
        if i.needs[0]:
            pieces = xp.matmul(transposed, g[part])
            scatter(gx[part], pieces.reshape(-1, shape[1], math.prod(window.size), *count), window)
    return (
        None if gx is None else cropped(gx, window.padding),
        None if gweight is None else gweight.reshape(weights),
    )


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
    return result / math.prod(window.size)


def vjp_avg_pool2d(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g/size, added up over the windows that read a place."""
    window, xp = i.settings, i.xp
    (shape,) = i.shapes  # type: ignore[misc]
    g = g / math.prod(window.size)
    made = xp.zeros((*shape[:2], shape[2] + 2 * window.padding[0], shape[3] + 2 * window.padding[1]), g.dtype)
    for _, where in window.offsets(g.shape[-2:]):
        made[where] += g
    return (cropped(made, window.padding),)


CONV2D = primitive("conv2d", forward_conv2d, vjp_conv2d, fresh=True, shapes=True)
MAX_POOL2D = primitive("max_pool2d", forward_max_pool2d, vjp_max_pool2d, fresh=True, shapes=True)
AVG_POOL2D = primitive("avg_pool2d", forward_avg_pool2d, vjp_avg_pool2d, fresh=True, shapes=True)
