"""Convolution and pooling: primitives on windows of images (batch, channels, height, width).

A convolution is a product of matrices: the windows of the images, copied side by side, times the weights.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from tapegrad.errors import ShapeError
from tapegrad.tensor.instruction import Instruction, primitive
from tapegrad.tensor.namespaces import Array, Tracing
from tapegrad.tensor.rules import tangents

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
    bordered = xp.full((*x.shape[:-2], height + 2 * padding[0], width + 2 * padding[1]), value, x.dtype)
    bordered[..., padding[0] : padding[0] + height, padding[1] : padding[1] + width] = x
    return bordered


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
    windows = xp.empty((*bordered.shape[:2], math.prod(window.size), *count), bordered.dtype)
    for k, where in window.offsets(count):
        windows[:, :, k] = bordered[where]
    return windows


def scatter(bordered: Array, pieces: Array, window: Window) -> None:
    """The adjoint of `columns`: every window added to where it was read."""
    for k, where in window.offsets(pieces.shape[-2:]):
        bordered[where] += pieces[:, :, k]


def forward_conv2d(i: Instruction, x: Array, weight: Array) -> Array:
    """Σ over channels and positions of window·weight; settings: window, groups."""
    window, groups = i.settings
    _check(x, weight, groups)
    i.saved = (x if i.needs[1] else None, weight if i.needs[0] else None)
    return convolved(i.xp, x, weight, window, groups)


def convolved(xp: Any, x: Array, weight: Array, window: Window, groups: int) -> Array:
    """The convolution of images with weights."""
    if isinstance(xp, Tracing):
        return xp.whole(CONV2D, (x, weight), (window, groups))
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
    shape, weights = i.shapes  # type: ignore[misc]
    if i.tracing:
        return (
            None if weight is None else i.xp.whole(CONV2D_IMAGES, (g, weight), (window, groups, shape)),
            None if x is None else i.xp.whole(CONV2D_WEIGHTS, (x, g), (window, groups, weights)),
        )
    return adjoints(
        i.xp, g, x if i.needs[1] else None, weight if i.needs[0] else None, (window, groups, shape, weights)
    )


def adjoints(
    xp: Any, g: Array, x: Array | None, weight: Array | None, settings: tuple[Window, int, Any, Any]
) -> tuple[Array | None, Array | None]:
    """What the adjoint of a convolution gives to its images, if the weights are there, and to its weights, if the
    images are. Settings: window, groups, the shapes of images and weights."""
    window, groups, shape, weights = settings
    count = g.shape[-2:]
    area, depth = math.prod(count), math.prod(weights[1:])
    g = g.reshape(shape[0], groups, weights[0] // groups, area)
    gx: Array = None
    gweight: Array = None
    if x is not None:
        bordered = padded(xp, x, window.padding)
        gweight = xp.zeros((groups, weights[0] // groups, depth), xp.result_type(g, x))
    if weight is not None:
        transposed = weight.reshape(groups, weights[0] // groups, depth).swapaxes(-1, -2)
        gx = padded(xp, xp.zeros(shape, xp.result_type(g, weight)), window.padding)
    for part in portions(shape[0], groups * depth * area):
        if x is not None:
            rows = columns(xp, bordered[part], window, count).reshape(-1, groups, depth, area)
            gweight += xp.matmul(g[part], rows.swapaxes(-1, -2)).sum(0)
        if weight is not None:
            pieces = xp.matmul(transposed, g[part])
            scatter(gx[part], pieces.reshape(-1, shape[1], math.prod(window.size), *count), window)
    return (
        None if gx is None else cropped(gx, window.padding),
        None if gweight is None else gweight.reshape(weights),
    )


# A convolution is linear in images and in weights, and so are its two adjoints: each of the three is what the vjps of
# the other two compute. Only rules use the adjoints as primitives, where they are differentiated themselves.


def forward_conv2d_images(i: Instruction, g: Array, weight: Array) -> Array:
    """The images' cotangent from the result's; settings: window, groups, the images' shape."""
    window, groups, shape = i.settings
    i.saved = (g, weight)
    if i.tracing:
        return i.xp.whole(CONV2D_IMAGES, (g, weight), i.settings)
    return adjoints(i.xp, g, None, weight, (window, groups, shape, weight.shape))[0]


def vjp_conv2d_images(i: Instruction, h: Array) -> tuple[Array | None, Array | None]:
    """gg = the convolution of h, which has the images' shape; gweight = Σ g·windowᵀ of h."""
    window, groups, _ = i.settings
    g, weight = i.saved  # type: ignore[misc]
    gg = convolved(i.xp, h, weight, window, groups) if i.needs[0] else None
    if not i.needs[1]:
        return gg, None
    return gg, weights_of(i.xp, h, g, (window, groups, weight.shape))


def forward_conv2d_weights(i: Instruction, x: Array, g: Array) -> Array:
    """The weights' cotangent from the result's; settings: window, groups, the weights' shape."""
    i.saved = (x, g)
    return weights_of(i.xp, x, g, i.settings)


def weights_of(xp: Any, x: Array, g: Array, settings: tuple[Window, int, Any]) -> Array:
    """What a convolution's adjoint gives to its weights."""
    if isinstance(xp, Tracing):
        return xp.whole(CONV2D_WEIGHTS, (x, g), settings)
    window, groups, weights = settings
    return adjoints(xp, g, x, None, (window, groups, x.shape, weights))[1]


def vjp_conv2d_weights(i: Instruction, h: Array) -> tuple[Array | None, Array | None]:
    """gx = hᵀ·g, added back to where each window was read; gg = the convolution with h, of the weights' shape."""
    window, groups, _ = i.settings
    x, g = i.saved  # type: ignore[misc]
    gx = None
    if i.needs[0] and i.tracing:
        gx = i.xp.whole(CONV2D_IMAGES, (g, h), (window, groups, x.shape))
    elif i.needs[0]:
        gx = adjoints(i.xp, g, None, h, (window, groups, x.shape, h.shape))[0]
    return gx, convolved(i.xp, x, h, window, groups) if i.needs[1] else None


def _images(x: Array, what: str) -> None:
    if x.ndim != 4:
        raise ShapeError(f"{what} wants images (N, C, H, W), got shape {x.shape}; add the axes with expand_dims")


def forward_max_pool2d(i: Instruction, x: Array) -> Array:
    """The largest of each window; settings: the window."""
    window = i.settings
    _images(x, "max_pool2d")
    if i.tracing:
        result = i.xp.whole(MAX_POOL2D, (x,), window)
        i.saved = (x, result)
        return result
    count = window.places(x.shape)
    # the border never wins: where a window has no more border than half of it, a number is in it
    bordered = padded(i.xp, x, window.padding, -math.inf if x.dtype.kind == "f" else x.min())
    result = None
    for _, where in window.offsets(count):
        values = bordered[where]
        result = values.copy() if result is None else i.xp.maximum(result, values, out=result)
    i.saved = (x, result)
    return result


def vjp_max_pool2d(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g at the first of the largest of each window."""
    x, result = i.saved  # type: ignore[misc]
    window, xp = i.settings, i.xp
    bordered = padded(xp, x, window.padding, -math.inf)
    gbordered = xp.zeros(bordered.shape, g.dtype)
    left = xp.ones(g.shape, bool)
    for _, where in window.offsets(g.shape[-2:]):
        won = xp.equal(bordered[where], result)
        won &= left
        left &= ~won
        gbordered[where] += g * won
    return (cropped(gbordered, window.padding),)


def jvp_max_pool2d(i: Instruction, xs: list[Array], ts: list[Array], y: Array) -> Array:  # noqa: ARG001  as above
    """t = tx at the first of the largest of each window."""
    x, result = i.saved  # type: ignore[misc]
    window, xp = i.settings, i.xp
    bordered, border = padded(xp, x, window.padding, -math.inf), padded(xp, ts[0], window.padding)
    left = xp.ones(y.shape, bool)
    total = None
    for _, where in window.offsets(y.shape[-2:]):
        won = xp.equal(bordered[where], result)
        won &= left
        left &= ~won
        term = border[where] * won
        total = term if total is None else total + term
    return total


def forward_avg_pool2d(i: Instruction, x: Array) -> Array:
    """The mean of each window, border included; settings: the window."""
    window = i.settings
    _images(x, "avg_pool2d")
    if i.tracing:
        return i.xp.whole(AVG_POOL2D, (x,), window)
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
    gbordered = xp.zeros((*shape[:2], shape[2] + 2 * window.padding[0], shape[3] + 2 * window.padding[1]), g.dtype)
    for _, where in window.offsets(g.shape[-2:]):
        gbordered[where] += g
    return (cropped(gbordered, window.padding),)


CONV2D = primitive("conv2d", forward_conv2d, vjp_conv2d, tangents.multilinear, fresh=True, shapes=True)
CONV2D_IMAGES = primitive("conv2d_images", forward_conv2d_images, vjp_conv2d_images, tangents.multilinear, fresh=True)
CONV2D_WEIGHTS = primitive(
    "conv2d_weights", forward_conv2d_weights, vjp_conv2d_weights, tangents.multilinear, fresh=True
)
MAX_POOL2D = primitive("max_pool2d", forward_max_pool2d, vjp_max_pool2d, jvp_max_pool2d, fresh=True, shapes=True)
AVG_POOL2D = primitive("avg_pool2d", forward_avg_pool2d, vjp_avg_pool2d, tangents.linear, fresh=True, shapes=True)
