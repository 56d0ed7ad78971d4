"""Kernels: a group of operations as one loop over rows, in explicit vectors.

In: a group of nodes, and which of them others need. Out: a function of LLVM that reads and writes each array once. A
row is what lies next to each other in memory; where an operation needs the sum or the largest of a row, the row is gone
through again, out of the core's cache. What a later pass needs is computed again if that is cheap, else kept in a row
of its own.

Sums: several accumulators, added up after at most `CHUNK` numbers of a row into a double (or, for doubles, with the
rounding error carried along), so that a sum is at least as exact as NumPy's pairwise one.
"""

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from tapegrad.compile import llvm
from tapegrad.compile.elementary import DEAR, NAMES, Writer, literal
from tapegrad.compile.fusion import KINDS, Group, contiguous, is_splat, view_of
from tapegrad.compile.operations import REDUCTIONS
from tapegrad.compile.sharing import COMBINED, Shared, pays
from tapegrad.compile.symbol import Node

CHUNK = 4096
# A loop over more nodes than this hides the latency of its instructions by itself; several vectors in one go would only
# be more to compile.
LONG = 64
MEMORY = {"float": "float", "double": "double", "i64": "i64", "i32": "i32", "i1": "i8"}
BYTES = {"float": 4, "double": 8, "i64": 8, "i32": 4, "i1": 1}
IDENTITY = {"sum": 0.0, "max": -math.inf, "min": math.inf}


class UnsupportedGroupError(Exception):
    """A group that has no kernel; its operations are executed one by one."""


@dataclass
class Access:
    """An array that a kernel reads or writes: its node, where it starts, and a stride for each axis of the loops."""

    node: Node
    offset: int
    strides: tuple[int, ...]


@dataclass
class Kernel:
    """A function of LLVM, and the arrays that it takes, in order."""

    text: str
    definitions: dict[str, str]
    arrays: list[Node]
    scratch_bytes: int
    over: list[tuple[Node, Node]]  # what may be written (second) over what it reads (first)
    shared: Shared | None  # how threads do it together


def element_of(node: Node) -> str:
    """The type of a node's numbers in LLVM."""
    return KINDS[str(node.dtype)]


class RowKernel:
    """One kernel while it is being written."""

    def __init__(self, name: str, group: Group, stored: Container[int], threads: int):
        assert group.space is not None
        self.name = name
        self.group = group
        self.space = group.space
        self.stored = [node for node in group.nodes if id(node) in stored]
        self.writer = Writer()
        self.loads: dict[int, Access] = {}
        self._find_loads()
        self.stores: dict[int, Access] = {
            id(node): Access(node, 0, self._on_space(node.shape, contiguous(node.shape))) for node in self.stored
        }
        self.reductions = [node for node in group.nodes if node.op in REDUCTIONS]
        self._merge_axes()
        self._assign_phases()
        self.parts = self._parts(threads)

    # ---- what is read and written, and along which axes

    def _on_space(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
        missing = len(self.space) - len(shape)
        return (0,) * missing + tuple([0 if n == 1 else s for n, s in zip(shape, strides, strict=True)])

    def _find_loads(self) -> None:
        self.outside: list[Node] = []
        for node in self.group.nodes:
            for x in node.operands:
                if id(x) in self.group.members or id(x) in self.loads or is_splat(x):
                    continue
                self.outside.append(x)
                if x.op == "arange":
                    self.loads[id(x)] = Access(x, 0, self._on_space(x.shape, (1,)))
                    continue
                view = view_of(x)
                base, offset, strides = (x, 0, contiguous(x.shape)) if view is None else view
                self.loads[id(x)] = Access(base, offset, self._on_space(x.shape, strides))

    def _spread(self, node: Node) -> tuple[bool, ...]:
        """Along which axes of the space a node's numbers differ."""
        missing = len(self.space) - len(node.shape)
        return (False,) * missing + tuple([n > 1 for n in node.shape])

    def _reduced(self, node: Node) -> tuple[bool, ...]:
        missing = len(self.space) - len(node.shape)
        axes = {k + missing for k in node.settings}
        return tuple([k in axes for k in range(len(self.space))])

    def _merge_axes(self) -> None:
        """Neighbouring axes as one wherever every array goes on evenly from one to the other."""
        axes = [k for k, n in enumerate(self.space) if n > 1]
        patterns = [access.strides for access in (*self.loads.values(), *self.stores.values())]
        flags = [self._reduced(node) for node in self.reductions]
        flags += [self._spread(node) for node in self.group.nodes]
        self.lengths: list[int] = []
        self.last: list[int] = []  # the axis of the space whose stride a loop has
        row = set(self.group.row or ())
        for k in axes:
            if self.lengths:
                before = self.last[-1]
                evenly = all(p[before] == p[k] * self.space[k] for p in patterns)
                alike = all(f[before] == f[k] for f in flags) and (before in row) == (k in row)
                if evenly and alike:
                    self.lengths[-1] *= self.space[k]
                    self.last[-1] = k
                    continue
            self.lengths.append(self.space[k])
            self.last.append(k)
        if row and (not self.last or [k for k in self.last if k in row] != self.last[-1:]):
            raise UnsupportedGroupError
        self.length = self.lengths[-1] if self.lengths else 1
        self.inner = self.last[-1] if self.last else None
        self.vectors = self.length > 1
        wide = any(element_of(node) in ("double", "i64") and self.varies(node) for node in self.group.nodes)
        lanes = llvm.machine().lanes("float64" if wide else "float32")
        while lanes > 4 and lanes // 2 >= self.length:
            lanes //= 2
        self.lanes = lanes if self.vectors else 0

    def varies(self, node: Node) -> bool:
        """Whether a node differs within a row."""
        if self.inner is None:
            return False
        k = self.inner - len(self.space) + len(node.shape)
        if node.op in REDUCTIONS and id(node) in self.group.members:
            return k >= 0 and node.shape[k] > 1 and not self._reduced(node)[self.inner]
        return k >= 0 and node.shape[k] > 1

    def _assign_phases(self) -> None:
        """In which pass over its row each node can be computed."""
        self.phase: dict[int, int] = {}
        for node in self.group.nodes:
            phase = max([self.phase.get(id(x), 0) for x in node.operands], default=0)
            if node.op in REDUCTIONS and self._ends_with_row(node):
                phase += 1
            self.phase[id(node)] = phase
        self.passes = 1 + max([self.phase[id(n)] for n in self.group.nodes if self._in_loop(n)], default=0)

    def _ends_with_row(self, node: Node) -> bool:
        """Whether a reduction is complete, for its row, when the row is."""
        if self.inner is None:
            return False
        return self._reduced(node)[self.inner]

    def _of_rows_only(self, node: Node) -> bool:
        """Whether a reduction adds up nothing but a row."""
        flags = self._reduced(node)
        return self._ends_with_row(node) and sum(flags[k] for k in self.last) == 1

    def _in_loop(self, node: Node) -> bool:
        """Whether a node is computed in the loop over a row."""
        if node.op in REDUCTIONS:
            return False
        return self.varies(node)

    def _parts(self, threads: int) -> int:
        """How many threads share the rows, or the numbers of a single one; 1 where that does not pay, or what is
        computed of the whole row is needed again."""
        if threads == 1 or not self.lengths or not pays(self.group):
            return 1
        later = any(self.phase[id(n)] and n.op not in REDUCTIONS for n in self.group.nodes)
        if len(self.lengths) == 1 and (self.passes > 1 or later):
            return 1
        return min(threads, self.lengths[0] // self._step())

    def _step(self) -> int:
        """Parts start at multiples of it."""
        return 1 if len(self.lengths) > 1 else CHUNK

    def _shared(self, arrays: list[Node]) -> Shared:
        single = len(self.lengths) == 1
        summed = [n for n in self.stored if n.op in REDUCTIONS and (single or not self._of_rows_only(n))]
        rows = self.lengths[0], self._step()
        return Shared(self.name, arrays, summed, self.scratch_bytes, rows, self.parts)

    # ---- the function

    def written(self) -> Kernel:
        """The kernel."""
        w = self.writer
        bases: list[Node] = []
        for access in (*self.loads.values(), *self.stores.values()):
            if access.node.op != "arange" and not any(access.node is other for other in bases):
                bases.append(access.node)
        self.pointer = {id(node): f"%b{k}" for k, node in enumerate(bases)}
        self.kept: dict[int, int] = {}  # what a later pass reads from a row of its own
        self.scratch_bytes = 0
        self._choose_kept()
        over = self._written_over()
        shared = {id(node) for pair in over for node in pair}
        words = [f"ptr {'' if id(node) in shared else 'noalias '}%b{k}" for k, node in enumerate(bases)]
        parts = ["i64 %begin", "i64 %end"] if self.parts > 1 else []
        parameters = ", ".join([*words, "ptr noalias %scratch", *parts])
        header = f"define internal void @{self.name}({parameters}) nounwind {{"
        self.allocated: list[str] = []
        self._start_totals()
        self.index: list[str] = []
        self.stores_now: list[str] = []  # of the vectors that are computed together
        self._loop_over_rows(0)
        self._end_totals()
        w.say("ret void")
        text = "\n".join([header, "entry:", *self.allocated, *w.lines, "}", ""])
        if self.parts == 1:
            return Kernel(text, w.definitions, bases, self.scratch_bytes, over, None)
        together = self._shared(bases)
        return Kernel(text + together.text(), w.definitions, bases, together.scratch_bytes, over, together)

    def _written_over(self) -> list[tuple[Node, Node]]:
        """What may lie where something lies that is read: if each number is read before the one in its place is
        written, and not again later."""
        pairs = []
        for node in self.stored:
            if not self._in_loop(node) or self.phase[id(node)] != self.passes - 1:
                continue
            wanted = [self.stores[id(node)].strides[k] for k in self.last]
            if 0 in wanted:
                continue  # written anew in other rows
            for base in {id(access.node): access.node for access in self.loads.values()}.values():
                reads = [access for access in self.loads.values() if access.node is base]
                alike = all(not x.offset and [x.strides[k] for k in self.last] == wanted for x in reads)
                if alike and base.op != "arange" and base.dtype == node.dtype:
                    pairs.append((base, node))
        return pairs

    def _choose_kept(self) -> None:
        """What is dear to compute and read in a later pass than its own."""
        dear: dict[int, bool] = {}
        for node in self.group.nodes:
            inside = [x for x in node.operands if id(x) in self.group.members and self._in_loop(x)]
            dear[id(node)] = node.op in DEAR or any(dear[id(x)] for x in inside)
        for node in self.group.nodes:
            for x in node.operands:
                if id(x) not in self.group.members or not self._in_loop(x) or id(x) in self.kept:
                    continue
                if dear[id(x)] and self._pass_of(node) > self.phase[id(x)] and id(x) not in self.stores:
                    self.kept[id(x)] = self.scratch_bytes
                    size = (self.length + 2 * self.lanes) * BYTES[element_of(x)]
                    self.scratch_bytes += -(-size // 64) * 64

    def _pass_of(self, node: Node) -> int:
        """The pass in which a node's operands are read."""
        phase = self.phase[id(node)]
        return phase - 1 if node.op in REDUCTIONS and self._ends_with_row(node) else phase

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
            if self.phase[id(node)] != phase or self._in_loop(node):
                continue
            if node.op in REDUCTIONS:
                if not self._ends_with_row(node):
                    if not self.varies(node.operands[0]) and not self.varies(node):
                        self._add_to_total(node, self._one(node.operands[0]))
                    continue
                if phase > 0 and id(node) not in self.values and not self._of_rows_only(node):
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
        stores = [n for n in self.stored if self._in_loop(n) and self.phase[id(n)] == number]
        kept = [n for n in self.group.nodes if id(n) in self.kept and self.phase[id(n)] == number]
        if not (sums or stores or kept):
            return
        w = self.writer
        length, lanes = self.length, self.lanes
        row_sums = [n for n in sums if self._ends_with_row(n)]
        whole: dict[int, tuple[str, str]] = {}  # what a row's chunks were added up to
        for node in row_sums:
            whole[id(node)] = self._new_total(node.op)
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
        accumulators = {id(n): [self._accumulator(n.op, element_of(n)) for _ in range(several)] for n in row_sums}
        self._loop(start, end, several, sums, stores, kept, accumulators)
        for node in row_sums:
            partial = self._gathered(node, accumulators[id(node)])
            self._add(whole[id(node)], node.op, element_of(node), partial)
        if chunks:
            w.say(f"store i64 {end}, ptr {place}")
            more = w.put(f"icmp ult i64 {end}, {limit}")
            w.say(f"br i1 {more}, label %{chunk}, label %{done}")
            w.say(f"{done}:")
        for node in row_sums:
            total = self._read_total(whole[id(node)], element_of(node))
            if self._of_rows_only(node):
                self.values[id(node)] = total
            else:
                self._add_to_total(node, total)

    def _reads_in(self, node: Node, number: int) -> bool:
        """Whether a reduction takes part in a pass."""
        if self._ends_with_row(node):
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

    def _accumulator(self, op: str, element: str) -> str:
        kind = self.writer.kind(element, self.lanes)
        name = self.allocate(kind)
        self.writer.say(f"store {kind} {self.writer.number(IDENTITY[op], element, self.lanes)}, ptr {name}")
        return name

    def _loop(
        self,
        start: str,
        end: str,
        several: int,
        sums: list[Node],
        stores: list[Node],
        kept: list[Node],
        accumulators: dict[int, list[str]],
    ) -> None:
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
                self._vector(here, None, sums, stores, kept, accumulators, k)
            self._store_now()
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
        self._vector(at, mask, sums, stores, kept, accumulators, 0)
        self._store_now()
        following = w.put(f"add i64 {at}, {lanes}")
        w.say(f"store i64 {following}, ptr {place}")
        more = w.put(f"icmp slt i64 {following}, {end}")
        w.say(f"br i1 {more}, label %{masked}, label %{done}")
        w.say(f"{done}:")

    def _vector(
        self,
        at: str,
        mask: str | None,
        sums: list[Node],
        stores: list[Node],
        kept: list[Node],
        accumulators: dict[int, list[str]],
        which: int,
    ) -> None:
        """One vector of everything."""
        w, lanes = self.writer, self.lanes
        self.at, self.mask, self.vectors_now = at, mask, dict[int, str]()
        current = max([self._pass_of(n) for n in (*sums, *stores, *kept)])
        for node in kept:
            kind = w.kind(MEMORY[element_of(node)], lanes)
            where = self._scratch_place(node)
            w.say(f"store {kind} {self._as_memory(self._value(node, current), node)}, ptr {where}, align 1")
        for node in stores:
            self._store(node, self.rows[id(node)], self._value(node, current))
        for node in sums:
            element = element_of(node)
            kind = w.kind(element, lanes)
            value = self._value(node.operands[0], current)
            if not self._ends_with_row(node):
                if id(node) in self.stores:
                    before = self._load(self.stores[id(node)], self.rows[id(node)], element)
                    added = w.operation(COMBINED[node.op], [element] * 2, [before, value], element, lanes)
                    self._store(node, self.rows[id(node)], added)
                continue
            accumulator = accumulators[id(node)][which]
            before = w.put(f"load {kind}, ptr {accumulator}")
            after = w.operation(COMBINED[node.op], [element] * 2, [before, value], element, lanes)
            if mask is not None:
                after = w.put(f"select <{lanes} x i1> {mask}, {kind} {after}, {kind} {before}")
            w.say(f"store {kind} {after}, ptr {accumulator}")

    def _as_memory(self, value: str, node: Node) -> str:
        if element_of(node) != "i1":
            return value
        return self.writer.put(f"zext <{self.lanes} x i1> {value} to <{self.lanes} x i8>")

    def _scratch_place(self, node: Node) -> str:
        base = self.writer.put(f"getelementptr i8, ptr %scratch, i64 {self.kept[id(node)]}")
        return self.writer.put(f"getelementptr {MEMORY[element_of(node)]}, ptr {base}, i64 {self.at}")

    def _value(self, x: Node, current: int) -> str:
        """A node's numbers in the vector that is being computed."""
        w, lanes = self.writer, self.lanes
        number = self._splat_number(x)
        if number is not None:
            return w.number(number, element_of(x), lanes)
        if id(x) in self.vectors_now:
            return self.vectors_now[id(x)]
        if not self.varies(x):
            value = w.splat(self._one(x), element_of(x), lanes)
        elif id(x) not in self.group.members:
            value = self._load(self.loads[id(x)], self.rows[id(x)], element_of(x))
        elif id(x) in self.kept and self.phase[id(x)] < current:
            kind = w.kind(MEMORY[element_of(x)], lanes)
            value = w.put(f"load {kind}, ptr {self._scratch_place(x)}, align 1")
            if element_of(x) == "i1":
                value = w.put(f"icmp ne {kind} {value}, zeroinitializer")
        elif id(x) in self.stores and self.phase[id(x)] < current:
            value = self._load(self.stores[id(x)], self.rows[id(x)], element_of(x))
        else:
            value = self._computed(x, lambda operand: self._value(operand, current), lanes)
        self.vectors_now[id(x)] = value
        return value

    def _load(self, access: Access, row: str, element: str) -> str:
        w, lanes = self.writer, self.lanes
        assert self.inner is not None
        stride = access.strides[self.inner]
        memory = MEMORY[element]
        kind, flags = f"<{lanes} x {memory}>", f"<{lanes} x i1>"
        if access.node.op == "arange":
            lane = ", ".join(f"i64 {k}" for k in range(lanes))
            first = w.splat(w.put(f"add i64 {self.at}, {row}"), "i64", lanes)
            return w.put(f"add <{lanes} x i64> {first}, <{lane}>")
        if stride == 1:
            pointer = w.put(f"getelementptr {memory}, ptr {row}, i64 {self.at}")
            if self.mask is None:
                value = w.put(f"load {kind}, ptr {pointer}, align {BYTES[element]}")
            else:
                value = w.intrinsic(
                    f"llvm.masked.load.v{lanes}{self._mark(memory)}.p0",
                    kind,
                    [("ptr", pointer), ("i32", str(BYTES[element])), (flags, self.mask), (kind, self._one_in(memory))],
                )
        else:
            lane = ", ".join(f"i64 {k * stride}" for k in range(lanes))
            first = w.splat(w.put(f"mul i64 {self.at}, {stride}"), "i64", lanes)
            places = w.put(f"add <{lanes} x i64> {first}, <{lane}>")
            pointers = w.put(f"getelementptr {memory}, ptr {row}, <{lanes} x i64> {places}")
            mask = self.mask or "splat (i1 true)"
            value = w.intrinsic(
                f"llvm.masked.gather.v{lanes}{self._mark(memory)}.v{lanes}p0",
                kind,
                [
                    (f"<{lanes} x ptr>", pointers),
                    ("i32", str(BYTES[element])),
                    (flags, mask),
                    (kind, self._one_in(memory)),
                ],
            )
        return w.put(f"icmp ne {kind} {value}, zeroinitializer") if element == "i1" else value

    def _one_in(self, memory: str) -> str:
        """What is in lanes that are not there: a harmless number for every function."""
        return f"splat ({memory} {literal(1, memory)})"

    def _mark(self, memory: str) -> str:
        return {"float": "f32", "double": "f64"}.get(memory, memory)

    def _store(self, node: Node, row: str, value: str) -> None:
        w, lanes, element = self.writer, self.lanes, element_of(node)
        memory = MEMORY[element]
        kind = f"<{lanes} x {memory}>"
        value = self._as_memory(value, node)
        pointer = w.put(f"getelementptr {memory}, ptr {row}, i64 {self.at}")
        if self.mask is None:
            self.stores_now.append(f"store {kind} {value}, ptr {pointer}, align {BYTES[element]}")
            return
        name = f"llvm.masked.store.v{lanes}{self._mark(memory)}.p0"
        flags = f"<{lanes} x i1>"
        w.definitions[name] = f"declare void @{name}({kind}, ptr, i32, {flags})\n"
        given = f"{kind} {value}, ptr {pointer}, i32 {BYTES[element]}, {flags} {self.mask}"
        self.stores_now.append(f"call void @{name}({given})")

    def _store_now(self) -> None:
        """Stores what the vectors gave, after all their loads: results may lie where operands lie, and a load that
        follows a store to the same place of another page waits for it."""
        self.writer.lines += self.stores_now
        self.stores_now = []

    # ---- sums

    def _gathered(self, node: Node, accumulators: list[str]) -> str:
        """One number of several accumulators."""
        w, lanes, element = self.writer, self.lanes, element_of(node)
        kind = w.kind(element, lanes)
        values = [w.put(f"load {kind}, ptr {accumulator}") for accumulator in accumulators]
        op = COMBINED[node.op]
        while len(values) > 1:
            values = [
                w.operation(op, [element] * 2, [values[k], values[k + 1]], element, lanes)
                for k in range(0, len(values), 2)
            ]
        value = values[0]
        while lanes > 1:
            lanes //= 2
            wide, narrow = f"<{2 * lanes} x {element}>", lanes
            low = ", ".join(f"i32 {k}" for k in range(narrow))
            high = ", ".join(f"i32 {narrow + k}" for k in range(narrow))
            first = w.put(f"shufflevector {wide} {value}, {wide} poison, <{narrow} x i32> <{low}>")
            second = w.put(f"shufflevector {wide} {value}, {wide} poison, <{narrow} x i32> <{high}>")
            value = w.operation(op, [element] * 2, [first, second], element, lanes)
        return w.put(f"extractelement <1 x {element}> {value}, i32 0")

    def _new_total(self, op: str) -> tuple[str, str]:
        """Where numbers are added up: a double and, for doubles, what was rounded off it."""
        total, lost = self.allocate("double"), self.allocate("double")
        self.writer.say(f"store double {literal(IDENTITY[op], 'double')}, ptr {total}")
        self.writer.say(f"store double {literal(-0.0, 'double')}, ptr {lost}")
        return total, lost

    def _add(self, total: tuple[str, str], op: str, element: str, value: str) -> None:
        """Adds a number, or takes it if it is larger or smaller."""
        w = self.writer
        if element == "float":
            value = w.put(f"fpext float {value} to double")
        before = w.put(f"load double, ptr {total[0]}")
        after = w.operation(COMBINED[op], ["double"] * 2, [before, value], "double", 0)
        w.say(f"store double {after}, ptr {total[0]}")
        if op == "sum" and element == "double":  # Knuth's two-sum
            taken = w.put(f"fsub double {after}, {before}")
            back = w.put(f"fsub double {after}, {taken}")
            error = w.put(f"fsub double {before}, {back}")
            missing = w.put(f"fsub double {value}, {taken}")
            both = w.put(f"fadd double {error}, {missing}")
            lost = w.put(f"load double, ptr {total[1]}")
            w.say(f"store double {w.put(f'fadd double {lost}, {both}')}, ptr {total[1]}")

    def _read_total(self, total: tuple[str, str], element: str) -> str:
        w = self.writer
        value = w.put(f"load double, ptr {total[0]}")
        if element == "float":
            return w.put(f"fptrunc double {value} to float")
        lost = w.put(f"load double, ptr {total[1]}")
        exact = w.put(f"fadd double {value}, {lost}")
        size = w.intrinsic("llvm.fabs.f64", "double", [("double", exact)])
        finite = w.put(f"fcmp olt double {size}, {literal(math.inf, 'double')}")
        return w.put(f"select i1 {finite}, double {exact}, double {value}")

    def _start_totals(self) -> None:
        """Before the first row: accumulators for all rows, and zeros where rows are added up in memory."""
        self.totals: dict[int, tuple[str, str]] = {}
        for node in self.reductions:
            if id(node) not in self.stores or self._of_rows_only(node):
                continue
            if self.inner is None:
                continue
            if math.prod(node.shape) == 1:
                self.totals[id(node)] = self._new_total(node.op)
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
            self._add(self.totals[id(node)], node.op, element, value)
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
            value = self._read_total(total, element)
            w.say(f"store {element} {value}, ptr {self.pointer[id(access.node)]}")


def kernel(name: str, group: Group, stored: Container[int], threads: int = 1) -> Kernel:
    """The kernel of a group; stored: the identities of the nodes that others need; threads: how many may share it."""
    return RowKernel(name, group, stored, threads).written()


__all__ = ["NAMES", "Kernel", "UnsupportedGroupError", "element_of", "kernel"]
