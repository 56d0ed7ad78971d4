"""Products of matrices in compiled functions: calls of BLAS, the one that SciPy brings.

In: a node whose operands lie in memory as views. Out: lines that call BLAS with their addresses, or None where the
operands do not lie as BLAS takes them.
"""

import ctypes
from functools import cache
from typing import Any

import numpy

from tapegrad.compile import llvm, smallproducts
from tapegrad.compile.elementary import Writer, literal
from tapegrad.compile.fusion import KINDS, contiguous, is_splat, view_of
from tapegrad.compile.symbol import Node, number_of

# So many products of a stack become calls one after the other; more are left to NumPy, which loops.
MOST_CALLS = 64


@cache
def blas(name: str) -> str:
    """A function of SciPy's BLAS, made known to LLVM."""
    import scipy.linalg.cython_blas as library

    capsule = library.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    symbol = f"tapegrad.{name}"
    llvm.add_symbols({symbol: api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))})
    return symbol


def matrices(node: Node) -> tuple[Node, int, tuple[int, ...], tuple[int, ...]] | None:
    """The base, offset, shape and strides of an operand."""
    view = (node, 0, contiguous(node.shape)) if is_splat(node) else view_of(node)
    if view is None:  # it was moved, so that it lies as it should
        view = (node, 0, contiguous(node.shape))
    return None if is_splat(view[0]) else (view[0], view[1], node.shape, view[2])


def lying(w: Writer, node: Node) -> tuple[Node | str, int, tuple[int, ...]]:
    """Where an operand's numbers are: the node whose memory holds them, or where a constant is, an offset and strides;
    a number that is known is there once."""
    if is_splat(node):
        return (
            constant(w, KINDS[str(node.dtype)], literal(number_of(node), KINDS[str(node.dtype)])),
            0,
            (0,) * len(node.shape),
        )
    base, offset, _, strides = matrices(node)  # type: ignore[misc]
    return base, offset, strides


def leading(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[str, int] | None:
    """Whether BLAS sees a matrix as it is ("N") or transposed ("T"), as it counts columns first, and how far its lines
    are apart."""
    rows, columns = shape
    if (strides[1] == 1 or columns == 1) and (strides[0] >= columns or rows == 1):
        return "N", max(strides[0] if rows > 1 else columns, columns, 1)
    if (strides[0] == 1 or rows == 1) and (strides[1] >= rows or columns == 1):
        return "T", max(strides[1] if columns > 1 else rows, rows, 1)
    return None


def strided(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """How far the rows and the columns of a matrix are apart; what there is one of may be anywhere."""
    rows, columns = strides[-2:]
    return rows, columns if shape[-1] > 1 else 1


def stacks(shape: tuple[int, ...], strides: tuple[int, ...], batch: tuple[int, ...]) -> list[int]:
    """Where each matrix of a stack starts, for all of a result's."""
    own = shape[:-2]
    missing = len(batch) - len(own)
    steps = [0] * missing + [0 if n == 1 else s for n, s in zip(own, strides[:-2], strict=True)]
    starts = [0]
    for n, s in zip(batch, steps, strict=True):
        starts = [start + k * s for start in starts for k in range(n)]
    return starts


def product(w: Writer, node: Node, pointer: Any) -> bool:
    """Writes the calls for a product; pointer(base): where a node's memory is. False if BLAS cannot do it."""
    kind = KINDS.get(str(node.dtype))
    if kind not in ("float", "double") or 0 in node.shape or any(0 in x.shape for x in node.operands):
        return False
    parts = [matrices(x) for x in node.operands]
    if None in parts:
        return False
    (left, a0, sa, ta), (right, b0, sb, tb) = parts  # type: ignore[misc]
    if len(sa) == 1:
        sa, ta = (1, *sa), (0, *ta)
    if len(sb) == 1:
        sb, tb = (*sb, 1), (*tb, 0)
    if len(sb) == 2 and len(sa) > 2 and ta == contiguous(sa):  # a stack times one matrix is one tall product
        rows = 1
        for n in sa[:-1]:
            rows *= n
        sa, ta = (rows, sa[-1]), (sa[-1], 1)
    batch = numpy.broadcast_shapes(sa[:-2], sb[:-2])  # not the result's, from which a vector's axis is gone
    first, second = leading(sa[-2:], ta[-2:]), leading(sb[-2:], tb[-2:])
    starts = list(zip(stacks(sa, ta, batch), stacks(sb, tb, batch), strict=True))
    if first is None or second is None or len(starts) > MOST_CALLS:
        return False
    m, k, n = sa[-2], sa[-1], sb[-1]
    size = 4 if kind == "float" else 8
    own = smallproducts.function(smallproducts.Matrices(m, k, n, strided(sa, ta), strided(sb, tb)), kind)
    if own is not None:
        w.definitions |= own.writer.definitions | {own.name: own.text()}
        for count, (start_a, start_b) in enumerate(starts):
            places = (
                moved(w, pointer(node), count * m * n * size),
                moved(w, pointer(left), (a0 + start_a) * size),
                moved(w, pointer(right), (b0 + start_b) * size),
            )
            w.say(f"call void @{own.name}({', '.join(f'ptr {place}' for place in places)})")
        return True
    symbol = blas("sgemm" if kind == "float" else "dgemm")
    w.definitions[symbol] = f"declare void @{symbol}({', '.join(['ptr'] * 13)})\n"
    for count, (start_a, start_b) in enumerate(starts):
        operands = [
            constant(w, "i8", ord(second[0])),
            constant(w, "i8", ord(first[0])),
            *[constant(w, "i32", number) for number in (n, m, k)],
            constant(w, kind, "1.0"),
            moved(w, pointer(right), (b0 + start_b) * size),
            constant(w, "i32", second[1]),
            moved(w, pointer(left), (a0 + start_a) * size),
            constant(w, "i32", first[1]),
            constant(w, kind, "0.0"),
            moved(w, pointer(node), count * m * n * size),
            constant(w, "i32", n),
        ]
        w.say(f"call void @{symbol}({', '.join(f'ptr {operand}' for operand in operands)})")
    return True


def constant(w: Writer, kind: str, value: Any) -> str:
    """Where a number is, which BLAS wants to be told."""
    name = f"@c.{kind}.{str(value).replace('.', '_')}"
    w.definitions[name] = f"{name} = internal constant {kind} {value}\n"
    return name


def moved(w: Writer, pointer: str, count: int) -> str:
    """An address further on."""
    return w.put(f"getelementptr i8, ptr {pointer}, i64 {count}") if count else pointer
