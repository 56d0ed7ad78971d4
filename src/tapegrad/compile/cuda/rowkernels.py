"""Kernels for CUDA: a group of operations as one pass over memory, written in C++.

In: a group of nodes, and which of them others need. Out: a function that goes over rows, each of them in the registers
of a team of threads: what a row's sum or largest is needed for is computed from there, and the row is read once. Sums
over rows stay in registers too until the last row; if several blocks took part, a second kernel adds up what each left,
in an order that does not depend on which came first. The same text serves as a kernel or as a part of one.
"""

from collections.abc import Container, Mapping

from tapegrad.compile.cuda.endings import Endings
from tapegrad.compile.cuda.geometry import VECTOR_BYTES, WARP, Geometry, Reduction
from tapegrad.compile.cuda.kernel import Kernel, Surroundings
from tapegrad.compile.cuda.language import BYTES, DEAR, IDENTITY, JOINED, literal, type_of
from tapegrad.compile.fusion import Group
from tapegrad.compile.symbol import Node

# A block's part of a row, in memory of the processor: all but what sums need of the 48 KiB that a kernel may just take.
MOST_SHARED_BYTES = 44 << 10


class RowKernel(Endings):
    """The kernels of one group while they are being written."""

    def __init__(self, name: str, group: Group, stored: Container[int], surroundings: Surroundings):
        super().__init__(surroundings)
        self.name = name
        self.group = group
        self.g = Geometry(group, stored, surroundings.processors, surroundings.most_cluster, surroundings.threads)
        self.partials = []
        self.spare_bytes = 0

    # ---- the whole

    def written(self) -> list[Kernel]:
        """The kernel, and the one that adds up what its blocks leave if there are several."""
        g = self.g
        self._assign_phases()
        self._choose_kept()
        self._choose_slots()
        self._start()
        each = "for (int q = (piece * TEAMS + team - team % PER_WARP); q < ROWS; q += PIECES * TEAMS) {"
        body, self.lines = self.lines, []
        self._row()
        row, self.lines = self.lines, body
        if self.columns and not self.together:
            self.say("UNROLL_FOUR")  # so that loads of several rows are under way
        self.say(each)
        self.lines += ["  " + line for line in row]
        self.say("}")
        self._end()
        over = self._written_over()
        kernels = [self._kernel(self.name, self.lines, g.blocks, g.threads, g.cluster, over)]
        if self.partials:
            kernels.append(self._finishing())
        return kernels

    # ---- what is computed when

    def _assign_phases(self) -> None:
        """In which pass over the registers of its row each node can be computed."""
        self.phase = {}
        for node in self.group.nodes:
            phase = max([self.phase.get(id(x), 0) for x in node.operands], default=0)
            if id(node) in self.g.reductions and self.g.reductions[id(node)].complete:
                phase += 1
            self.phase[id(node)] = phase
        self.passes = 1 + max(self.phase[id(n)] for n in self.group.nodes)

    def _choose_kept(self) -> None:
        """What is dear to compute and read in a later pass than its own: it stays in registers."""
        self.kept = {}
        dear: dict[int, bool] = {}
        for node in self.group.nodes:
            inside = [x for x in node.operands if id(x) in self.group.members and self._in_loop(x)]
            dear[id(node)] = node.op in DEAR or any(dear[id(x)] for x in inside)
        for node in self.group.nodes:
            for x in node.operands:
                ours = id(x) in self.group.members and self._in_loop(x)
                if ours and dear[id(x)] and self._pass_of(node) > self.phase[id(x)]:
                    self.kept.setdefault(id(x), self.new("kept"))

    def _choose_slots(self) -> None:
        """Of rows that a cluster shares: what is kept of them lies in the processors' own memory, where there is room
        for more rows at a time than in registers."""
        self.slots = {}
        self.slot_types = []
        if self.g.cluster == 1:
            return
        until: list[int] = []  # the pass in which a slot is read last
        slots: dict[int, int] = {}
        wanted = [(0, x) for x in self.g.outside if self.g.varies(x) and self.g.loads[id(x)].node.op != "arange"]
        wanted += [(self.phase[id(x)], x) for x in self.group.nodes if id(x) in self.kept]
        types: list[str] = []
        for born, x in sorted(wanted, key=lambda pair: pair[0]):
            passes = {self._pass_of(node) for node in self.group.nodes if any(x is y for y in node.operands)}
            outside = id(x) in self.g.loads
            if outside and len(passes) == 1:
                continue  # read when it is needed
            if outside and self.g.stride(self.g.loads[id(x)]) != 1:
                return
            kind = type_of(x)
            same = [k for k, last in enumerate(until) if not outside and last <= born and types[k] == kind]
            if same:
                slots[id(x)] = same[0]
                until[same[0]] = max(passes)
                continue
            slots[id(x)] = len(types)
            types.append(kind)
            until.append(max(passes))
        size = sum(BYTES[kind] for kind in types) * self.g.steps * self.g.threads * self.g.vector
        if size <= MOST_SHARED_BYTES and all(BYTES[kind] * self.g.vector == VECTOR_BYTES for kind in types):
            self.slots, self.slot_types = slots, types

    # ---- before the first row

    def _start(self) -> None:
        g = self.g
        sizes = {
            "VECTOR": g.vector, "STEPS": g.steps, "TEAM": g.team, "TEAMS": g.teams, "COLUMNS": g.columns,
            "PIECES": g.pieces, "ROWS": g.rows_of_part, "PER_WARP": max(1, WARP // g.team) if g.team < WARP else 1,
        }  # fmt: skip
        self.say("constexpr int " + ", ".join(f"{name} = {value}" for name, value in sizes.items()) + ";")
        if g.cluster > 1:
            self.say(f"const int rank = block % {g.cluster}, lane = rank * TEAM + THREAD % TEAM;")
            self.say(f"const int group = block / {g.cluster};")
        else:
            self.say("const int lane = THREAD % TEAM, group = block;")
        self.say(f"const int team = {'0' if g.cluster > 1 else 'THREAD / TEAM'};")
        self.say(f"const int panel = group % {g.panels}, piece = group / {g.panels} % PIECES;")
        self.say(f"const int part = group / ({g.panels} * PIECES);")
        self.width = f"{g.team * g.cluster}"
        self.first = f"(panel * STEPS * {self.width} + lane) * VECTOR"  # column of the first step
        self.exact = g.columns == g.panels * g.steps * g.team * g.cluster * g.vector
        self.say(f"const int first = {self.first};")
        self.say("(void)part; (void)team; (void)lane; (void)first;")
        complete: dict[int, int] = {}
        for x in self._needed_reductions():
            if x.complete:
                pass_ = self._reads_in(x)
                complete[pass_] = complete.get(pass_, 0) + 1
        self.together = max(complete.values(), default=0)  # reductions of a row that are made at the same time
        if self.together and g.team > WARP:
            self.say(f"SHARED(double, shared, {2 * self.together * g.team // WARP});")
            self.say("int turn = 0;")
            if g.cluster > 1:
                self.say(f"SHARED(double, others, {2 * self.together * g.cluster});")
        for k, kind in enumerate(self.slot_types):
            self.say(f"SHARED({kind}, held{k}, {g.steps * g.threads * g.vector});")
            self.say(f"Pack<{kind}, VECTOR>* slot{k} = (Pack<{kind}, VECTOR>*)held{k} + THREAD;")
        self.columns = {}
        self.totals = {}
        for x in self._needed_reductions():
            if x.complete:
                continue
            kind = type_of(x.node)
            if self.g.varies(x.node):
                name = self.columns[id(x.node)] = self.new("column")
                self.say(f"{kind} {name}[STEPS][VECTOR];")
                self.say(
                    f"UNROLL for (int s = 0; s < STEPS; ++s) UNROLL for (int v = 0; v < VECTOR; ++v) "
                    f"{name}[s][v] = {literal(IDENTITY[x.node.op], kind)};"
                )
            else:
                name = self.totals[id(x.node)] = self.new("total")
                self.say(f"double {name} = {literal(IDENTITY[x.node.op], 'double')};")
        self._coordinates(self.g.part_axes, "part")

    def _coordinates(self, axes: tuple[int, ...], number: str) -> None:
        """Where a number of a part or of a row is along each of its axes."""
        if len(axes) == 1:
            self.say(f"const int i{axes[0]} = {number};")
            return
        rest = number
        for place, k in enumerate(reversed(axes)):
            last = place == len(axes) - 1
            self.say(f"const int i{k} = {rest}{'' if last else f' % {self.g.lengths[k]}'};")
            rest = f"{rest} / {self.g.lengths[k]}"

    # ---- a row

    def _row(self) -> None:
        g = self.g
        uneven = g.team < WARP and g.rows_of_part % (WARP // g.team) != 0
        own = "q + team % PER_WARP" if g.team < WARP else "q"
        if uneven:
            self.say(f"const bool there = {own} < ROWS;")
            self.say(f"const int r = there ? {own} : ROWS - 1;")
        else:
            self.say(f"const int r = {own};")
        self.there = "there" if uneven else ""
        self._coordinates(g.row_axes, "r")
        self.starts = {}
        self.loaded = {}
        self.values = {}
        self._between(0)
        for number in range(self.passes):
            self._pass(number)
            self._between(number + 1)

    def _between(self, phase: int) -> None:
        """What there is one of in a row and is known before this pass."""
        for node in self.group.nodes:
            if self.phase[id(node)] != phase or self._in_loop(node):
                continue
            reduction = self.g.reductions.get(id(node))
            if reduction is not None and not reduction.complete:
                self._add_one(reduction)
                continue
            value = self._one(node)
            if id(node) in self.g.stores:
                access = self.g.stores[id(node)]
                place = self._offset(access)
                ours = " && ".join(filter(None, ["lane == 0", "panel == 0" if self.g.panels > 1 else "", self.there]))
                flag = ""
                if id(node) in self.around.watched:
                    flag = f" if (!{value}) *{self.argument('flag', node)} = 1;"
                self.say(f"if ({ours}) {{ {self.base(access)}[{place}] = {value};{flag} }}")

    def _add_one(self, reduction: Reduction) -> None:
        """A number of the row as such, to a sum over rows."""
        operand = reduction.node.operands[0]
        total = self.totals.get(id(reduction.node))
        if total is None or self.g.varies(operand):
            return
        ours = " && ".join(filter(None, ["lane == 0", "panel == 0" if self.g.panels > 1 else "", self.there]))
        value = self._one(operand)
        self.say(f"if ({ours}) {total} = {JOINED[reduction.node.op]}::of({total}, (double){value});")

    def _written_over(self) -> tuple[tuple[Node, Node], ...]:
        """What may lie where something lies that is read: each number is read by the thread that then writes the one in
        its place, and by no other."""
        g, pairs = self.g, []
        for node in g.stored:
            if not self._in_loop(node):
                continue
            wanted = [g.stores[id(node)].strides[k] for k in g.axes]
            if 0 in wanted:
                continue
            for base in {id(access.node): access.node for access in g.loads.values()}.values():
                reads = [access for access in g.loads.values() if access.node is base]
                alike = all(not x.offset and [x.strides[k] for k in g.axes] == wanted for x in reads)
                first = max(self._first_read(x) for x in g.outside if g.loads[id(x)].node is base)
                if alike and base.op != "arange" and base.dtype == node.dtype and first <= self.phase[id(node)]:
                    pairs.append((base, node))
        return tuple(pairs)

    def _first_read(self, x: Node) -> int:
        """The pass in which a number from outside is read; it stays in registers then."""
        return min(self._pass_of(node) for node in self.group.nodes if any(x is operand for operand in node.operands))


def kernels(name: str, group: Group, stored: Mapping[int, Node], surroundings: Surroundings) -> list[Kernel]:
    """The kernels of a group, in order; stored: the nodes that others need, by identity."""
    return RowKernel(name, group, stored, surroundings).written()
