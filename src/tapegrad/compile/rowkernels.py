"""Kernels: a group of operations as one loop over rows, in explicit vectors.

In: a group of nodes, and which of them others need. Out: a function of LLVM that reads and writes each array once. A
row is what lies next to each other in memory; where an operation needs the sum or the largest of a row, the row is gone
through again, out of the core's cache. What a later pass needs is computed again if that is cheap, else kept in a row
of its own.
"""

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from tapegrad.compile.elementary import DEAR, MEMORY, Writer, literal
from tapegrad.compile.fusion import Group, is_splat
from tapegrad.compile.operations import REDUCTIONS
from tapegrad.compile.rowlayout import CHUNK, Access, RowLayout, element_of
from tapegrad.compile.rowsums import IDENTITY, Sums
from tapegrad.compile.rowvectors import RowVectors
from tapegrad.compile.sharing import COMBINED, Shared
from tapegrad.compile.symbol import Node

# A loop over more nodes than this hides the latency of its instructions by itself; several vectors in one go would only
# be more to compile.
LONG = 64


@dataclass
class Kernel:
    """A function of LLVM, and the arrays that it takes, in order."""

    text: str
    definitions: dict[str, str]
    arrays: list[Node]
    scratch_bytes: int
    over: list[tuple[Node, Node]]  # what may be written (second) over what it reads (first)
    shared: Shared | None  # how threads do it together


@dataclass
class Work:
    """What one pass over a row computes: reductions, what is written, what is kept for a later pass; and the variables
    that the reductions of a row are added up in."""

    sums: list[Node]
    stores: list[Node]
    kept: list[Node]
    accumulators: dict[int, list[str]]


class RowKernel(RowLayout):
    """One kernel while it is being written."""

    def __init__(self, name: str, group: Group, stored: Container[int], threads: int):
        super().__init__(group, stored, threads)
        self.name = name
        self.writer = Writer()
        self.allocated: list[str] = []
        self.summing = Sums(self.writer, self.lanes, self.allocate)
        self.vector = RowVectors(self.writer, self.lanes, self.inner)

    # ---- the function

    def written(self) -> Kernel:
        """The kernel."""
        w, bases = self.writer, self.bases
        self.pointer = {id(node): f"%b{k}" for k, node in enumerate(bases)}
        over = self.written_over()
        shared = {id(node) for pair in over for node in pair}
        words = [f"ptr {'' if id(node) in shared else 'noalias '}%b{k}" for k, node in enumerate(bases)]
        parts = ["i64 %begin", "i64 %end"] if self.parts > 1 else []
        parameters = ", ".join([*words, "ptr noalias %scratch", *parts])
        header = f"define internal void @{self.name}({parameters}) nounwind {{"
        self._start_totals()
        self.index: list[str] = []
        self._loop_over_rows(0)
        self._end_totals()
        w.say("ret void")
        text = "\n".join([header, "entry:", *self.allocated, *w.lines, "}", ""])
        if self.parts == 1:
            return Kernel(text, w.definitions, bases, self.scratch_bytes, over, None)
        together = self.shared(self.name)
        return Kernel(text + together.text(), w.definitions, bases, together.scratch_bytes, over, together)

    def allocate(self, kind: str) -> str:
        """A variable."""
        name = f"%{self.writer.name('a')}"
        self.allocated.append(f"{name} = alloca {kind}, align 64")
        return name

    def _loop_over_rows(self, depth: int) -> None:
        if depth >= len(self.lengths) - 1:
            self._row()
            return
        w = self.writer
        counter = self.allocate("i64")
        loop, after = w.name("rows"), w.name("done")
        divided = self.parts > 1 and depth == 0
        w.say(f"store i64 {'%begin' if divided else 0}, ptr {counter}")
        w.say(f"br label %{loop}")
        w.say(f"{loop}:")
        self.index.append(w.put(f"load i64, ptr {counter}"))
        self._loop_over_rows(depth + 1)
        following = w.put(f"add i64 {self.index.pop()}, 1")
        w.say(f"store i64 {following}, ptr {counter}")
        more = w.put(f"icmp ult i64 {following}, {'%end' if divided else self.lengths[depth]}")
        w.say(f"br i1 {more}, label %{loop}, label %{after}")
        w.say(f"{after}:")

    def _start(self, access: Access) -> str:
        """Where an array's part of this row starts, in numbers."""
        w = self.writer
        place = str(access.offset)
        for depth, index in enumerate(self.index):
            stride = access.strides[self.last[depth]]
            if stride:
                step = w.put(f"mul i64 {index}, {stride}")
                place = w.put(f"add i64 {place}, {step}")
        return place

    def _row(self) -> None:
        w = self.writer
        self.rows: dict[int, str] = {}
        self.values: dict[int, str] = {}  # of what is the same in the whole row
        for key, access in (*self.loads.items(), *self.stores.items()):
            start = self._start(access)
            if access.node.op == "arange":
                self.rows[key] = start
            else:
                memory = MEMORY[element_of(access.node)]
                self.rows[key] = w.put(f"getelementptr {memory}, ptr {self.pointer[id(access.node)]}, i64 {start}")
        for x in self.outside:  # here, so that no loop hides them from the next
            if not self.varies(x):
                self._one(x)
        self._between(0)
        for number in range(self.passes):
            self._pass(number)
            self._between(number + 1)

    def _between(self, phase: int) -> None:
        """What there is one of in a row and is known before this pass."""
        for node in self.group.nodes:
            if self.phase[id(node)] != phase or self.in_loop(node):
                continue
            if node.op in REDUCTIONS:
                if not self.ends_with_row(node):
                    if not self.varies(node.operands[0]) and not self.varies(node):
                        self._add_to_total(node, self._one(node.operands[0]))
                    continue
                if phase > 0 and id(node) not in self.values and not self.of_rows_only(node):
                    continue
            elif id(node) not in self.values:
                self.values[id(node)] = self._computed(node, lambda x: self._one(x), 0)
            if id(node) in self.stores:
                self._store_number(self.values[id(node)], element_of(node), self.rows[id(node)])

    def _store_number(self, value: str, element: str, pointer: str) -> None:
        w = self.writer
        if element == "i1":
            value = w.put(f"zext i1 {value} to i8")
        w.say(f"store {MEMORY[element]} {value}, ptr {pointer}")

    def _one(self, x: Node) -> str:
        """The number of a node that is the same in the whole row."""
        number = self._splat_number(x)
        if number is not None:
            return literal(number, element_of(x))
        if id(x) not in self.values:
            w = self.writer
            access = self.loads[id(x)]
            element = element_of(x)
            if access.node.op == "arange":
                self.values[id(x)] = self.rows[id(x)]
            else:
                value = w.put(f"load {MEMORY[element]}, ptr {self.rows[id(x)]}")
                if element == "i1":
                    value = w.put(f"icmp ne i8 {value}, 0")
                self.values[id(x)] = value
        return self.values[id(x)]

    def _splat_number(self, x: Node) -> Any:
        if not is_splat(x):
            return None
        while x.op != "constant":
            x = x.operands[0]
        return x.settings

    def _computed(self, node: Node, operand: Any, lanes: int) -> str:
        elements = [element_of(x) for x in node.operands]
        return self.writer.operation(node.op, elements, [operand(x) for x in node.operands], element_of(node), lanes)

    # ---- a pass over a row

    def _pass(self, number: int) -> None:
        """The loop over a row: what is stored and reduced in this pass, and what that needs."""
        sums = [n for n in self.reductions if self._reads_in(n, number)]
        stores = [n for n in self.stored if self.in_loop(n) and self.phase[id(n)] == number]
        kept = [n for n in self.group.nodes if id(n) in self.kept and self.phase[id(n)] == number]
        if not (sums or stores or kept):
            return
        w = self.writer
        length, lanes = self.length, self.lanes
        row_sums = [n for n in sums if self.ends_with_row(n)]
        whole: dict[int, tuple[str, str]] = {}  # what a row's chunks were added up to
        for node in row_sums:
            whole[id(node)] = self.summing.new_total(node.op)
        chunks = length > CHUNK and any(n.op == "sum" for n in row_sums)
        divided = self.parts > 1 and len(self.lengths) == 1
        start, end = ("%begin", "%end") if divided else ("0", str(length))
        limit = end
        if chunks:
            place = self.allocate("i64")
            w.say(f"store i64 {start}, ptr {place}")
            chunk, done = w.name("chunk"), w.name("chunked")
            w.say(f"br label %{chunk}")
            w.say(f"{chunk}:")
            start = w.put(f"load i64, ptr {place}")
            reach = w.put(f"add i64 {start}, {CHUNK}")
            end = w.intrinsic("llvm.umin.i64", "i64", [("i64", reach), ("i64", limit)])
        several = 4 if not any(n.op in DEAR for n in self._needed(sums + stores + kept)) else 2
        if len(self.group.nodes) > LONG:
            several = 1
        while several > 1 and several * lanes > length:
            several //= 2
        accumulators = {
            id(n): [self.summing.accumulator(n.op, element_of(n)) for _ in range(several)] for n in row_sums
        }
        work = Work(sums, stores, kept, accumulators)
        self._loop(start, end, several, work)
        for node in row_sums:
            partial = self.summing.gathered(node.op, element_of(node), work.accumulators[id(node)])
            self.summing.add(whole[id(node)], node.op, element_of(node), partial)
        if chunks:
            w.say(f"store i64 {end}, ptr {place}")
            more = w.put(f"icmp ult i64 {end}, {limit}")
            w.say(f"br i1 {more}, label %{chunk}, label %{done}")
            w.say(f"{done}:")
        for node in row_sums:
            total = self.summing.read_total(whole[id(node)], element_of(node))
            if self.of_rows_only(node):
                self.values[id(node)] = total
            else:
                self._add_to_total(node, total)

    def _reads_in(self, node: Node, number: int) -> bool:
        """Whether a reduction takes part in a pass."""
        if self.ends_with_row(node):
            return self.phase[id(node)] == number + 1
        return self.varies(node) and self.phase[id(node)] == number

    def _needed(self, roots: list[Node]) -> list[Node]:
        needed: list[Node] = []
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if id(node) in self.group.members and not any(node is other for other in needed):
                needed.append(node)
                waiting += node.operands
        return needed

    def _loop(self, start: str, end: str, several: int, work: Work) -> None:
        """Vectors, several at a time, then one at a time with a mask for what is left."""
        w, lanes = self.writer, self.lanes
        place = self.allocate("i64")
        w.say(f"store i64 {start}, ptr {place}")
        known = start == "0"
        step = several * lanes
        if not known or int(end) >= step:
            full, after = w.name("full"), w.name("rest")
            if known:
                limit = str(int(end) - step)
                w.say(f"br label %{full}")
            else:
                limit = w.put(f"sub i64 {end}, {step}")
                enough = w.put(f"icmp sle i64 {start}, {limit}")
                w.say(f"br i1 {enough}, label %{full}, label %{after}")
            w.say(f"{full}:")
            at = w.put(f"load i64, ptr {place}")
            for k in range(several):
                here = at if k == 0 else w.put(f"add i64 {at}, {k * lanes}")
                self._vector(here, None, work, k)
            self.vector.store_waiting()
            following = w.put(f"add i64 {at}, {step}")
            w.say(f"store i64 {following}, ptr {place}")
            more = w.put(f"icmp sle i64 {following}, {limit}")
            w.say(f"br i1 {more}, label %{full}, label %{after}")
            w.say(f"{after}:")
            if known and int(end) % step == 0:
                return
        masked, done = w.name("masked"), w.name("end")
        at = w.put(f"load i64, ptr {place}")
        left_over = w.put(f"icmp slt i64 {at}, {end}")
        w.say(f"br i1 {left_over}, label %{masked}, label %{done}")
        w.say(f"{masked}:")
        at = w.put(f"load i64, ptr {place}")
        left = w.put(f"sub i64 {end}, {at}")
        few = w.put(f"trunc i64 {left} to i32")
        fewer = w.intrinsic("llvm.smin.i32", "i32", [("i32", few), ("i32", str(lanes))])
        numbers = w.splat(fewer, "i32", lanes)
        lane = ", ".join(f"i32 {k}" for k in range(lanes))
        mask = w.put(f"icmp slt <{lanes} x i32> <{lane}>, {numbers}")
        self._vector(at, mask, work, 0)
        self.vector.store_waiting()
        following = w.put(f"add i64 {at}, {lanes}")
        w.say(f"store i64 {following}, ptr {place}")
        more = w.put(f"icmp slt i64 {following}, {end}")
        w.say(f"br i1 {more}, label %{masked}, label %{done}")
        w.say(f"{done}:")

    def _vector(self, at: str, mask: str | None, work: Work, which: int) -> None:
        """One vector of everything."""
        w, lanes = self.writer, self.lanes
        self.vector.at, self.vector.mask = at, mask
        self.computed: dict[int, str] = {}  # of this vector
        current = max([self.pass_of(n) for n in (*work.sums, *work.stores, *work.kept)])
        for node in work.kept:
            kind = w.kind(MEMORY[element_of(node)], lanes)
            where = self._scratch_place(node)
            w.say(f"store {kind} {self.vector.as_memory(self._value(node, current), node)}, ptr {where}, align 1")
        for node in work.stores:
            self.vector.store(node, self.rows[id(node)], self._value(node, current))
        for node in work.sums:
            element = element_of(node)
            kind = w.kind(element, lanes)
            value = self._value(node.operands[0], current)
            if not self.ends_with_row(node):
                if id(node) in self.stores:
                    before = self.vector.load(self.stores[id(node)], self.rows[id(node)], element)
                    added = w.operation(COMBINED[node.op], [element] * 2, [before, value], element, lanes)
                    self.vector.store(node, self.rows[id(node)], added)
                continue
            accumulator = work.accumulators[id(node)][which]
            before = w.put(f"load {kind}, ptr {accumulator}")
            after = w.operation(COMBINED[node.op], [element] * 2, [before, value], element, lanes)
            if mask is not None:
                after = w.put(f"select <{lanes} x i1> {mask}, {kind} {after}, {kind} {before}")
            w.say(f"store {kind} {after}, ptr {accumulator}")

    def _scratch_place(self, node: Node) -> str:
        base = self.writer.put(f"getelementptr i8, ptr %scratch, i64 {self.kept[id(node)]}")
        return self.writer.put(f"getelementptr {MEMORY[element_of(node)]}, ptr {base}, i64 {self.vector.at}")

    def _value(self, x: Node, current: int) -> str:
        """A node's numbers in the vector that is being computed."""
        w, lanes = self.writer, self.lanes
        number = self._splat_number(x)
        if number is not None:
            return w.number(number, element_of(x), lanes)
        if id(x) in self.computed:
            return self.computed[id(x)]
        if not self.varies(x):
            value = w.splat(self._one(x), element_of(x), lanes)
        elif id(x) not in self.group.members:
            value = self.vector.load(self.loads[id(x)], self.rows[id(x)], element_of(x))
        elif id(x) in self.kept and self.phase[id(x)] < current:
            kind = w.kind(MEMORY[element_of(x)], lanes)
            value = w.put(f"load {kind}, ptr {self._scratch_place(x)}, align 1")
            if element_of(x) == "i1":
                value = w.put(f"icmp ne {kind} {value}, zeroinitializer")
        elif id(x) in self.stores and self.phase[id(x)] < current:
            value = self.vector.load(self.stores[id(x)], self.rows[id(x)], element_of(x))
        else:
            value = self._computed(x, lambda operand: self._value(operand, current), lanes)
        self.computed[id(x)] = value
        return value

    # ---- sums over rows

    def _start_totals(self) -> None:
        """Before the first row: accumulators for all rows, and zeros where rows are added up in memory."""
        self.totals: dict[int, tuple[str, str]] = {}
        for node in self.reductions:
            if id(node) not in self.stores or self.of_rows_only(node):
                continue
            if self.inner is None:
                continue
            if math.prod(node.shape) == 1:
                self.totals[id(node)] = self.summing.new_total(node.op)
            else:
                self._fill(node)

    def _fill(self, node: Node) -> None:
        w, element = self.writer, element_of(node)
        place, loop, done = self.allocate("i64"), w.name("fill"), w.name("filled")
        w.say(f"store i64 0, ptr {place}")
        w.say(f"br label %{loop}")
        w.say(f"{loop}:")
        at = w.put(f"load i64, ptr {place}")
        pointer = w.put(f"getelementptr {element}, ptr {self.pointer[id(node)]}, i64 {at}")
        w.say(f"store {element} {literal(IDENTITY[node.op], element)}, ptr {pointer}")
        following = w.put(f"add i64 {at}, 1")
        w.say(f"store i64 {following}, ptr {place}")
        more = w.put(f"icmp ult i64 {following}, {math.prod(node.shape)}")
        w.say(f"br i1 {more}, label %{loop}, label %{done}")
        w.say(f"{done}:")

    def _add_to_total(self, node: Node, value: str) -> None:
        """A row's number, into what all rows are added up to."""
        if id(node) not in self.stores:
            return
        w, element = self.writer, element_of(node)
        if id(node) in self.totals:
            self.summing.add(self.totals[id(node)], node.op, element, value)
            return
        pointer = self.rows[id(node)]
        if self.inner is None:
            w.say(f"store {element} {value}, ptr {pointer}")
            return
        before = w.put(f"load {element}, ptr {pointer}")
        after = w.operation(COMBINED[node.op], [element] * 2, [before, value], element, 0)
        w.say(f"store {element} {after}, ptr {pointer}")

    def _end_totals(self) -> None:
        w = self.writer
        for key, total in self.totals.items():
            access = self.stores[key]
            element = element_of(access.node)
            value = self.summing.read_total(total, element)
            w.say(f"store {element} {value}, ptr {self.pointer[id(access.node)]}")


def kernel(name: str, group: Group, stored: Container[int], threads: int = 1) -> Kernel:
    """The kernel of a group; stored: the identities of the nodes that others need; threads: how many may share it."""
    return RowKernel(name, group, stored, threads).written()
