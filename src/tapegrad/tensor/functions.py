"""The functions of tensors: NumPy's names and meanings, and those of neural networks.

In: tensors, arrays and numbers. Out: tensors. Each is one primitive, or a few of them.
"""

import itertools
import operator
from collections.abc import Sequence
from typing import Any, Literal

from tapegrad.errors import DtypeError, InputError, ShapeError
from tapegrad.masks import refuse_masked
from tapegrad.tensor.namespaces import Array, Staging, asynchronous, namespace
from tapegrad.tensor.rules import elementwise, neural, products, reductions, shapes, windows
from tapegrad.tensor.tensor import FUNCTIONS, Tensor, _plain, apply, operand

Value = Any  # a Tensor, an array or a number
Axis = int | tuple[int, ...] | None
Pair = int | tuple[int, int]


def constant(value: Value) -> Tensor:
    """A tensor that needs no gradient."""
    return Tensor(_plain(value))


def add(x: Value, y: Value) -> Tensor:
    """x + y."""
    return apply(elementwise.ADD, (x, y))


def sub(x: Value, y: Value) -> Tensor:
    """x - y."""
    return apply(elementwise.SUB, (x, y))


def mul(x: Value, y: Value) -> Tensor:
    """x·y, element by element."""
    return apply(elementwise.MUL, (x, y))


def div(x: Value, y: Value) -> Tensor:
    """x/y."""
    return apply(elementwise.DIV, (x, y))


def pow(x: Value, y: Value) -> Tensor:
    """x to the power of y."""
    return apply(elementwise.POW, (x, y))


def neg(x: Value) -> Tensor:
    """-x."""
    return apply(elementwise.NEG, (x,))


def exp(x: Value) -> Tensor:
    """e to the power of x."""
    return apply(elementwise.EXP, (x,))


def expm1(x: Value) -> Tensor:
    """e^x - 1, exact near 0."""
    return apply(elementwise.EXPM1, (x,))


def log(x: Value) -> Tensor:
    """The natural logarithm."""
    return apply(elementwise.LOG, (x,))


def log1p(x: Value) -> Tensor:
    """log(1 + x), exact near 0."""
    return apply(elementwise.LOG1P, (x,))


def sqrt(x: Value) -> Tensor:
    """The square root."""
    return apply(elementwise.SQRT, (x,))


def square(x: Value) -> Tensor:
    """x²."""
    return apply(elementwise.SQUARE, (x,))


def sin(x: Value) -> Tensor:
    """The sine."""
    return apply(elementwise.SIN, (x,))


def cos(x: Value) -> Tensor:
    """The cosine."""
    return apply(elementwise.COS, (x,))


def tanh(x: Value) -> Tensor:
    """The hyperbolic tangent."""
    return apply(elementwise.TANH, (x,))


def sigmoid(x: Value) -> Tensor:
    """1/(1 + e^-x)."""
    return apply(elementwise.SIGMOID, (x,))


def softplus(x: Value) -> Tensor:
    """log(1 + e^x), without overflow."""
    return apply(elementwise.SOFTPLUS, (x,))


def relu(x: Value) -> Tensor:
    """max(x, 0); its derivative at 0 is 0."""
    return apply(elementwise.RELU, (x,))


def erf(x: Value) -> Tensor:
    """The error function."""
    return apply(elementwise.ERF, (x,))


def gelu(x: Value, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """x·Φ(x) with the normal distribution's Φ, or its approximation by a hyperbolic tangent."""
    if approximate not in ("none", "tanh"):
        raise InputError(f"expected approximate to be 'none' or 'tanh', got {approximate!r}")
    return apply(elementwise.GELU if approximate == "none" else elementwise.GELU_TANH, (x,))


def abs(x: Value) -> Tensor:
    """|x|; its derivative at 0 is 0."""
    return apply(elementwise.ABS, (x,))


def maximum(x: Value, y: Value) -> Tensor:
    """The larger of each two; equal ones share the gradient."""
    return apply(elementwise.MAXIMUM, (x, y))


def minimum(x: Value, y: Value) -> Tensor:
    """The smaller of each two; equal ones share the gradient."""
    return apply(elementwise.MINIMUM, (x, y))


def where(condition: Value, x: Value, y: Value) -> Tensor:
    """x where the condition holds, y elsewhere."""
    return apply(elementwise.WHERE, (_plain(condition), x, y))


def clip(x: Value, low: float | Array | None = None, high: float | Array | None = None) -> Tensor:
    """x, but no less than low and no more than high; at the bounds its derivative is 1."""
    for bound in (low, high):
        if isinstance(bound, Tensor) and bound.requires_grad:
            raise InputError("clip takes its bounds as constants; use maximum and minimum for bounds with gradients")
    return apply(elementwise.CLIP, (x,), (_bound(low), _bound(high)))


def _bound(value: Any) -> Any:
    return None if value is None else operand(_plain(value))


def sum(x: Value, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The sum over axes."""
    return apply(reductions.SUM, (x,), (axis, keepdims))


def mean(x: Value, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean over axes."""
    return apply(reductions.MEAN, (x,), (axis, keepdims))


def max(x: Value, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The largest over axes; equal ones share the gradient."""
    return apply(reductions.MAX, (x,), (axis, keepdims))


def min(x: Value, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest over axes; equal ones share the gradient."""
    return apply(reductions.MIN, (x,), (axis, keepdims))


def var(x: Value, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
    """The variance over axes; ddof: what is taken off the count it is divided by."""
    return apply(reductions.VAR, (x,), (axis, keepdims, ddof))


def logsumexp(x: Value, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """log Σe^x over axes, without overflow."""
    return apply(reductions.LOGSUMEXP, (x,), (axis, keepdims))


def cumsum(x: Value, axis: int | None = None) -> Tensor:
    """The sum of all numbers up to each, along an axis or of the flattened tensor."""
    return apply(reductions.CUMSUM, (x,), axis)


def reshape(x: Value, shape: int | Sequence[int]) -> Tensor:
    """The same numbers in another shape."""
    return apply(shapes.RESHAPE, (x,), shape)


def _axis(axis: int, ndim: int) -> int:
    """An axis counted from the front."""
    position = _integer(axis, "an axis")
    if not -ndim <= position < ndim:
        expected = f"from {-ndim} to {ndim - 1}" if ndim else "of a tensor that has any"
        raise ShapeError(f"expected an axis {expected}, got {axis}")
    return position % ndim


def _integer(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ShapeError(f"expected {what} to be an integer, got {value!r:.60}") from None


def _sequence(value: Any) -> tuple[Any, ...]:
    """What may be one integer or several, as several."""
    return tuple(value) if hasattr(value, "__iter__") else (value,)


def transpose(x: Value, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order; reversed if none is given."""
    if axes is None:
        return apply(shapes.TRANSPOSE, (x,), None)
    ndim = len(_shape(x))
    return apply(shapes.TRANSPOSE, (x,), tuple(_axis(axis, ndim) for axis in _sequence(axes)))


def swapaxes(x: Value, first: int, second: int) -> Tensor:
    """Two axes exchanged."""
    axes = list(range(len(_shape(x))))
    first, second = _axis(first, len(axes)), _axis(second, len(axes))
    axes[first], axes[second] = axes[second], axes[first]
    return apply(shapes.TRANSPOSE, (x,), tuple(axes))


def _shape(x: Value) -> tuple[int, ...]:
    return x.shape if isinstance(x, Tensor) else getattr(operand(x), "shape", ())


def expand_dims(x: Value, axis: int | tuple[int, ...]) -> Tensor:
    """New axes of length 1, at these positions of the result."""
    axes = _sequence(axis)
    shape = list(_shape(x))
    ndim = len(shape) + len(axes)
    positions = sorted(_axis(a, ndim) for a in axes)
    if len(set(positions)) < len(positions):
        raise ShapeError(f"expand_dims got an axis twice: {axis}")
    for position in positions:
        shape.insert(position, 1)
    return apply(shapes.RESHAPE, (x,), tuple(shape))


def squeeze(x: Value, axis: Axis = None) -> Tensor:
    """Without axes of length 1: all of them, or these."""
    shape = _shape(x)
    if not (shape or axis is None or isinstance(axis, tuple)) and _integer(axis, "an axis") in (0, -1):
        axis = None  # NumPy takes them of a tensor without axes too
    axes = range(len(shape)) if axis is None else [_axis(a, len(shape)) for a in _sequence(axis)]
    for a in axes:
        if axis is not None and shape[a] != 1:
            raise ShapeError(f"cannot squeeze axis {a} of shape {shape}: its length is not 1")
    if axis is not None and len(set(axes)) < len(axes):
        raise ShapeError(f"squeeze got an axis twice: {axis}")
    return apply(shapes.RESHAPE, (x,), tuple(n for k, n in enumerate(shape) if not (k in axes and n == 1)))


def broadcast_to(x: Value, shape: int | Sequence[int]) -> Tensor:
    """x repeated to a shape."""
    return apply(shapes.BROADCAST_TO, (x,), _sequence(shape))


def concatenate(xs: Sequence[Value], axis: int = 0) -> Tensor:
    """Tensors one after the other along an axis."""
    xs = tuple(xs)
    if not xs:
        raise ShapeError("concatenate wants at least one tensor, got none")
    return apply(shapes.CONCATENATE, xs, _integer(axis, "an axis"))


def stack(xs: Sequence[Value], axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    xs = tuple(xs)
    unlike = {_shape(x) for x in xs}
    if len(unlike) != 1:
        raise ShapeError(f"stack wants tensors of one shape, got {sorted(unlike)}; concatenate takes unlike ones")
    return concatenate([expand_dims(x, axis) for x in xs], axis)


def split(x: Value, sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Parts along an axis: so many equal ones, or ending at these positions."""
    x = x if isinstance(x, Tensor) else constant(x)
    axis = _axis(axis, x.ndim)
    length = x.shape[axis]
    if hasattr(sections, "__iter__"):
        ends = [_integer(end, "an end") for end in sections]
    else:
        count = _integer(sections, "the number of parts")
        if count < 1 or length % count:
            raise ShapeError(f"cannot split an axis of length {length} into {count} equal parts")
        ends = [k * (length // count) for k in range(1, count)]
    bounds = [0, *ends, length]
    before = (slice(None),) * axis
    return [x[(*before, slice(start, end))] for start, end in itertools.pairwise(bounds)]


def pad(x: Value, widths: int | Sequence[Any]) -> Tensor:
    """x with zeros around: so many on each side, or (before, after), or that for each axis."""
    ndim = len(_shape(x))
    entries = _sequence(widths)
    if 0 < len(entries) <= 2 and not any(hasattr(width, "__iter__") for width in entries):
        entries = ((entries[0], entries[-1]),) * ndim
    pairs = tuple(tuple(_integer(width, "a width") for width in _sequence(pair)) for pair in entries)
    if len(pairs) != ndim or any(len(pair) != 2 for pair in pairs):
        raise ShapeError(f"expected (before, after) for each of {ndim} axes, got {widths!r:.60}")
    return apply(shapes.PAD, (x,), pairs)


def take_along_axis(x: Value, indices: Value, axis: int) -> Tensor:
    """The numbers at the indices along an axis, each row with its own."""
    return apply(shapes.TAKE_ALONG_AXIS, (x,), (_integers(indices, "indices"), _axis(axis, len(_shape(x)))))


def _integers(value: Value, what: str, copy: bool = True) -> Array:
    """Indices or labels as an array of integers, of our own if a rule will use it: nobody can change it then."""
    plain = _plain(value)
    xp = namespace(plain)
    if type(plain) is not xp.ndarray:
        refuse_masked(plain)
    integers = xp.array(plain) if copy else plain if type(plain) is xp.ndarray else xp.asarray(plain)
    if integers.dtype.kind not in "iu":
        raise DtypeError(f"expected {what} of integers, got dtype {integers.dtype}; convert them with astype(int)")
    return integers


def _within(indices: Array, end: int) -> bool:
    """Whether all indices are from 0 up to but not including the end. Where they are not known yet, a call asks."""
    if isinstance(namespace(indices), Staging):
        inside = namespace(indices).all((indices >= 0) & (indices < end))
        namespace(indices).check(inside, f"expected labels from 0 to {end - 1}")
        return True
    if asynchronous(namespace(indices)):  # wrong ones give nan there
        return True
    if indices.size <= 32:  # a list of so few is quicker than a reduction
        listed = sorted(indices.reshape(-1).tolist())
        return not listed or bool(listed[0] >= 0 and listed[-1] < end)
    # as unsigned numbers negative ones are very large: one comparison for both bounds
    return bool(indices.view(f"u{indices.itemsize}").max() < end)


def matmul(x: Value, y: Value) -> Tensor:
    """The product of matrices, of stacks of them, or of vectors, as NumPy's @."""
    return apply(products.MATMUL, (x, y))


def einsum(subscripts: str, *xs: Value) -> Tensor:
    """Einstein's sum, as NumPy's but without '...'."""
    return apply(products.EINSUM, xs, subscripts)


def dot(x: Value, y: Value) -> Tensor:
    """NumPy's dot: the last axis of x with the last but one of y, or its only one."""
    left, right = _shape(x), _shape(y)
    if not left or not right:
        return mul(x, y)
    if len(right) <= 2:
        return matmul(x, y)
    order = (len(right) - 2, *range(len(right) - 2), len(right) - 1)
    flat = reshape(transpose(y, order), (right[-2], -1))
    return reshape(matmul(x, flat), (*left[:-1], *right[:-2], right[-1]))


def outer(x: Value, y: Value) -> Tensor:
    """All products of two vectors; other shapes are flattened."""
    return mul(reshape(x, (-1, 1)), reshape(y, (1, -1)))


def softmax(x: Value, axis: int = -1) -> Tensor:
    """e^x/Σe^x along an axis, without overflow."""
    return apply(neural.SOFTMAX, (x,), axis)


def log_softmax(x: Value, axis: int = -1) -> Tensor:
    """The logarithm of softmax, without overflow."""
    return apply(neural.LOG_SOFTMAX, (x,), axis)


def softmax_cross_entropy(logits: Value, labels: Value, reduction: Literal["mean", "sum", "none"] = "mean") -> Tensor:
    """-log softmax(logits)[label], classes on the last axis, over all examples: their mean, their sum or each."""
    if reduction not in ("mean", "sum", "none"):
        raise InputError(f"expected reduction to be 'mean', 'sum' or 'none', got {reduction!r}")
    labels = _integers(labels, "labels", False)
    shape = _shape(logits)
    if not shape:
        raise ShapeError("softmax_cross_entropy wants logits with the classes on the last axis, got shape ()")
    if labels.shape != shape[:-1]:
        raise ShapeError(f"logits of shape {shape} want labels of shape {shape[:-1]}, got {labels.shape}")
    if not _within(labels, shape[-1]):
        raise InputError(f"expected labels from 0 to {shape[-1] - 1}, got {labels.min()} to {labels.max()}")
    return apply(neural.CROSS_ENTROPY, (logits,), (labels, reduction))


def layer_norm(x: Value, weight: Value = None, bias: Value = None, epsilon: float = 1e-5) -> Tensor:
    """The last axis with mean 0 and variance 1, times weight, plus bias."""
    length = _shape(x)[-1:]
    if length in ((), (0,)):
        raise ShapeError(f"layer_norm wants numbers on the last axis, got shape {_shape(x)}")
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and _shape(value) != length:
            raise ShapeError(f"layer_norm of shape {_shape(x)} wants a {name} of shape {length}, got {_shape(value)}")
    return apply(neural.LAYER_NORM, (x, 1 if weight is None else weight, 0 if bias is None else bias), epsilon)


def _pair(value: Pair, what: str, least: int) -> tuple[int, int]:
    """One number for both directions, or one for each; no less than so many."""
    pair = tuple(_integer(number, what) for number in _sequence(value))
    if len(pair) > 2 or not pair or sorted(pair)[0] < least:  # min is the tensors' here
        raise ShapeError(f"expected {what} to be an integer or two of them, from {least} up, got {value!r:.60}")
    return pair[0], pair[-1]


def _window(size: Pair, stride: Pair | None, padding: Pair) -> windows.Window:
    return windows.Window(
        _pair(size, "size", 1), _pair(size if stride is None else stride, "stride", 1), _pair(padding, "padding", 0)
    )


def conv2d(x: Value, weight: Value, bias: Value = None, stride: Pair = 1, padding: Pair = 0, groups: int = 1) -> Tensor:
    """Convolution (without flipping) of images (N, C, H, W) with weights (O, C/groups, h, w), plus a bias (O,)."""
    shape = _shape(weight)
    if len(shape) != 4 or _integer(groups, "groups") < 1:
        raise ShapeError(f"conv2d wants weights (O, C/groups, h, w) and groups from 1 up, got {shape} and {groups}")
    if bias is not None and _shape(bias) != shape[:1]:
        raise ShapeError(f"conv2d with weights of shape {shape} wants a bias of shape {shape[:1]}, got {_shape(bias)}")
    result = apply(windows.CONV2D, (x, weight), (_window(shape[2:], stride, padding), operator.index(groups)))
    return result if bias is None else result + reshape(bias, (1, -1, 1, 1))


def max_pool2d(x: Value, size: Pair, stride: Pair | None = None, padding: Pair = 0) -> Tensor:
    """The largest number of each window of images (N, C, H, W); the window moves by its size if no stride is given."""
    window = _window(size, stride, padding)
    if any(2 * border > length for border, length in zip(window.padding, window.size, strict=True)):
        raise ShapeError(f"max_pool2d takes padding up to half the size, got {window.padding} with size {window.size}")
    return apply(windows.MAX_POOL2D, (x,), window)


def avg_pool2d(x: Value, size: Pair, stride: Pair | None = None, padding: Pair = 0) -> Tensor:
    """The mean of each window of images (N, C, H, W), border included."""
    return apply(windows.AVG_POOL2D, (x,), _window(size, stride, padding))


def dropout(x: Value, rate: float, seed: int) -> Tensor:
    """x with a share `rate` of its numbers set to 0 and the others divided by 1 - rate; the seed decides which."""
    if not 0.0 <= rate < 1.0:
        raise InputError(f"expected a rate from 0 up to but not including 1, got {rate!r}")
    x = x if isinstance(x, Tensor) else constant(x)
    xp = namespace(x._array)
    kept = xp.random.default_rng(seed).random(x.shape, dtype=xp.float32) >= rate
    dtype = x.dtype if x.dtype.kind == "f" else xp.dtype(float)
    return mul(x, Tensor(kept.astype(dtype) * dtype.type(1.0 / (1.0 - rate))))


def embedding(table: Value, indices: Value) -> Tensor:
    """The rows of a table, one for each index."""
    indices = _integers(indices, "indices")
    shape = _shape(table)
    if not shape:
        raise ShapeError("embedding wants a table of rows, got shape ()")
    rows = shape[0]
    if isinstance(namespace(indices), Staging):
        inside = namespace(indices).all((indices >= -rows) & (indices < rows))
        namespace(indices).check(inside, f"expected indices of {rows} rows")
    elif asynchronous(namespace(indices)):  # CuPy takes them as they come; to look would wait for the device
        pass
    elif indices.size and not (indices.min() >= -rows and indices.max() < rows):
        raise InputError(f"expected indices of {rows} rows, got {indices.min()} to {indices.max()}")
    return apply(neural.EMBEDDING, (table,), indices)


def scaled_dot_product_attention(q: Value, k: Value, v: Value, causal: bool = False) -> Tensor:
    """softmax(q·kᵀ/√width)·v for (…, length, width); causal: a position sees none that come later."""
    if 0 in _shape(q)[-2:] or 0 in _shape(k)[-2:]:
        raise ShapeError(f"attention wants positions and a width, got shapes {_shape(q)} and {_shape(k)}")
    return apply(neural.ATTENTION, (q, k, v), causal)


# Those that NumPy has too are named where one of its functions is called with a tensor.
FUNCTIONS.update(name for name, value in list(globals().items()) if callable(value) and value.__module__ == __name__)
