"""Fusion: which operations of a traced function share one pass over memory.

In: nodes, operands first. Out: groups of them, in an order in which they can be executed. A group of elementwise
operations and reductions becomes one kernel (rowkernels.py); any other operation is alone. Values that only their own
group reads never reach memory.
"""

import math
from collections.abc import Callable

import numpy

from tapegrad.compile.operations import REDUCTIONS, VIEWS
from tapegrad.compile.symbol import Node

KINDS = {"float32": "float", "float64": "double", "int64": "i64", "int32": "i32", "bool": "i1"}
FLOATS = {
    *("negative", "exp", "expm1", "log", "log1p", "sqrt", "square", "sin", "cos", "tanh", "absolute", "sign", "erf"),
    *("add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "isfinite"),
}
INTEGERS = {"add", "subtract", "multiply", "negative"}
COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
LOGIC = {"bitwise_and", "bitwise_or", "invert"}
# Made wherever they are needed: no memory, and no pass.
FREE = {"constant", "arange"}


def is_splat(node: Node) -> bool:
    """Whether a node is one known number, repeated."""
    while node.op == "broadcast_to":
        node = node.operands[0]
    return node.op == "constant"


def fusible(node: Node) -> bool:
    """Whether a kernel can compute a node."""
    operands = node.operands
    if (node.op in VIEWS and node.op != "broadcast_to") or not operands:
        return False
    if any(str(x.dtype) not in KINDS for x in (node, *operands)) or 0 in node.shape:
        return False
    if any(0 in x.shape for x in operands):
        return False
    if node.op in ("broadcast_to", "where", "copy"):
        return True
    if node.op == "astype":
        return bool(operands[0].dtype.kind != "f" or node.dtype.kind == "f")
    kind = operands[0].dtype.kind
    if node.op in REDUCTIONS:
        return bool(kind == "f")
    if node.op in COMPARISONS:
        return bool(kind in "fi")
    return node.op in (FLOATS if kind == "f" else LOGIC if kind == "b" else INTEGERS)


class Group:
    """Nodes that are executed together: a kernel's, or one node."""

    def __init__(self, number: int, space: tuple[int, ...] | None):
        self.number = number
        self.space = space  # the shape that a kernel loops over; None for a node that is alone
        self.nodes: list[Node] = []
        self.members: set[int] = set()
        self.needs: set[int] = set()  # the groups that come before
        self.row: tuple[int, ...] | None = None  # the axes of its reductions whose results it uses itself

    def add(self, node: Node) -> None:
        """Takes a node in."""
        self.nodes.append(node)
        self.members.add(id(node))


def effective(space: tuple[int, ...]) -> list[int]:
    """The axes of a space that have more than one place."""
    return [k for k, n in enumerate(space) if n > 1]


def aligned(shape: tuple[int, ...], space: tuple[int, ...]) -> bool:
    """Whether an array of this shape is repeated to the space as it stands."""
    if len(shape) > len(space):
        return False
    return all(n in (1, m) for n, m in zip(shape[::-1], space[::-1], strict=False))


class Fusion:
    """The groups of a function's nodes."""

    def __init__(self, nodes: list[Node], fits: Callable[[int], bool] = lambda _: True):
        self.fits = fits  # whether a kernel can have a row of such a length that it goes through again
        self.groups: list[Group] = []
        self.readers: dict[int, set[Group]] = {}  # by the identity of a node, the groups that read it in memory
        self.group_of: dict[int, Group] = {}  # by the identity of a node; views belong to what they show
        for node in nodes:
            self._place(node)

    def sources(self, node: Node) -> set[int]:
        """The groups that compute a node's operands, seen through views."""
        return {self.group_of[id(x)].number for x in node.operands if id(x) in self.group_of}

    def _place(self, node: Node) -> None:
        if node.op in ("input", "constant", "array") or (node.op in FREE) or is_splat(node):
            return
        if node.op == "part":  # of the results of a loop
            self._join(node, self.group_of[id(node.operands[0])])
            return
        if node.op in VIEWS and node.op != "broadcast_to" and view_of(node) is not None:
            owner = self.group_of.get(id(node.operands[0]))
            if owner is not None:
                self.group_of[id(node)] = owner
            return
        if not fusible(node):
            self._open(node, None)
            return
        space = node.operands[0].shape if node.op in REDUCTIONS else node.shape
        for group in self._candidates(node):
            if self._may_join(node, space, group):
                self._join(node, group)
                return
        self._open(node, space)

    def _candidates(self, node: Node) -> list[Group]:
        """Groups to join: those that compute the operands, those that read the same, and the latest; first those that
        have most of the operands already."""
        near = {self.group_of[id(x)] for x in node.operands if id(x) in self.group_of}
        reading = {group for x in node.operands for group in self.readers.get(id(x), ())}

        def shared(group: Group) -> int:
            here = [id(x) in group.members or group in self.readers.get(id(x), ()) for x in node.operands]
            return sum(here)

        return sorted(near | reading | set(self.groups[-8:]), key=lambda group: (-shared(group), -group.number))

    def _open(self, node: Node, space: tuple[int, ...] | None) -> None:
        group = Group(len(self.groups), space)
        self.groups.append(group)
        self._join(node, group)

    def _join(self, node: Node, group: Group) -> None:
        group.needs |= self.sources(node) - {group.number}
        group.add(node)
        for x in node.operands:
            if id(x) not in group.members and not is_splat(x):
                self.readers.setdefault(id(x), set()).add(group)
        self.group_of[id(node)] = group

    def _may_join(self, node: Node, space: tuple[int, ...], group: Group) -> bool:
        if group.space is None or len(group.nodes) >= 400:
            return False
        if group.space != space:
            small = math.prod(space) < math.prod(group.space)
            if not small or not aligned(space, group.space):
                return False
            # of a smaller array only what follows from a row: anything else would be computed again in every row
            if not any(id(x) in group.members for x in node.operands):
                return False
        row = group.row
        for x in node.operands:
            inside = id(x) in group.members
            if not inside and id(x) in self.group_of and self._reaches(self.group_of[id(x)], group):
                return False
            if not inside and self.group_of.get(id(x)) is group:
                return False  # a view of what the group itself computes
            if inside:
                row = self._row_for(x, group, row)
                if row == ():
                    return False
        if node.op in REDUCTIONS and space != group.space and row is None:
            return False
        group.row = row
        return True

    def _row_for(self, x: Node, group: Group, row: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """The axes of a group's rows if a node in it is to be read there; () if it is not known until the end."""
        if x.op not in REDUCTIONS:
            return row
        assert group.space is not None
        shift = len(group.space) - len(x.shape)
        axes = tuple([k + shift for k in x.settings if x.operands[0].shape[k] > 1])
        if not axes:
            return row
        wide = effective(group.space)
        if axes != tuple(wide[-len(axes) :]) or (row is not None and row != axes):
            return ()
        if not self.fits(math.prod([group.space[k] for k in axes])):
            return ()
        return axes

    def _reaches(self, start: Group, goal: Group) -> bool:
        """Whether a group needs another one, itself or through others."""
        if start is goal:
            return False
        waiting, seen = [start.number], set()
        while waiting:
            number = waiting.pop()
            if number == goal.number:
                return True
            if number not in seen:
                seen.add(number)
                waiting += self.groups[number].needs
        return False

    def ordered(self) -> list[Group]:
        """The groups, each after those that it needs."""
        done: set[int] = set()
        order: list[Group] = []
        for first in self.groups:
            waiting: list[tuple[int, bool]] = [(first.number, False)]
            while waiting:
                number, ready = waiting.pop()
                if number in done:
                    continue
                if ready:
                    done.add(number)
                    order.append(self.groups[number])
                    continue
                waiting.append((number, True))
                waiting += [(k, False) for k in self.groups[number].needs if k not in done]
        return order


def view_of(node: Node) -> tuple[Node, int, tuple[int, ...]] | None:
    """The node whose memory a view shows, where it starts there, and its strides, counted in numbers; None where its
    numbers must be moved."""
    chain = []
    while node.op in VIEWS and node.op != "broadcast_to":
        chain.append(node)
        node = node.operands[0]
    start = numpy.zeros(1, numpy.int8)
    seen = numpy.lib.stride_tricks.as_strided(start, node.shape, contiguous(node.shape))
    for view in reversed(chain):
        if view.op == "reshape":
            try:
                seen = seen.reshape(view.settings, copy=False)
            except ValueError:
                return None
        elif view.op == "transpose":
            seen = seen.transpose(view.settings)
        else:
            index = view.settings if type(view.settings) is tuple else (view.settings,)
            seen = seen[index if Ellipsis in index else (*index, ...)]  # never a number: there is no memory
    offset = seen.__array_interface__["data"][0] - start.__array_interface__["data"][0]
    return node, offset, tuple(seen.strides)


def memory_of(node: Node) -> Node:
    """The node whose memory holds a node's numbers."""
    while node.op in VIEWS and node.op != "broadcast_to" and not is_splat(node) and view_of(node) is not None:
        node = node.operands[0]
    return node


def on_space(space: tuple[int, ...], shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array along the axes of a space that it is broadcast to."""
    missing = len(space) - len(shape)
    return (0,) * missing + tuple([0 if n == 1 else s for n, s in zip(shape, strides, strict=True)])


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array in memory, in numbers."""
    strides = [1] * len(shape)
    for k in range(len(shape) - 2, -1, -1):
        strides[k] = strides[k + 1] * shape[k + 1]
    return tuple(strides)
