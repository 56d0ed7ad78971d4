"""Operations that move numbers, as machine code: pieces put side by side, written or added into an array, a row read
at a place that is known only when it runs.

In: a node. Out: the text of a function for it, or None where NumPy executes it.
"""

import math
from typing import Any

import numpy

from tapegrad.compile.elementary import BYTES, MEMORY, Writer
from tapegrad.compile.fusion import KINDS, contiguous, is_splat, view_of
from tapegrad.compile.symbol import Node, number_of, single
from tapegrad.tensor.rules.shapes import is_basic

# Rows up to this length are one value to LLVM, which splits it into vectors; longer ones are a loop over such.
WIDE = 64


def operands_of(node: Node) -> list[Node]:
    """The arrays that the function for a node reads, in order."""
    return [x for x in node.operands if not is_splat(x)]


def function_for(name: str, node: Node) -> tuple[str, dict[str, str]] | None:
    """A function of the result's place and the operands', and what it calls."""
    if str(node.dtype) not in KINDS or 0 in node.shape or any(0 in x.shape for x in node.operands):
        return None
    if any(x.op != "broadcast_to" and view_of(x) is None for x in node.operands):
        return None
    writing = Moving(node)
    match node.op:
        case "concatenate":
            done = writing.side_by_side()
        case "put":
            done = writing.written(node.settings, False)
        case "add_at":
            done = writing.written(node.settings[0], True) if node.settings[1] or single(node.settings[0]) else False
        case "getitem":
            done = writing.row()
        case _:
            return None
    return (writing.text(name), writing.w.definitions) if done else None


class Moving:
    """One function while it is being written."""

    def __init__(self, node: Node):
        self.node = node
        self.w = Writer()
        self.allocated: list[str] = []
        self.element = KINDS[str(node.dtype)]
        self.memory = MEMORY[self.element]
        self.size = BYTES[self.element]
        self.name = {id(x): f"%x{k}" for k, x in enumerate(operands_of(node))}

    def text(self, name: str) -> str:
        """The function."""
        names = ["ptr %out", *[f"ptr %x{k}" for k in range(len(operands_of(self.node)))]]
        header = f"define internal void @{name}({', '.join(names)}) nounwind {{"
        return "\n".join([header, "entry:", *self.allocated, *self.w.lines, "ret void", "}", ""])

    def counter(self) -> str:
        """A variable."""
        name = f"%{self.w.name('a')}"
        self.allocated.append(f"{name} = alloca i64")
        return name

    # ---- what is moved

    def side_by_side(self) -> bool:
        """Operands one after the other."""
        axis = self.node.settings % len(self.node.shape)
        strides = contiguous(self.node.shape)
        start = 0
        for x in self.node.operands:
            self.copy("%out", start * strides[axis], strides, x, x.shape)
            start += x.shape[axis]
        return True

    def written(self, index: Any, adding: bool) -> bool:
        """An array with another one at a place, or added there."""
        x, value = self.node.operands[:2]
        strides = contiguous(self.node.shape)
        if single(index) and not self.node.operands[2].shape:
            if str(self.node.operands[2].dtype) not in KINDS:
                return False
            self.copy("%out", 0, strides, x, x.shape)
            start = self.row_start(self.node.operands[2], self.node.shape)
            shape, inner = self.node.shape[1:], strides[1:]
            place = self.w.put(f"getelementptr i8, ptr %out, i64 {start}")
            self.copy(place, 0, inner, value, shape, adding)
            return True
        if not is_basic(index):
            return False
        seen = numpy.lib.stride_tricks.as_strided(numpy.zeros(1, numpy.int8), self.node.shape, strides)
        start_of = seen.__array_interface__["data"][0]
        part = seen[(*index, ...) if type(index) is tuple and Ellipsis not in index else index]
        if type(part) is not numpy.ndarray:  # one number
            part = seen[(*(index if type(index) is tuple else (index,)), ...)]
        offset = part.__array_interface__["data"][0] - start_of
        self.copy("%out", 0, strides, x, x.shape)
        self.copy("%out", offset, part.strides, value, part.shape, adding)
        return True

    def row(self) -> bool:
        """One row of an array."""
        if not single(self.node.settings) or self.node.operands[1].shape or is_splat(self.node.operands[0]):
            return False
        x, index = self.node.operands
        if str(index.dtype) not in KINDS or self.view(x)[2] != contiguous(x.shape):
            return False
        start = self.row_start(index, x.shape)
        place = self.w.put(f"getelementptr i8, ptr {self.name[id(x)]}, i64 {start}")
        self.run("%out", place, math.prod(self.node.shape), 1, 1, False, None)
        return True

    def row_start(self, index: Node, shape: tuple[int, ...]) -> str:
        """Where a row starts, in bytes; a number outside stays inside, and is an error by a check of its own."""
        w = self.w
        number = number_of(index)
        kind = KINDS[str(index.dtype)]
        if number is not None:
            wide = str(int(number))
        else:
            wide = w.put(f"load {kind}, ptr {self.name[id(index)]}")
            wide = wide if kind == "i64" else w.put(f"sext {kind} {wide} to i64")
        behind = w.put(f"icmp slt i64 {wide}, 0")
        after = w.put(f"add i64 {wide}, {shape[0]}")
        place = w.put(f"select i1 {behind}, i64 {after}, i64 {wide}")
        place = w.intrinsic("llvm.umin.i64", "i64", [("i64", place), ("i64", str(shape[0] - 1))])
        return w.put(f"mul i64 {place}, {math.prod(shape[1:]) * self.size}")

    # ---- how

    def view(self, x: Node) -> tuple[Node, int, tuple[int, ...]]:
        """Where an operand lies, and its strides."""
        return view_of(x) or (x, 0, contiguous(x.shape))

    def copy(
        self, target: str, offset: int, strides: tuple[int, ...], x: Node, shape: tuple[int, ...], adding: bool = False
    ) -> None:
        """Numbers of an operand, repeated to a shape, to places of an array; the operand's address is its view's."""
        number = number_of(x)
        splat = number if is_splat(x) else None
        steps = (0,) * len(x.shape) if splat is not None else self.view(x)[2]
        missing = len(shape) - len(x.shape)
        own = (0,) * missing + tuple([0 if n == 1 else s for n, s in zip(x.shape, steps, strict=True)])
        lengths, outer, inner = merged(shape, strides, own)
        source = "" if splat is not None else self.name[id(x)]
        start = self.w.put(f"getelementptr {self.memory}, ptr {target}, i64 {offset}") if offset else target
        self.loops(lengths, outer, inner, start, source, adding, splat)

    def loops(
        self,
        lengths: list[int],
        outer: list[int],
        inner: list[int],
        target: str,
        source: str,
        adding: bool,
        splat: Any,
    ) -> None:
        """Loops over all axes but the last."""
        w = self.w
        if len(lengths) <= 1:
            length, step, own = (lengths[0], outer[0], inner[0]) if lengths else (1, 1, 1)
            self.run(target, source, length, step, own, adding, splat)
            return
        loop, done = w.name("axis"), w.name("end")
        counter = self.counter()
        w.say(f"store i64 0, ptr {counter}")
        w.say(f"br label %{loop}")
        w.say(f"{loop}:")
        at = w.put(f"load i64, ptr {counter}")
        moved = w.put(f"getelementptr {self.memory}, ptr {target}, i64 {w.put(f'mul i64 {at}, {outer[0]}')}")
        read = source and w.put(f"getelementptr {self.memory}, ptr {source}, i64 {w.put(f'mul i64 {at}, {inner[0]}')}")
        self.loops(lengths[1:], outer[1:], inner[1:], moved, read, adding, splat)
        following = w.put(f"add i64 {at}, 1")
        w.say(f"store i64 {following}, ptr {counter}")
        w.say(f"br i1 {w.put(f'icmp ult i64 {following}, {lengths[0]}')}, label %{loop}, label %{done}")
        w.say(f"{done}:")

    def run(self, target: str, source: str, length: int, step: int, own: int, adding: bool, splat: Any) -> None:
        """One row: in vectors where it lies close together, else number by number."""
        w = self.w
        close = step == 1 and (own in (0, 1) or splat is not None)
        width = min(length, WIDE) if close else 1
        full = length // width
        if full == 1:
            self.vector(target, source, width, own, adding, splat)
        else:
            loop, done = w.name("row"), w.name("end")
            counter = self.counter()
            w.say(f"store i64 0, ptr {counter}")
            w.say(f"br label %{loop}")
            w.say(f"{loop}:")
            at = w.put(f"load i64, ptr {counter}")
            moved = w.put(f"getelementptr {self.memory}, ptr {target}, i64 {w.put(f'mul i64 {at}, {width * step}')}")
            read = source and w.put(
                f"getelementptr {self.memory}, ptr {source}, i64 {w.put(f'mul i64 {at}, {width * own}')}"
            )
            self.vector(moved, read, width, own, adding, splat)
            following = w.put(f"add i64 {at}, 1")
            w.say(f"store i64 {following}, ptr {counter}")
            w.say(f"br i1 {w.put(f'icmp ult i64 {following}, {full}')}, label %{loop}, label %{done}")
            w.say(f"{done}:")
        left = length - full * width
        if left:
            moved = w.put(f"getelementptr {self.memory}, ptr {target}, i64 {full * width * step}")
            read = source and w.put(f"getelementptr {self.memory}, ptr {source}, i64 {full * width * own}")
            self.vector(moved, read, left, own, adding, splat)

    def vector(self, target: str, source: str, width: int, own: int, adding: bool, splat: Any) -> None:
        """A few numbers next to each other."""
        w = self.w
        kind = f"<{width} x {self.memory}>"
        if splat is not None:
            value = w.number(splat, self.memory, width)
        elif own == 0 and width > 1:
            value = w.splat(w.put(f"load {self.memory}, ptr {source}"), self.memory, width)
        else:
            value = w.put(f"load {kind}, ptr {source}, align {self.size}")
        if adding:
            before = w.put(f"load {kind}, ptr {target}, align {self.size}")
            value = w.put(f"{'fadd' if self.element in ('float', 'double') else 'add'} {kind} {before}, {value}")
        w.say(f"store {kind} {value}, ptr {target}, align {self.size}")


def merged(
    shape: tuple[int, ...], strides: tuple[int, ...], own: tuple[int, ...]
) -> tuple[list[int], list[int], list[int]]:
    """Axes of more than one place, neighbours as one where both arrays go on evenly."""
    lengths: list[int] = []
    outer: list[int] = []
    inner: list[int] = []
    for n, step, other in zip(shape, strides, own, strict=True):
        if n == 1:
            continue
        if lengths and outer[-1] == step * n and inner[-1] == other * n:
            lengths[-1] *= n
            outer[-1], inner[-1] = step, other
            continue
        lengths.append(n)
        outer.append(step)
        inner.append(other)
    return lengths, outer, inner
