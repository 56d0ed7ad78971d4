"""Pieces of symbols: indices, whose arrays become operands, and slices whose gradients fill an array again.

In: an index, or a node that was added to piece by piece. Out: settings of a node; or the pieces, side by side.
"""

from typing import Any

import numpy

from tapegrad.compile.elements import cast
from tapegrad.compile.fusion import is_splat
from tapegrad.compile.symbol import Node, Place, Symbol, namespaces, node_of, number_of, single
from tapegrad.errors import TraceError


def taken_apart(index: Any, operands: list[Node]) -> Any:
    """An index with its arrays as operands of the node."""
    if type(index) is numpy.ndarray and index.dtype.kind == "b" and index.ndim:
        index = numpy.nonzero(index)  # which places these are is known
    if type(index) is tuple:
        parts: list[Any] = []
        for part in index:
            known = type(part) is numpy.ndarray and part.dtype.kind == "b" and part.ndim
            parts += numpy.nonzero(part) if known else (part,)
        return tuple([taken_apart(part, operands) for part in parts])
    if type(index) is Symbol or (hasattr(index, "dtype") and getattr(index, "shape", None)):
        if index.dtype.kind == "b" and type(index) is Symbol:
            raise TraceError(
                "indexing with a condition gives as many numbers as it finds true, which is not known while jit "
                "traces; write tapegrad.tensor.where(condition, x, 0)"
            )
        operands.append(node_of(index))
        return Place(len(operands) - 1)
    return index.item() if isinstance(index, numpy.generic) else index


def indexed(index: Any, operands: list[Node]) -> Any:
    """An index with its arrays as operands of the node, a single integer among them as an int64."""
    settings = taken_apart(index, operands)
    if single(settings) and not operands[-1].shape and operands[-1].dtype.kind in "iu":
        operands[-1] = cast(Symbol(operands[-1]), numpy.int64)
    return settings


def side_by_side(node: Node) -> tuple[tuple[Node, ...], int] | None:
    """Parts that were added to zeros one after the other and fill an axis, in order, and that axis; None if they are
    anything else. That is what the gradients of an array's slices come to."""
    shape, parts, axis = node.shape, {}, None
    while node.op == "add_at" and node.settings[1]:
        index = node.settings[0] if type(node.settings[0]) is tuple else (node.settings[0],)
        value = node.operands[1]
        places = [k for k, part in enumerate(index) if type(part) is int]
        if len(places) == 1 and len(value.shape) == len(shape) - 1 and places[0] < len(shape):
            (k,) = places  # one place of an axis, as a slice of one
            first = index[k] % shape[k]
            index = (*index[:k], slice(first, first + 1), *index[k + 1 :])
            value = namespaces[0].reshape(Symbol(value), (*value.shape[:k], 1, *value.shape[k:])).node
        if len(index) > len(shape) or not all(type(part) is slice and part.step in (None, 1) for part in index):
            return None
        reach = [part.indices(n)[:2] for part, n in zip(index, shape, strict=False)]
        cut = [k for k, (start, end) in enumerate(reach) if (start, end) != (0, shape[k])]
        if len(cut) != 1 or axis not in (None, cut[0]) or value.shape[cut[0] : cut[0] + 1] == ():
            return None
        axis = cut[0]
        start, end = reach[axis]
        if value.shape != (*shape[:axis], end - start, *shape[axis + 1 :]) or start in parts:
            return None
        parts[start] = value
        node = node.operands[0]
    if axis is None or number_of(node) != 0 or not is_splat(node):
        return None
    end = 0
    for start in sorted(parts):
        if start != end:
            return None
        end += parts[start].shape[axis]
    return (tuple([parts[start] for start in sorted(parts)]), axis) if end == shape[axis] else None
