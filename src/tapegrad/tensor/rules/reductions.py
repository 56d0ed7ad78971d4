"""Reductions over axes. Settings are (axis, keepdims), and ddof for the variance."""

import math
from collections.abc import Callable
from typing import Any

from tapegrad.errors import ShapeError
from tapegrad.tensor.broadcasting import ones
from tapegrad.tensor.instruction import REUSED, Instruction, primitive
from tapegrad.tensor.namespaces import Array, asynchronous, symbolic
from tapegrad.tensor.nesting.traced import Traced
from tapegrad.tensor.rules import tangents
from tapegrad.tensor.rules.elementwise import into

# Rows that are added up with a product before the rest is summed pairwise: what NumPy adds up in sequence itself.
ROWS = 128
# Arrays below this are summed as they are: the product has a fixed cost of some microseconds.
LARGE = 1 << 15
# So few are summed with a product as exactly as pairwise, in a third of the time.
FEW = 128


def spread(i: Instruction, g: Array) -> Array:
    """The cotangent of a reduction's result with the axes it had lost, as a view.

    Of a tensor without axes NumPy reduces axis 0 or -1 nevertheless, and none is lost.
    """
    axis, keepdims = i.settings[:2]
    if keepdims or axis is None:
        return g
    kept = list(i.shapes[0])  # type: ignore[index]
    if not kept:
        return g
    for k in axis if isinstance(axis, tuple) else (axis,):
        kept[k] = 1
    return g.reshape(kept)


def repeated(i: Instruction, g: Array) -> Array:
    """The cotangent of a sum for each number that went into it. A large one is a view, as long as nobody writes."""
    g = spread(i, g)
    (shape,) = i.shapes  # type: ignore[misc]
    if i.tracing:
        return i.xp.broadcast_to(g, shape)
    if math.prod(shape) >= REUSED:
        return i.xp.broadcast_to(i.xp.asarray(g), shape)  # the seed is a number of NumPy's, whatever the library
    filled = i.xp.empty(shape, g.dtype)
    filled[...] = g
    return filled


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many numbers go into each result."""
    if not shape and axis is not None and axis != ():
        raise ShapeError(f"axis {axis} is out of bounds for array of dimension 0")  # NumPy's words
    total = 1
    for k in range(len(shape)) if axis is None else (axis if isinstance(axis, tuple) else (axis,)):
        total *= shape[k]
    return total


def row_sums(xp: Any, x: Array) -> Array:
    """Σx over the last axis, which stays with length 1; with BLAS, twice as fast as the loop or more."""
    shape = x.shape
    if not shape or x.dtype.kind != "f" or not x.flags.c_contiguous:
        return x.sum(-1, None, None, True)
    if len(shape) == 2:
        return x.dot(ones(xp, (shape[1], 1), x.dtype))
    return x.reshape(math.prod(shape[:-1]), shape[-1]).dot(ones(xp, shape[-1], x.dtype)).reshape(*shape[:-1], 1)


def total(xp: Any, x: Array, axis: Any, keepdims: bool) -> Array:
    """The sum. All of a small array is one product; a large one is first added up row by row, which BLAS does three
    times as fast as the loop."""
    size = x.size
    if axis is None and x.dtype.kind == "f" and type(x) is not Traced:
        result = None
        if size <= FEW:
            result = x.reshape(-1).dot(ones(xp, size, x.dtype))
        elif size >= LARGE and size % ROWS == 0 and x.flags.c_contiguous:
            result = ones(xp, ROWS, x.dtype).dot(x.reshape(ROWS, -1)).sum()
        if result is not None:
            return result.reshape((1,) * x.ndim) if keepdims else result
    return x.sum(axis, None, None, keepdims)


def forward_sum(i: Instruction, x: Array) -> Array:
    """Σx."""
    axis, keepdims = i.settings
    i.saved = ()
    return total(i.xp, x, axis, keepdims)


def vjp_sum(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g, repeated."""
    return (repeated(i, g),)


def forward_mean(i: Instruction, x: Array) -> Array:
    """Σx/n."""
    axis, keepdims = i.settings
    if x.dtype.kind != "f":
        return x.mean(axis, None, None, keepdims)
    result = total(i.xp, x, axis, keepdims)
    return result / count(x.shape, axis)


def vjp_mean(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g/n, repeated."""
    (shape,) = i.shapes  # type: ignore[misc]
    return (repeated(i, g / count(shape, i.settings[0])),)


def forward_extreme(choose: str) -> Callable[..., Array]:
    """The largest or the smallest."""

    def forward(i: Instruction, x: Array) -> Array:
        axis, keepdims = i.settings
        result = getattr(x, choose)(axis, None, keepdims)
        if i.needs[0]:
            i.saved = (i.xp.equal(x, spread(i, result)),)
        return result

    return forward


def vjp_extreme(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g at the extreme; several equal ones share it."""
    xp = i.xp
    (won,) = i.saved  # type: ignore[misc]
    winners = won.sum(i.settings[0], g.dtype, None, True)
    return (xp.multiply(won, xp.divide(spread(i, g), winners), dtype=g.dtype),)


def jvp_extreme(i: Instruction, xs: list[Array], ts: list[Array], y: Array) -> Array:  # noqa: ARG001  every rule has it
    """t = the mean of tx over all that are equally extreme."""
    (won,) = i.saved  # type: ignore[misc]
    axis, keepdims = i.settings
    winners = won.sum(axis, y.dtype, None, keepdims)
    return (ts[0] * won).sum(axis, None, None, keepdims) / winners


def freedom(shape: tuple[int, ...], axis: Any, ddof: Any) -> Any:
    """What a variance is divided by: never less than 0, so that without any the result is NumPy's, nan or inf."""
    return max(count(shape, axis) - ddof, 0)


def forward_var(i: Instruction, x: Array) -> Array:
    """Σ(x - x̄)²/(n - ddof)."""
    axis, keepdims, ddof = i.settings
    xp = i.xp
    apart = x - x.mean(axis, None, None, True)
    i.saved = (apart,)
    return xp.square(apart).sum(axis, None, None, keepdims) / freedom(x.shape, axis, ddof)


def vjp_var(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g·2(x - x̄)/(n - ddof); the mean's own derivative cancels."""
    (apart,) = i.saved  # type: ignore[misc]
    axis, _, ddof = i.settings
    g = spread(i, g) * 2 / freedom(apart.shape, axis, ddof)
    return (i.xp.multiply(apart, g),)


def jvp_var(i: Instruction, xs: list[Array], ts: list[Array], y: Array) -> Array:  # noqa: ARG001  every rule has it
    """t = Σ2(x - x̄)·tx/(n - ddof)."""
    (apart,) = i.saved  # type: ignore[misc]
    axis, keepdims, ddof = i.settings
    return (apart * ts[0]).sum(axis, None, None, keepdims) * 2 / freedom(apart.shape, axis, ddof)


def large(array: Array) -> Array | None:
    """An array if it is worth writing into, else None."""
    return array if array.size >= REUSED else None


def reusable(i: Instruction, saved: Array) -> bool:
    """Whether a rule may, and should, write its result into an array that its own forward made."""
    return i.releasing and saved.size >= REUSED


def shifted_exp(xp: Any, x: Array, axis: Any, *, infinite: bool = False) -> tuple[Array, Array, Array]:
    """e^(x - m), its sum, and m, the largest x: no exponential overflows.

    infinite: where m is infinite nothing is shifted, because ∞ - ∞ is no number.
    """
    if x.dtype.kind != "f":
        x = x.astype(xp.float64)
    largest = x.max(axis, None, True)
    if infinite:
        finite = xp.isfinite(largest)
        if symbolic(xp) or asynchronous(xp) or not finite.all():
            largest = xp.where(finite, largest, 0).astype(x.dtype, copy=False)
    exponentials = x - largest
    if exponentials.size >= REUSED:
        xp.exp(exponentials, out=exponentials)
    else:
        exponentials = xp.exp(exponentials)
    sums = row_sums(xp, exponentials) if axis == -1 else exponentials.sum(axis, None, None, True)
    return exponentials, sums, largest


def forward_logsumexp(i: Instruction, x: Array) -> Array:
    """m + log Σe^(x - m)."""
    xp = i.xp
    axis, keepdims = i.settings
    exponentials, sums, largest = shifted_exp(xp, x, axis, infinite=True)
    result = xp.log(sums) + largest
    if i.needs[0]:
        i.saved = (into(xp.divide, exponentials, sums, large(exponentials)),)
    return result if keepdims else xp.squeeze(result, axis=axis)


def vjp_logsumexp(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g·softmax(x)."""
    (softmax,) = i.saved  # type: ignore[misc]
    return (into(i.xp.multiply, softmax, spread(i, g), softmax if reusable(i, softmax) else None),)


def jvp_logsumexp(i: Instruction, xs: list[Array], ts: list[Array], y: Array) -> Array:  # noqa: ARG001  as above
    """t = Σsoftmax(x)·tx."""
    (softmax,) = i.saved  # type: ignore[misc]
    axis, keepdims = i.settings
    return (softmax * ts[0]).sum(axis, None, None, keepdims)


def forward_cumsum(i: Instruction, x: Array) -> Array:
    """The sums of all numbers up to each; over the flattened array if the axis is None."""
    return i.xp.cumsum(x, axis=i.settings)


def vjp_cumsum(i: Instruction, g: Array) -> tuple[Array]:
    """gx = the sums of all g from each on."""
    xp = i.xp
    axis = 0 if i.settings is None else i.settings
    return (xp.flip(xp.cumsum(xp.flip(g, axis), axis=axis), axis).reshape(i.shapes[0]),)  # type: ignore[index]


SUM = primitive("sum", forward_sum, vjp_sum, tangents.linear, shapes=True)
MEAN = primitive("mean", forward_mean, vjp_mean, tangents.linear, shapes=True)
MAX = primitive("max", forward_extreme("max"), vjp_extreme, jvp_extreme, fresh=True, shapes=True)
MIN = primitive("min", forward_extreme("min"), vjp_extreme, jvp_extreme, fresh=True, shapes=True)
VAR = primitive("var", forward_var, vjp_var, jvp_var, fresh=True, shapes=True)
LOGSUMEXP = primitive("logsumexp", forward_logsumexp, vjp_logsumexp, jvp_logsumexp, fresh=True, shapes=True)
CUMSUM = primitive("cumsum", forward_cumsum, vjp_cumsum, tangents.linear, shapes=True)
