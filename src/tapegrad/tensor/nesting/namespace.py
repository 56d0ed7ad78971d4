"""The namespace of traced arrays: NumPy's functions, each a primitive.

Rules take their functions from the namespace of the arrays that they work on. Given this one, forward and vjp compute
what they always do, and every step of it is recorded: that is how derivatives of derivatives come from the same rules.
"""

# ruff: noqa: D102  the functions are NumPy's

from typing import Any

from tapegrad.tensor.instruction import Primitive
from tapegrad.tensor.namespaces import Array, Tracing
from tapegrad.tensor.nesting.traced import Traced, maker, plain
from tapegrad.tensor.rules import adjoints, elementwise, products, reductions, shapes
from tapegrad.tensor.tensor import apply, wrapped


def tensor(value: Any) -> Any:
    """An array as an operand of `apply`; numbers stay numbers."""
    if type(value) is Traced:
        return value.tensor
    return value if type(value) in (int, float) else wrapped(value)


def traced(primitive: Primitive, operands: tuple[Any, ...], settings: Any = None) -> Traced:
    """A primitive applied to traced arrays, plain ones and numbers."""
    return Traced(apply(primitive, tuple([tensor(value) for value in operands]), settings))


def plain_index(index: Any) -> Any:
    """An index; places that a rule saved came as traced arrays."""
    return tuple([plain(part) for part in index]) if type(index) is tuple else plain(index)


def elementwise_function(primitive: Primitive) -> Any:
    """A function of the namespace that computes what a primitive does."""

    def function(self: Any, *operands: Any, out: Any = None, dtype: Any = None) -> Traced:  # noqa: ARG001
        result = traced(primitive, operands)
        if dtype is not None and result.dtype != dtype:
            result = traced(adjoints.ASTYPE, (result,), dtype)
        if out is None:
            return result
        if out.dtype != result.dtype:  # as NumPy writes into an array
            result = traced(adjoints.ASTYPE, (result,), out.dtype)
        out.tensor = result.tensor
        return out  # type: ignore[no-any-return]

    return function


class TracingNamespace(Tracing):
    """The namespace of traced arrays whose numbers a library holds. What is not here is the library's own."""

    ndarray = Traced

    def __init__(self, library: Any):
        self.library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    add = elementwise_function(elementwise.ADD)
    subtract = elementwise_function(elementwise.SUB)
    multiply = elementwise_function(elementwise.MUL)
    divide = elementwise_function(elementwise.DIV)
    power = elementwise_function(elementwise.POW)
    negative = elementwise_function(elementwise.NEG)
    square = elementwise_function(elementwise.SQUARE)
    sqrt = elementwise_function(elementwise.SQRT)
    exp = elementwise_function(elementwise.EXP)
    expm1 = elementwise_function(elementwise.EXPM1)
    log = elementwise_function(elementwise.LOG)
    log1p = elementwise_function(elementwise.LOG1P)
    sin = elementwise_function(elementwise.SIN)
    cos = elementwise_function(elementwise.COS)
    tanh = elementwise_function(elementwise.TANH)
    erf = elementwise_function(elementwise.ERF)
    expit = elementwise_function(elementwise.SIGMOID)
    relu = elementwise_function(elementwise.RELU)
    abs = elementwise_function(elementwise.ABS)
    maximum = elementwise_function(elementwise.MAXIMUM)
    minimum = elementwise_function(elementwise.MINIMUM)
    matmul = elementwise_function(products.MATMUL)

    def whole(self, primitive: Primitive, operands: tuple[Any, ...], settings: Any = None) -> Traced:
        return traced(primitive, operands, settings)

    def where(self, condition: Any, x: Any, y: Any) -> Traced:
        return traced(elementwise.WHERE, (plain(condition), x, y))

    def clip(self, x: Any, low: Any, high: Any) -> Traced:
        return traced(elementwise.CLIP, (x,), (low, high))

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Traced:
        return traced(reductions.SUM, (x,), (axis, keepdims))

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Traced:
        return traced(reductions.MEAN, (x,), (axis, keepdims))

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Traced:
        return traced(reductions.MAX, (x,), (axis, keepdims))

    def min(self, x: Any, axis: Any = None, keepdims: bool = False) -> Traced:
        return traced(reductions.MIN, (x,), (axis, keepdims))

    def cumsum(self, x: Any, axis: int | None = None) -> Traced:
        return traced(reductions.CUMSUM, (x,), axis)

    def einsum(self, subscripts: str, *xs: Any, optimize: bool = False) -> Traced:  # noqa: ARG002  NumPy's signature
        return traced(products.EINSUM, xs, subscripts)

    def reshape(self, x: Any, shape: Any) -> Traced:
        return traced(shapes.RESHAPE, (x,), shape)

    def transpose(self, x: Any, axes: Any = None) -> Traced:
        return traced(shapes.TRANSPOSE, (x,), axes)

    def broadcast_to(self, x: Any, shape: Any) -> Traced:
        return traced(shapes.BROADCAST_TO, (x,), tuple(shape))

    def squeeze(self, x: Any, axis: Any = None) -> Traced:
        # the places of the axes, from an array that takes no memory
        shape = self.library.squeeze(self.library.broadcast_to(self.library.zeros(()), x.shape), axis=axis).shape
        return traced(shapes.RESHAPE, (x,), shape)

    def concatenate(self, xs: Any, axis: int = 0) -> Traced:
        return traced(shapes.CONCATENATE, tuple(xs), axis)

    def pad(self, x: Any, widths: Any) -> Traced:
        return traced(shapes.PAD, (x,), widths)

    def flip(self, x: Any, axis: int) -> Traced:
        return traced(shapes.GETITEM, (x,), (slice(None),) * (axis % x.ndim) + (slice(None, None, -1),))

    def getitem(self, x: Any, index: Any) -> Traced:
        return traced(shapes.GETITEM, (x,), plain_index(index))

    def take_along_axis(self, x: Any, indices: Any, axis: int) -> Traced:
        return traced(shapes.TAKE_ALONG_AXIS, (x,), (plain(indices), axis))

    def put(self, x: Any, value: Any, index: Any) -> Traced:
        return traced(adjoints.PUT, (x, value), plain_index(index))

    def add_at(self, x: Any, value: Any, index: Any, once: bool) -> Traced:
        return traced(adjoints.ADD_AT, (x, value), (index, once))

    def astype(self, x: Any, dtype: Any) -> Any:
        return x if x.dtype == dtype else traced(adjoints.ASTYPE, (x,), dtype)

    def copyto(self, x: Traced, value: Any, where: Any) -> None:
        x.tensor = self.where(where, value, x).tensor

    # what has no derivative

    def equal(self, x: Any, y: Any) -> Array:
        return self.library.equal(plain(x), plain(y))

    def sign(self, x: Any) -> Array:
        return self.library.sign(plain(x))

    def isfinite(self, x: Any) -> Array:
        return self.library.isfinite(plain(x))

    def result_type(self, *xs: Any) -> Any:
        return self.library.result_type(*[x.dtype if type(x) is Traced else x for x in xs])

    # new arrays

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        array: Traced = x if type(x) is Traced else Traced(wrapped(self.library.asarray(x, dtype=dtype)))
        return array if dtype is None else self.astype(array, dtype)

    def array(self, x: Any, dtype: Any = None) -> Any:
        return self.asarray(x, dtype).copy()

    def ascontiguousarray(self, x: Traced) -> Traced:
        return x

    def zeros(self, shape: Any, dtype: Any = float) -> Traced:
        return Traced(wrapped(self.library.zeros(shape, dtype)))

    def empty(self, shape: Any, dtype: Any = float) -> Traced:
        return self.zeros(shape, dtype)  # what is not written yet is at least a number

    def ones(self, shape: Any, dtype: Any = float) -> Any:
        array = self.library.ones(shape, dtype)
        return array if array.dtype.kind == "b" else Traced(wrapped(array))  # a mask has no derivative

    def full(self, shape: Any, value: Any, dtype: Any = None) -> Traced:
        return Traced(wrapped(self.library.full(shape, value, dtype)))

    def zeros_like(self, x: Any) -> Traced:
        return self.zeros(x.shape, x.dtype)


maker.append(TracingNamespace)
