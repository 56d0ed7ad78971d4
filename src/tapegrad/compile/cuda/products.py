"""Products of matrices and of stacks of them: how the operands lie, as cuBLAS takes them, without copies.

In: a node. Out: the calls it takes, or None where the operands do not lie so.
"""

import math
from dataclasses import dataclass

import numpy

from tapegrad.compile.cuda.blas import REAL, Form
from tapegrad.compile.cuda.whole import Operand
from tapegrad.compile.fusion import contiguous, is_splat, view_of
from tapegrad.compile.products import leading, stacks
from tapegrad.compile.symbol import Node

# So many products of a stack that does not lie evenly become calls one after the other; of more, a copy is made.
MOST_CALLS = 64


@dataclass(frozen=True)
class Call:
    """One call of cuBLAS: its form, and how far behind the starts of left, right and result it begins, in bytes."""

    form: Form
    left: int
    right: int
    result: int


@dataclass(frozen=True)
class Product:
    """A product: where its operands' numbers are, and the calls for it."""

    node: Node
    left: Operand
    right: Operand
    calls: tuple[Call, ...]


def operand(x: Node) -> Operand:
    """Where an operand's numbers are."""
    view = None if is_splat(x) else view_of(x)
    base, offset, strides = (x, 0, contiguous(x.shape)) if view is None else view
    return Operand(base, offset, x.shape, strides)


def evenly(starts: list[tuple[int, int]], counts: tuple[int, ...]) -> tuple[int, int, int]:
    """How many matrices of a stack lie evenly, one after the other, and their steps; as many as possible."""
    for drop in range(len(counts) + 1):
        length = math.prod(counts[drop:])
        if length == 1:
            break
        step = starts[1][0] - starts[0][0], starts[1][1] - starts[0][1]
        runs = [starts[k : k + length] for k in range(0, len(starts), length)]
        even = all(run[k] == (run[0][0] + k * step[0], run[0][1] + k * step[1]) for run in runs for k in range(length))
        if even and min(step) >= 0:
            return length, *step
    return 1, 0, 0


def lies_evenly(x: Operand) -> bool:
    """Whether cuBLAS takes all matrices of a stack in one call."""
    if len(x.shape) < 2:
        return True
    starts = stacks(x.shape, x.strides, x.shape[:-2])
    step = starts[1] - starts[0] if len(starts) > 1 else 0
    return leading(x.shape[-2:], x.strides[-2:]) is not None and starts == [k * step for k in range(len(starts))]


def with_even_stacks(nodes: list[Node]) -> None:
    """Puts a copy before each operand of a product that cuBLAS takes only matrix by matrix, or not at all: a copy takes
    less than what many small calls lose. One that is used transposed too is copied once, as it lies."""
    copies: dict[object, Node] = {}
    for node in nodes:
        if node.op != "matmul" or str(node.dtype) not in REAL or 0 in node.shape:
            continue
        operands = []
        for x in node.operands:
            lying = operand(x)
            if 0 in x.shape or lies_evenly(lying):
                operands.append(x)
                continue
            swapped = lying.strides[-2] == 1 != lying.strides[-1]
            order = (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2)
            source = transposed(x, order) if swapped else x
            found = operand(source)
            key = id(found.base), found.offset, found.shape, found.strides
            copy = copies.get(key)
            if copy is None:
                copy = copies[key] = Node("copy", (source,), None, source.shape, source.dtype)
            operands.append(transposed(copy, order) if swapped else copy)
        node.operands = tuple(operands)


def transposed(x: Node, order: tuple[int, ...]) -> Node:
    """A view of an array with its axes in another order."""
    return Node("transpose", (x,), order, tuple([x.shape[k] for k in order]), x.dtype)


def product(node: Node, tf32: bool) -> Product | None:
    """The calls of cuBLAS for a product."""
    if str(node.dtype) not in REAL or 0 in node.shape or any(0 in x.shape for x in node.operands):
        return None
    left, right = operand(node.operands[0]), operand(node.operands[1])
    sa, ta, sb, tb = left.shape, left.strides, right.shape, right.strides
    if len(sa) == 1:
        sa, ta = (1, *sa), (0, *ta)
    if len(sb) == 1:
        sb, tb = (*sb, 1), (*tb, 0)
    if len(sb) == 2 and len(sa) > 2 and ta == contiguous(sa):  # a stack times one matrix is one tall product
        sa, ta = (math.prod(sa[:-1]), sa[-1]), (sa[-1], 1)
    batch = numpy.broadcast_shapes(sa[:-2], sb[:-2])
    first, second = leading(sa[-2:], ta[-2:]), leading(sb[-2:], tb[-2:])
    if first is None or second is None:
        return None
    starts = list(zip(stacks(sa, ta, batch), stacks(sb, tb, batch), strict=True))
    count, left_step, right_step = evenly(starts, batch)
    if len(starts) // count > MOST_CALLS:
        return None
    sizes, size = (sa[-2], sa[-1], sb[-1]), node.dtype.itemsize
    form = Form(sizes, (first, second), (count, left_step, right_step), str(node.dtype), tf32)
    calls = [
        Call(
            form,
            (left.offset + starts[k][0]) * size,
            (right.offset + starts[k][1]) * size,
            k * sizes[0] * sizes[2] * size,
        )
        for k in range(0, len(starts), count)
    ]
    flat = (Operand(left.base, left.offset, sa, ta), Operand(right.base, right.offset, sb, tb))
    return Product(node, *flat, tuple(calls))
