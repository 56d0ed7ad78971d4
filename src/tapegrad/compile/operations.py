"""The operations of traced functions: what NumPy computes for each, and the shape and dtype of what it gives.

In: a node's operands. Out: shape and dtype while tracing; numbers where an operation is executed by itself.
"""

from collections.abc import Callable
from typing import Any

import numpy

import tapegrad.special
from tapegrad.tensor.instruction import Instruction
from tapegrad.tensor.namespaces import Array, special

UFUNCS: dict[str, Any] = {
    name: getattr(numpy, name)
    for name in (
        *("negative", "exp", "expm1", "log", "log1p", "sqrt", "square", "sin", "cos", "tanh", "absolute", "sign"),
        *("add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "remainder"),
        *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
        *("bitwise_and", "bitwise_or", "invert", "isfinite"),
    )
}
# Of NumPy's floating-point dtypes these have machine code; half precision is interpreted.
SPECIAL = {"erf": tapegrad.special.erf, "expit": tapegrad.special.expit}
ELEMENTWISE = {*UFUNCS, *SPECIAL, "where", "astype"}
REDUCTIONS = {"sum", "max", "min"}
# What moves no numbers: another view of an array's memory.
VIEWS = {"reshape", "transpose", "broadcast_to", "slice"}


def loop_dtypes(name: str, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """The dtypes in which an elementwise function computes, operands first; `float` and `int` are Python's numbers."""
    if name in SPECIAL:
        (kind,) = kinds
        dtype = numpy.dtype(kind)
        dtype = dtype if dtype.kind == "f" else numpy.dtype(float)
        return (dtype, dtype)
    resolved: tuple[Any, ...] = UFUNCS[name].resolve_dtypes((*kinds, None))
    return resolved


def slots(settings: Any, arrays: list[Any]) -> Any:
    """Settings with operands in their places."""
    if type(settings).__name__ == "Place":
        return arrays[settings.operand]
    if type(settings) is tuple:
        return tuple([slots(item, arrays) for item in settings])
    return settings


def executed(primitive: Any, settings: Any, arrays: list[Any], xp: Any) -> Array:
    """A primitive by itself, as the interpreted engine executes it."""
    i = Instruction.__new__(Instruction)
    i.primitive, i.xp, i.settings, i.needs = primitive, xp, settings, (False,) * len(arrays)
    i.saved, i.snapshots, i.scratch, i.releasing, i.tracing = (), None, None, False, False
    i.shapes = [array.shape for array in arrays]
    return primitive.forward(i, *arrays)


def put(x: Array, value: Array, index: Any) -> Array:
    """x with a value at some places."""
    written = x.copy()
    written[index] = value
    return written


def add_at(x: Array, value: Array, index: Any, once: bool, xp: Any) -> Array:
    """x with a value added at some places."""
    written = x.copy()
    if once:
        written[index] += value
    else:
        xp.add.at(written, index, value)
    return written


def summed(x: Array, axes: tuple[int, ...]) -> Array:
    """Σx over axes, which stay."""
    return x.sum(axes, keepdims=True)


# Of the settings, the operands and their namespace.
Compute = Callable[[Any, list[Any], Any], Array]
OTHERS: dict[str, Compute] = {
    "where": lambda _, xs, xp: xp.where(*xs),
    "astype": lambda s, xs, _: xs[0].astype(s),
    "copy": lambda _, xs, __: xs[0].copy(),
    "sum": lambda s, xs, _: summed(xs[0], s),
    "max": lambda s, xs, _: xs[0].max(s, keepdims=True),
    "min": lambda s, xs, _: xs[0].min(s, keepdims=True),
    "reshape": lambda s, xs, _: xs[0].reshape(s),
    "transpose": lambda s, xs, _: xs[0].transpose(s),
    "broadcast_to": lambda s, xs, xp: xp.broadcast_to(xs[0], s),
    "slice": lambda s, xs, _: xs[0][s],
    "getitem": lambda s, xs, _: xs[0][slots(s, xs)],
    "put": lambda s, xs, _: put(xs[0], xs[1], slots(s, xs)),
    "add_at": lambda s, xs, xp: add_at(xs[0], xs[1], slots(s[0], xs), s[1], xp),
    "take_along_axis": lambda s, xs, xp: xp.take_along_axis(xs[0], xs[1], s),
    "concatenate": lambda s, xs, xp: xp.concatenate(xs, axis=s),
    "pad": lambda s, xs, xp: xp.pad(xs[0], s),
    "cumsum": lambda s, xs, xp: xp.cumsum(xs[0], axis=s),
    "einsum": lambda s, xs, xp: xp.einsum(s, *xs, optimize=len(xs) > 1),
    "matmul": lambda _, xs, xp: xp.matmul(*xs),
    "arange": lambda s, _, xp: xp.arange(s),
    "argsort": lambda s, xs, xp: xp.argsort(xs[0], axis=s, kind="stable"),
    "primitive": lambda s, xs, xp: executed(s[0], slots(s[1], xs), xs, xp),
    "constant": lambda s, _, __: s,
    "array": lambda s, _, __: s,
}


def computed(op: str, settings: Any, arrays: list[Any], xp: Any = numpy) -> Array:
    """The result of an operation on numbers, by the functions of a namespace."""
    if op in UFUNCS:
        return UFUNCS[op](*arrays) if xp is numpy else getattr(xp, op)(*arrays)
    if op in SPECIAL:
        return SPECIAL[op](*arrays) if xp is numpy else getattr(special(xp), op)(*arrays)
    return OTHERS[op](settings, arrays, xp)


def result(op: str, operands: tuple[Any, ...], settings: Any) -> tuple[tuple[int, ...], Any]:
    """The shape and dtype of an operation's result."""
    shapes, dtypes = [x.shape for x in operands], [x.dtype for x in operands]
    if op in UFUNCS or op in SPECIAL:
        return numpy.broadcast_shapes(*shapes), loop_dtypes(op, tuple(dtypes))[-1]
    if op == "copy":
        return shapes[0], dtypes[0]
    if op == "where":
        return numpy.broadcast_shapes(*shapes), dtypes[1]
    if op == "astype":
        return shapes[0], numpy.dtype(settings)
    if op in REDUCTIONS:
        return tuple([1 if k in settings else n for k, n in enumerate(shapes[0])]), dtypes[0]
    if op in ("put", "add_at"):
        return shapes[0], dtypes[0]
    if op == "matmul":
        return product_shape(*shapes), numpy.result_type(*dtypes)
    # the others from arrays that take no memory
    like = computed(op, settings, [numpy.broadcast_to(numpy.zeros((), x.dtype), x.shape) for x in operands])
    return like.shape, like.dtype


def product_shape(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a product of matrices, of stacks of them, or of vectors."""
    if not left or not right:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    if left[-1] != right[-2 if len(right) > 1 else -1]:
        raise ValueError(f"matmul: {left[-1]} columns do not fit {right[-2 if len(right) > 1 else -1]} rows")
    return (*numpy.broadcast_shapes(left[:-2], right[:-2]), *rows, *columns)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that NumPy reduces, from the front, in order."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    if not ndim and not isinstance(axis, tuple) and axis in (0, -1):
        return ()  # NumPy reduces these of an array without axes
    return tuple(sorted(numpy.lib.array_utils.normalize_axis_tuple(given, ndim)))
