"""Reductions over axes. Settings are (axis, keepdims), and ddof for the variance."""

from collections.abc import Callable
from typing import Any

from tapegrad.tensor.instruction import Instruction, primitive
from tapegrad.tensor.namespaces import Array

# Rows that are added up with a product before the rest is summed pairwise: what NumPy adds up in sequence itself.
ROWS = 128
# Arrays below this are summed as they are: the product has a fixed cost of some microseconds.
LARGE = 1 << 15


def spread(i: Instruction, g: Array) -> Array:
    """The cotangent of a reduction's result with the axes it had lost, as a view."""
    axis, keepdims = i.settings[:2]
    if not keepdims and axis is not None:
        g = i.xp.expand_dims(g, axis)
    return g


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many numbers go into each result."""
    total = 1
    for k in range(len(shape)) if axis is None else (axis if isinstance(axis, tuple) else (axis,)):
        total *= shape[k]
    return total


def total(xp: Any, x: Array, axis: Any, keepdims: bool) -> Array:
    """The sum. A large array is first added up row by row with BLAS, three times as fast as the loop."""
    if axis is None and x.size >= LARGE and x.size % ROWS == 0 and x.dtype.kind == "f" and x.flags.c_contiguous:
        result = xp.sum(xp.ones(ROWS, x.dtype) @ x.reshape(ROWS, -1))
        return result.reshape((1,) * x.ndim) if keepdims else result
    return xp.sum(x, axis=axis, keepdims=keepdims)


def forward_sum(i: Instruction, x: Array) -> Array:
    """Σx."""
    axis, keepdims = i.settings
    i.saved = ()
    return total(i.xp, x, axis, keepdims)


def vjp_sum(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g, repeated."""
    shape = i.places[0][0]
    return (i.xp.broadcast_to(spread(i, g), shape),)


def forward_mean(i: Instruction, x: Array) -> Array:
    """Σx/n."""
    axis, keepdims = i.settings
    if x.dtype.kind != "f":
        return i.xp.mean(x, axis=axis, keepdims=keepdims)
    result = total(i.xp, x, axis, keepdims)
    return result / result.dtype.type(count(x.shape, axis))


def vjp_mean(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g/n, repeated."""
    shape = i.places[0][0]
    g = g / g.dtype.type(count(shape, i.settings[0]))
    return (i.xp.broadcast_to(spread(i, g), shape),)


def forward_extreme(choose: str) -> Callable[..., Array]:
    """The largest or the smallest."""

    def forward(i: Instruction, x: Array) -> Array:
        axis, keepdims = i.settings
        result = getattr(i.xp, choose)(x, axis=axis, keepdims=keepdims)
        if i.needs[0]:
            i.saved = (i.xp.equal(x, spread(i, result)),)
        return result

    return forward


def vjp_extreme(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g at the extreme; several equal ones share it."""
    xp = i.xp
    (won,) = i.saved  # type: ignore[misc]
    winners = xp.sum(won, axis=i.settings[0], keepdims=True, dtype=g.dtype)
    return (xp.multiply(won, xp.divide(spread(i, g), winners), dtype=g.dtype),)


def freedom(shape: tuple[int, ...], axis: Any, ddof: int) -> int:
    """What a variance is divided by: never less than 0, so that without any the result is NumPy's, nan or inf."""
    return max(count(shape, axis) - ddof, 0)


def forward_var(i: Instruction, x: Array) -> Array:
    """Σ(x - x̄)²/(n - ddof)."""
    axis, keepdims, ddof = i.settings
    xp = i.xp
    apart = x - xp.mean(x, axis=axis, keepdims=True)
    i.saved = (apart,)
    return xp.sum(xp.square(apart), axis=axis, keepdims=keepdims) / apart.dtype.type(freedom(x.shape, axis, ddof))


def vjp_var(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g·2(x - x̄)/(n - ddof); the mean's own derivative cancels."""
    (apart,) = i.saved  # type: ignore[misc]
    axis, _, ddof = i.settings
    g = spread(i, g) * (g.dtype.type(2) / g.dtype.type(freedom(apart.shape, axis, ddof)))
    return (i.xp.multiply(apart, g),)


def shifted_exp(xp: Any, x: Array, axis: Any) -> tuple[Array, Array, Array]:
    """e^(x - m), its sum, and m, the largest x: no exponential overflows. Where m is infinite it shifts nothing."""
    if x.dtype.kind != "f":
        x = x.astype(xp.float64)
    largest = xp.max(x, axis=axis, keepdims=True)
    finite = xp.isfinite(largest)
    if not finite.all():
        largest = xp.where(finite, largest, 0).astype(x.dtype, copy=False)
    exponentials = x - largest
    exponentials = xp.exp(exponentials, out=exponentials if exponentials.shape else None)
    return exponentials, xp.sum(exponentials, axis=axis, keepdims=True), largest


def forward_logsumexp(i: Instruction, x: Array) -> Array:
    """m + log Σe^(x - m)."""
    xp = i.xp
    axis, keepdims = i.settings
    exponentials, sums, largest = shifted_exp(xp, x, axis)
    result = xp.log(sums) + largest
    if i.needs[0]:
        i.saved = (xp.divide(exponentials, sums, out=exponentials if exponentials.shape else None),)
    return result if keepdims else xp.squeeze(result, axis=axis)


def vjp_logsumexp(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g·softmax(x)."""
    (softmax,) = i.saved  # type: ignore[misc]
    return (i.xp.multiply(softmax, spread(i, g), out=softmax if reusable(i, softmax) else None),)


def reusable(i: Instruction, saved: Array) -> bool:
    """Whether a rule may write its result into an array that its own forward made."""
    return i.releasing and saved.shape != ()


def forward_cumsum(i: Instruction, x: Array) -> Array:
    """The sums of all numbers up to each; over the flattened array if the axis is None."""
    return i.xp.cumsum(x, axis=i.settings)


def vjp_cumsum(i: Instruction, g: Array) -> tuple[Array]:
    """gx = the sums of all g from each on."""
    xp = i.xp
    axis = 0 if i.settings is None else i.settings
    return (xp.flip(xp.cumsum(xp.flip(g, axis), axis=axis), axis).reshape(i.places[0][0]),)


SUM = primitive("sum", forward_sum, vjp_sum)
MEAN = primitive("mean", forward_mean, vjp_mean)
MAX = primitive("max", forward_extreme("max"), vjp_extreme, fresh=True)
MIN = primitive("min", forward_extreme("min"), vjp_extreme, fresh=True)
VAR = primitive("var", forward_var, vjp_var, fresh=True)
LOGSUMEXP = primitive("logsumexp", forward_logsumexp, vjp_logsumexp, fresh=True)
CUMSUM = primitive("cumsum", forward_cumsum, vjp_cumsum)
