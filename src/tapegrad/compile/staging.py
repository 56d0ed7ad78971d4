"""The namespace of symbols: NumPy's functions, each of which adds a node to the graph that is being traced.

Rules take their functions from the namespace of their arrays. Given this one, forward, vjp and jvp compute what they
always do, on symbols: that is how derivatives come into the graph without a rule of their own.
"""

# ruff: noqa: D102  the functions are NumPy's

import math
from typing import Any

import numpy

from tapegrad.compile import operations
from tapegrad.compile.elements import Added, cast, elementwise, function, kind_of, repeated, unwrapped
from tapegrad.compile.fusion import view_of
from tapegrad.compile.operations import UFUNCS, axes_of, loop_dtypes
from tapegrad.compile.pieces import indexed, side_by_side
from tapegrad.compile.symbol import (
    Symbol,
    constant,
    current,
    filled,
    namespaces,
    node_of,
    number_of,
    recorded,
    single,
)
from tapegrad.errors import TraceError
from tapegrad.tensor.namespaces import Staging
from tapegrad.tensor.rules import adjoints, shapes


class StagingNamespace(Staging):
    """The namespace of symbols. What is not here is NumPy's own."""

    ndarray = Symbol
    add = Added()

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)

    abs = function("absolute")

    def relu(self, x: Any) -> Symbol:
        return elementwise("maximum", x, 0)

    def expit(self, x: Any, out: Any = None) -> Symbol:  # noqa: ARG002  NumPy's signature
        """Of e^-|x|, which never overflows, and which softplus needs as well."""
        (dtype, _) = loop_dtypes("expit", (x.dtype,))
        number = Symbol(cast(x, dtype))
        power = self.exp(-self.abs(number))
        return self.where(number >= 0, 1.0, power) / (1.0 + power)  # type: ignore[no-any-return]

    def where(self, condition: Any, x: Any, y: Any) -> Symbol:
        dtype = numpy.result_type(*[0 if k is int else 0.0 if k is float else k for k in (kind_of(x), kind_of(y))])
        nodes = (cast(condition, bool), cast(x, dtype), cast(y, dtype))
        inner = unwrapped(nodes)
        if inner is not None:
            return self.reshape(recorded("where", inner), numpy.broadcast_shapes(*[node.shape for node in nodes]))
        return recorded("where", nodes)

    def clip(self, x: Any, low: Any, high: Any) -> Symbol:
        for bound, name in ((low, "maximum"), (high, "minimum")):
            x = x if bound is None else elementwise(name, x, bound)
        return Symbol(node_of(x))

    def reduced(self, name: str, x: Any, axis: Any, keepdims: bool) -> Symbol:
        node = node_of(x)
        axes = axes_of(axis, len(node.shape))
        if name == "sum" and node.dtype.kind in "bi":
            node = cast(x, numpy.int64)
        if name != "sum" and 0 in [node.shape[k] for k in axes]:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        kept = tuple([1 if k in axes else n for k, n in enumerate(node.shape)])
        left = tuple([n for k, n in enumerate(node.shape) if k not in axes])
        if len(axes) == len(node.shape):
            while node.op == "reshape":  # all of an array, in whatever shape
                node = node.operands[0]
            axes = axes_of(None, len(node.shape))
        if node.op == "reshape" and len(node.shape) == 2 and axes == (0,):
            inner = node.operands[0]
            if inner.shape[-1:] == node.shape[1:]:  # rows of rows: added up where they are
                both = self.reduced(name, Symbol(inner), tuple(range(len(inner.shape) - 1)), False)
                return self.reshape(both, kept if keepdims else left)
        axes = tuple([k for k in axes if node.shape[k] != 1])
        if node.op == "transpose" and axes:  # along the axes as they lie in memory
            lying = self.reduced(name, Symbol(node.operands[0]), tuple([node.settings[k] for k in axes]), True)
            return self.reshape(self.transpose(lying, node.settings), kept if keepdims else left)
        number = number_of(node)
        if number is not None and node.dtype.kind == "f":
            count = math.prod([node.shape[k] for k in axes]) if name == "sum" else 1
            return Symbol(filled(kept if keepdims else left, number * count, node.dtype))
        symbol = recorded(name, (node,), axes) if axes else Symbol(node)
        return self.reshape(symbol, kept if keepdims else left)

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Symbol:
        return self.reduced("sum", x, axis, keepdims)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Symbol:
        return self.reduced("max", x, axis, keepdims)

    def min(self, x: Any, axis: Any = None, keepdims: bool = False) -> Symbol:
        return self.reduced("min", x, axis, keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Symbol:
        x = x if x.dtype.kind == "f" else x.astype(float)
        count = math.prod([x.shape[k] for k in axes_of(axis, x.ndim)])
        return self.sum(x, axis, keepdims) / count  # type: ignore[no-any-return]

    def cumsum(self, x: Any, axis: int | None = None) -> Symbol:
        return recorded("cumsum", (node_of(x),), axis)

    def dot(self, x: Any, y: Any) -> Symbol:
        return self.matmul(x, y)

    def matmul(self, x: Any, y: Any, out: Any = None) -> Symbol:  # noqa: ARG002  NumPy's signature
        dtype = numpy.result_type(x.dtype, y.dtype)
        left, right = cast(x, dtype), cast(y, dtype)
        if dtype.kind == "f" and 1 in (number_of(left), number_of(right)):
            # ones, the cotangent of a sum, add up rows or columns; rules sum so on purpose, as BLAS is quick at it
            shape = operations.product_shape(left.shape, right.shape)
            if number_of(right) == 1:
                sums = self.sum(Symbol(left), -1, len(right.shape) > 1)
            else:
                sums = self.sum(Symbol(right), -2 if len(right.shape) > 1 else -1, len(left.shape) > 1)
            return Symbol(repeated(sums.node, shape))
        return recorded("matmul", (left, right))

    def einsum(self, subscripts: str, *xs: Any, optimize: bool = False) -> Symbol:  # noqa: ARG002
        terms, arrow, wanted = subscripts.replace(" ", "").partition("->")
        labels = terms.split(",")
        if arrow and len(xs) == 2 and labels[0] == labels[1] and wanted == "".join(c for c in labels[0] if c in wanted):
            return self.sum(xs[0] * xs[1], tuple([k for k, c in enumerate(labels[0]) if c not in wanted]))
        return recorded("einsum", tuple([node_of(x) for x in xs]), subscripts)

    def reshape(self, x: Any, shape: Any) -> Symbol:
        node = node_of(x)
        wanted = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        wanted = numpy.broadcast_to(numpy.zeros((), bool), node.shape).reshape(wanted).shape
        while node.op == "reshape":
            node = node.operands[0]
        number = number_of(node)
        if number is not None:
            return Symbol(filled(wanted, number, node.dtype))
        if node.shape == wanted:
            return Symbol(node)
        reshaped = recorded("reshape", (node,), wanted)
        if view_of(reshaped.node) is None:  # the numbers must be moved: a kernel does that, along with other work
            return recorded("reshape", (recorded("copy", (node,)).node,), wanted)
        return reshaped

    def transpose(self, x: Any, axes: Any = None) -> Symbol:
        ndim = len(x.shape)
        order = tuple(range(ndim))[::-1] if axes is None else tuple([axis % ndim for axis in axes])
        if sorted(order) != list(range(ndim)):
            raise ValueError(f"axes {axes} do not match an array of {ndim} dimensions")
        node = node_of(x)
        if node.op == "transpose":
            order, node = tuple([node.settings[k] for k in order]), node.operands[0]
        number = number_of(node)
        if number is not None:
            return Symbol(filled(tuple([node.shape[k] for k in order]), number, node.dtype))
        return Symbol(node) if order == tuple(range(ndim)) else recorded("transpose", (node,), order)

    def broadcast_to(self, x: Any, shape: Any) -> Symbol:
        wanted = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        node = node_of(x)
        if numpy.broadcast_shapes(node.shape, wanted) != wanted:
            raise ValueError(f"cannot repeat shape {node.shape} to {wanted}")
        return Symbol(repeated(node, wanted))

    def squeeze(self, x: Any, axis: Any = None) -> Symbol:
        return self.reshape(x, numpy.squeeze(numpy.broadcast_to(numpy.zeros(()), x.shape), axis=axis).shape)

    def concatenate(self, xs: Any, axis: int = 0) -> Symbol:
        dtype = self.result_type(*xs)
        return recorded("concatenate", tuple([cast(x, dtype) for x in xs]), axis)

    def pad(self, x: Any, widths: Any) -> Symbol:
        return recorded("pad", (node_of(x),), tuple([tuple(width) for width in widths]))

    def flip(self, x: Any, axis: int) -> Symbol:
        return self.getitem(x, (slice(None),) * (axis % x.ndim) + (slice(None, None, -1),))

    def getitem(self, x: Any, index: Any) -> Symbol:
        operands = [node_of(x)]
        settings = indexed(index, operands)
        if single(settings) and not operands[1].shape and x.ndim:
            rows, place = x.shape[0], Symbol(operands[1])  # what the code reads then stays inside
            given = index[0] if type(index) is tuple else index
            first = 0 if given.dtype.kind == "u" else -rows  # as int64, a uint64 beyond 2^63 would be negative
            self.check((place >= first) & (place < rows), f"expected an index of {rows} rows")
        return recorded("slice" if shapes.is_basic(settings) else "getitem", tuple(operands), settings)

    def take_along_axis(self, x: Any, indices: Any, axis: int) -> Symbol:
        return recorded("take_along_axis", (node_of(x), node_of(indices)), axis)

    def put(self, x: Any, value: Any, index: Any) -> Symbol:
        operands = [node_of(x), cast(value, x.dtype)]
        if index is Ellipsis or (index == slice(None) and type(index) is slice):
            return Symbol(repeated(operands[1], x.shape))
        settings = indexed(index, operands)
        return recorded("put", tuple(operands), settings)

    def add_at(self, x: Any, value: Any, index: Any, once: bool) -> Symbol:
        operands = [node_of(x), cast(value, x.dtype)]
        settings = indexed(index, operands)
        symbol = recorded("add_at", tuple(operands), (settings, once))
        parts = side_by_side(symbol.node)
        if parts is None:
            return symbol
        numbers = {repr(number_of(part)) for part in parts[0]}
        if len(numbers) == 1 and number_of(parts[0][0]) is not None:
            return Symbol(filled(symbol.shape, number_of(parts[0][0]), symbol.dtype))
        return recorded("concatenate", *parts)

    def astype(self, x: Any, dtype: Any) -> Any:
        return x if x.dtype == dtype else Symbol(cast(x, numpy.dtype(dtype)))

    def copyto(self, x: Symbol, value: Any, where: Any) -> None:
        x.node = repeated(cast(self.where(where, value, x), x.dtype), x.shape)

    def whole(self, primitive: Any, operands: tuple[Any, ...], settings: Any = None) -> Symbol:
        if primitive is adjoints.ADD_AT:
            return self.add_at(*operands, *settings)
        return recorded("primitive", tuple([node_of(x) for x in operands]), (primitive, settings))

    def result_type(self, *xs: Any) -> Any:
        return numpy.result_type(*[x.dtype if type(x) is Symbol else x for x in xs])

    def all(self, x: Any) -> Symbol:
        return self.min(self.where(x, numpy.float32(1), numpy.float32(0))) > 0  # type: ignore[no-any-return]

    def check(self, condition: Symbol, message: str) -> None:
        """What must hold at every call of the traced function."""
        current().checks.append((condition.node, message))

    def argsort(self, x: Any, axis: int = -1, kind: Any = None) -> Symbol:  # noqa: ARG002  NumPy's signature
        return recorded("argsort", (node_of(x),), axis)

    def arange(self, count: int) -> Symbol:
        return recorded("arange", (), int(count))

    def flatnonzero(self, x: Any) -> Any:  # noqa: ARG002  NumPy's signature
        raise TraceError("which numbers differ from zero is not known while jit traces")

    # new arrays

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        symbol = x if type(x) is Symbol else Symbol(constant(x))
        return symbol if dtype is None else self.astype(symbol, dtype)

    def array(self, x: Any, dtype: Any = None) -> Any:
        return self.asarray(x, dtype).copy()

    def ascontiguousarray(self, x: Symbol) -> Symbol:
        return x

    def full(self, shape: Any, value: Any, dtype: Any = None) -> Symbol:
        shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        if type(value) is Symbol:
            return Symbol(repeated(value.node if dtype is None else cast(value, dtype), shape))
        return Symbol(filled(shape, value, numpy.asarray(value).dtype if dtype is None else dtype))

    def zeros(self, shape: Any, dtype: Any = float) -> Symbol:
        return self.full(shape, 0, dtype)

    def empty(self, shape: Any, dtype: Any = float) -> Symbol:
        return self.zeros(shape, dtype)  # what is not written yet is at least a number

    def ones(self, shape: Any, dtype: Any = float) -> Symbol:
        return self.full(shape, 1, dtype)

    def zeros_like(self, x: Any) -> Symbol:
        return self.zeros(x.shape, x.dtype)


for _name in UFUNCS:
    if _name != "add":
        setattr(StagingNamespace, _name, function(_name))
StagingNamespace.erf = function("erf")  # type: ignore[attr-defined]
namespaces.append(StagingNamespace())
