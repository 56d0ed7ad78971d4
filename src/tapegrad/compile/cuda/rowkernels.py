"""Kernels for CUDA: a group of operations as one pass over memory, written in C++.

In: a group of nodes, and which of them others need. Out: a function that goes over rows, each of them in the registers of a
team of threads: what a row's sum or largest is needed for is computed from there, and the row is read once. Sums over
rows stay in registers too until the last row; if several blocks took part, a second kernel adds up what each left, in
an order that does not depend on which came first. The same text serves as a kernel or as a part of one.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass

from tapegrad.compile.cuda.geometry import BLOCKS_IN_SHARED, USUAL_THREADS, VECTOR_BYTES, WARP, Access, Geometry, Reduction
from tapegrad.compile.cuda.language import BYTES, DEAR, IDENTITY, JOINED, expression, literal, type_of
from tapegrad.compile.fusion import Group, is_splat
from tapegrad.compile.operations import REDUCTIONS
from tapegrad.compile.symbol import Node, number_of

# Threads of a block that adds up what others left: half a processor's.
FINISHING_THREADS = 512
ALIGNED = 256
# A block's part of a row, in memory of the processor: all but what sums need of the 48 KiB that a kernel may just take.
MOST_SHARED_BYTES = 44 << 10
# Threads that a processor is to hold where each keeps much of a row: so that some load while others compute. It leaves
# 64 registers to each.
KEEPING_THREADS = 1024


@dataclass(frozen=True)
class Argument:
    """What a kernel is given: where a node's numbers are, the number itself, the flag of a check, or spare memory."""

    kind: str  # "array", "number", "flag" or "spare"
    node: Node | None = None


@dataclass
class Kernel:
    """A function of CUDA C++, and how it is called."""

    name: str
    text: str  # of the function for one block, which is its first parameter
    blocks: int
    threads: int
    cluster: int
    arguments: list[Argument]
    parameters: list[str]
    spare_bytes: int = 0
    over: tuple[tuple[Node, Node], ...] = ()  # what may be written (second) over what it reads (first)
    blocks_at_once: int = 1  # that a processor is to hold: it limits the registers of a thread

    def text_of_kernel(self) -> str:
        """The function as a kernel of its own."""
        cluster = f"IN_CLUSTERS({self.cluster}) " if self.cluster > 1 else ""
        given = ", ".join(["BLOCK", *[f"p{k}" for k in range(len(self.parameters))]])
        taken = ", ".join(f"{kind} p{k}" for k, kind in enumerate(self.parameters))
        sizes = f"{self.threads}, {self.blocks_at_once}"
        return f"{self.text}KERNEL({sizes}) {cluster}{self.name}({taken}) {{ {self.name}_block({given}); }}\n"


def text_of_block(name: str, parameters: list[str], lines: list[str]) -> str:
    """A function for one block."""
    taken = ", ".join(["int block", *[f"{kind} p{k}" for k, kind in enumerate(parameters)]])
    return "\n".join([f"INLINE void {name}_block({taken}) {{", *lines, "}", ""])


@dataclass
class Partial:
    """What blocks leave of a reduction, to be added up: where in the spare memory, how many for each result."""

    reduction: Reduction
    place: int
    kind: str  # of the numbers there
    count: int
    results: int  # with a count each
    columns: int  # results that lie side by side


class RowKernel:
    """The kernels of one group while they are being written."""

    def __init__(self, name: str, group: Group, stored: Container[int], surroundings: "Surroundings"):
        self.name = name
        self.group = group
        self.around = surroundings
        self.g = Geometry(group, stored, surroundings.processors, surroundings.threads)
        self.lines: list[str] = []
        self.arguments: list[Argument] = []
        self.count = 0
        self.partials: list[Partial] = []
        self.spare_bytes = 0

    # ---- words

    def say(self, line: str) -> None:
        """A line."""
        self.lines.append(f"  {line}")

    def new(self, stem: str) -> str:
        """A name."""
        self.count += 1
        return f"{stem}{self.count}"

    def argument(self, kind: str, node: Node | None = None) -> str:
        """The parameter for something that is given."""
        for k, other in enumerate(self.arguments):
            if other.kind == kind and other.node is node:
                return f"p{k}"
        self.arguments.append(Argument(kind, node))
        return f"p{len(self.arguments) - 1}"

    def base(self, access: Access) -> str:
        """The parameter that says where an array starts."""
        return self.argument("array", access.node)

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

    def _kernel(
        self,
        name: str,
        lines: list[str],
        blocks: int,
        threads: int,
        cluster: int = 1,
        over: tuple[tuple[Node, Node], ...] = (),
    ) -> Kernel:
        shared = {id(node) for pair in over for node in pair}
        written = {id(node) for node in self.g.stored}
        parameters = []
        for argument in self.arguments:
            node = argument.node
            # what one block writes and another part of the same kernel reads may not go by the way for constants
            alone = "" if self.around.threads is not None or id(node) in shared else " RESTRICT"
            if argument.kind == "spare":
                parameters.append("char*")
            elif argument.kind == "flag":
                parameters.append("int*")
            elif argument.kind == "number":
                assert node is not None
                parameters.append(type_of(node))
            else:
                assert node is not None
                constant = "" if id(node) in written else "const "
                parameters.append(f"{constant}{type_of(node)}*{alone}")
        text = text_of_block(name, parameters, lines)
        at_once = max(1, KEEPING_THREADS // threads) if self.together else 1
        if self.slots:
            at_once = max(1, BLOCKS_IN_SHARED * USUAL_THREADS // threads)
        arguments = list(self.arguments)
        return Kernel(name, text, blocks, threads, cluster, arguments, parameters, self.spare_bytes, over, at_once)

    # ---- what is computed when

    def _assign_phases(self) -> None:
        """In which pass over the registers of its row each node can be computed."""
        self.phase: dict[int, int] = {}
        for node in self.group.nodes:
            phase = max([self.phase.get(id(x), 0) for x in node.operands], default=0)
            if id(node) in self.g.reductions and self.g.reductions[id(node)].complete:
                phase += 1
            self.phase[id(node)] = phase
        self.passes = 1 + max(self.phase[id(n)] for n in self.group.nodes)

    def _reads_in(self, reduction: Reduction) -> int:
        """The pass in which a reduction's operand is read."""
        return self.phase[id(reduction.node)] - (1 if reduction.complete else 0)

    def _pass_of(self, node: Node) -> int:
        """The pass in which a node's operands are read."""
        reduction = self.g.reductions.get(id(node))
        return self.phase[id(node)] if reduction is None else self._reads_in(reduction)

    def _choose_kept(self) -> None:
        """What is dear to compute and read in a later pass than its own: it stays in registers."""
        self.kept: dict[int, str] = {}
        dear: dict[int, bool] = {}
        for node in self.group.nodes:
            inside = [x for x in node.operands if id(x) in self.group.members and self._in_loop(x)]
            dear[id(node)] = node.op in DEAR or any(dear[id(x)] for x in inside)
        for node in self.group.nodes:
            for x in node.operands:
                inside = id(x) in self.group.members and self._in_loop(x)
                if inside and dear[id(x)] and self._pass_of(node) > self.phase[id(x)]:
                    self.kept.setdefault(id(x), self.new("kept"))

    def _choose_slots(self) -> None:
        """Of rows that a cluster shares: what is kept of them lies in the processors' own memory, where there is room for
        more rows at a time than in registers. By the identity of nodes, the slot; of slots, the type of their numbers."""
        self.slots: dict[int, int] = {}
        self.slot_types: list[str] = []
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

    def _in_loop(self, node: Node) -> bool:
        """Whether a node is computed for each number of a row."""
        return node.op not in REDUCTIONS and self.g.varies(node)

    def _needed_reductions(self) -> list[Reduction]:
        """The reductions that somebody reads."""
        return [x for x in self.g.reductions.values() if x.complete or id(x.node) in self.g.stores]

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
        self.columns: dict[int, str] = {}  # sums by column, in registers
        self.totals: dict[int, str] = {}  # sums over rows, a double for each thread
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
        self.starts: dict[tuple[int, tuple[int, ...]], str] = {}
        self.loaded: dict[int, str] = {}  # numbers of a row, in registers
        self.values: dict[int, str] = {}  # of what is the same in the whole row
        self._between(0)
        for number in range(self.passes):
            self._pass(number)
            self._between(number + 1)

    def _offset(self, access: Access) -> str:
        """Where an array's part of this row starts, in numbers."""
        key = access.offset, access.strides
        if key not in self.starts:
            terms = [str(access.offset)] if access.offset else []
            terms += [f"(long long)i{k} * {access.strides[k]}" for k in self.g.lengths if access.strides[k]]
            if not terms:
                return "0"
            name = self.starts[key] = self.new("start")
            self.say(f"const long long {name} = {' + '.join(terms)};")
        return self.starts[key]

    def _one(self, x: Node) -> str:
        """The number of a node that is the same in the whole row."""
        if is_splat(x):
            return literal(number_of(x), type_of(x))
        if id(x) not in self.values:
            name = self.values[id(x)] = self.new("one")
            if id(x) in self.group.members:
                value = expression(x, [self._one(operand) for operand in x.operands])
            else:
                access = self.g.loads[id(x)]
                if access.node.op == "arange":
                    value = self._offset(access)
                elif id(access.node) in self.around.numbers:
                    value = self.argument("number", access.node)
                else:
                    place = self._offset(access)
                    value = f"{self.base(access)}[{place}]"
            self.say(f"const {type_of(x)} {name} = {value};")
        return self.values[id(x)]

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

    # ---- a pass over the registers of a row

    def _pass(self, number: int) -> None:
        g = self.g
        sums = [
            x for x in self._needed_reductions() if self._reads_in(x) == number and g.varies(x.node.operands[0])
        ]
        stores = [n for n in g.stored if self._in_loop(n) and self.phase[id(n)] == number]
        kept = [n for n in self.group.nodes if id(n) in self.kept and self.phase[id(n)] == number]
        if not (sums or stores or kept):
            return
        wanted = [x.node.operands[0] for x in sums] + stores + kept
        for x in self._row_values(wanted, number):
            self._one(x)
        element: list[str] = []
        fresh: list[Node] = []
        self.elements: dict[int, str] = {}
        self.sink, self.fresh, self.now = element, fresh, number
        self.before: list[str] = []  # what is read for each step
        after: list[str] = []
        accumulators: dict[int, str] = {}
        places: list[str] = []
        for node in kept:
            value = self._element(node)
            if id(node) in self.slots:
                places.append(f"Pack<{type_of(node)}, VECTOR> {self.kept[id(node)]};")
                element.append(f"{self.kept[id(node)]}.v[v] = {value};")
                after.append(f"slot{self.slots[id(node)]}[s * {g.threads}] = {self.kept[id(node)]};")
                continue
            self.say(f"{type_of(node)} {self.kept[id(node)]}[STEPS][VECTOR];")
            element.append(f"{self.kept[id(node)]}[s][v] = {value};")
        for reduction in sums:
            value = self._element(reduction.node.operands[0])
            join, kind = JOINED[reduction.node.op], type_of(reduction.node)
            start = literal(IDENTITY[reduction.node.op], kind)
            column = self.columns.get(id(reduction.node))
            if column is not None:
                given = f"({self.there} ? {value} : {start})" if self.there else value
                element.append(f"{column}[s][v] = {join}::of({column}[s][v], {given});")
                continue
            name = accumulators[id(reduction.node)] = self.new("sums")
            self.say(f"{kind} {name}[VECTOR];")
            self.say(f"UNROLL for (int v = 0; v < VECTOR; ++v) {name}[v] = {start};")
            element.append(f"{name}[v] = {join}::of({name}[v], {value});")
        for node in stores:
            name = self.new("out")
            access = g.stores[id(node)]
            place = self._offset(access)
            places.append(f"Pack<{type_of(node)}, VECTOR> {name};")
            element.append(f"{name}.v[v] = {self._element(node)};")
            pointer = f"(Pack<{type_of(node)}, VECTOR>*)({self.base(access)} + {place} + column)"
            after.append(f"{f'if ({self.there}) ' if self.there else ''}*{pointer} = {name};")
        self._load(fresh)
        inside = "" if self.exact else "if (column < COLUMNS) "
        self.say("UNROLL for (int s = 0; s < STEPS; ++s) {")
        self.say(f"  const int column = first + s * {self.width} * VECTOR;")
        self.say(f"  {inside}{{")
        self.lines += [f"      {line}" for line in (*self.before, *places)]
        self.say("    UNROLL for (int v = 0; v < VECTOR; ++v) {")
        self.lines += [f"        {line}" for line in element]
        self.say("    }")
        self.lines += [f"      {line}" for line in after]
        self.say("  }")
        self.say("}")
        self._gather([x for x in sums if id(x.node) in accumulators], accumulators)

    def _row_values(self, roots: list[Node], number: int) -> list[Node]:
        """What the numbers of a row need that is the same in the whole row."""
        needed, waiting, seen = [], list(roots), set()
        while waiting:
            x = waiting.pop()
            if id(x) in seen or is_splat(x):
                continue
            seen.add(id(x))
            if not self.g.varies(x):
                needed.append(x)
            elif id(x) in self.group.members and not (id(x) in self.kept and self.phase[id(x)] < number):
                waiting += x.operands
        return needed

    def _element(self, x: Node) -> str:
        """A node's number in the column that is being computed."""
        if is_splat(x) or not self.g.varies(x):
            return self._one(x)
        if id(x) in self.elements:
            return self.elements[id(x)]
        if id(x) not in self.group.members:
            if id(x) not in self.loaded:
                self.loaded[id(x)] = self.new("row")
                self.fresh.append(x)
            if self.g.loads[id(x)].node.op == "arange":
                access = self.g.loads[id(x)]
                value = f"(long long)({self._offset(access)} + column + v)"
            else:
                value = f"{self._pack_of(x)}.v[v]"
        elif id(x) in self.kept and self.phase[id(x)] < self.now:
            value = f"{self._pack_of(x)}.v[v]" if id(x) in self.slots else f"{self.kept[id(x)]}[s][v]"
        else:
            value = expression(x, [self._element(operand) for operand in x.operands])
        name = self.elements[id(x)] = self.new("x")
        self.sink.append(f"const {type_of(x)} {name} = {value};")
        return name

    def _pack_of(self, x: Node) -> str:
        """A vector of numbers that were loaded or kept: in a register, or read from where it is."""
        if id(x) in self.slots:
            value = f"slot{self.slots[id(x)]}[s * {self.g.threads}]"
        elif self.slot_types and self.g.stride(self.g.loads[id(x)]) == 1:
            access = self.g.loads[id(x)]
            value = f"several<{type_of(x)}, VECTOR>({self.base(access)} + {self._offset(access)} + column)"
        else:
            return f"{self.loaded[id(x)]}[s]"
        name = self.new("pack")
        self.before.append(f"const Pack<{type_of(x)}, VECTOR> {name} = {value};")
        return name

    def _load(self, fresh: list[Node]) -> None:
        """All loads of a pass before anything is computed: as much as possible is under way at a time."""
        reads = []
        for x in fresh:
            access, kind = self.g.loads[id(x)], type_of(x)
            if access.node.op == "arange":
                continue
            name, place, stride = self.loaded[id(x)], self._offset(access), self.g.stride(access)
            if id(x) in self.slots:
                pointer = f"{self.base(access)} + {place} + column"
                reads.append(f"copy_over(slot{self.slots[id(x)]} + s * {self.g.threads}, {pointer});")
                continue
            if self.slot_types and stride == 1:
                continue
            self.say(f"Pack<{kind}, VECTOR> {name}[STEPS];")
            if stride == 1:
                pointer = f"{self.base(access)} + {place} + column"
                reads.append(f"{name}[s] = several<{kind}, VECTOR>({pointer});")
            else:
                pointer = f"{self.base(access)}[{place} + (long long)(column + v) * {stride}]"
                reads.append(f"UNROLL for (int v = 0; v < VECTOR; ++v) {name}[s].v[v] = {pointer};")
        if not reads:
            return
        self.say("UNROLL for (int s = 0; s < STEPS; ++s) {")
        self.say(f"  const int column = first + s * {self.width} * VECTOR;")
        if self.exact:
            self.lines += [f"    {line}" for line in reads]
        else:
            self.say(f"  if (column < COLUMNS) {{ {' '.join(reads)} }}")
        self.say("}")
        if self.slots:
            self.say("wait_for_copies();")

    def _gather(self, sums: list[Reduction], accumulators: dict[int, str]) -> None:
        """One number of a thread's, and for a row's sum one of the whole team's."""
        g = self.g
        names: list[tuple[Reduction, str]] = []
        for x in sums:
            kind, join = type_of(x.node), JOINED[x.node.op]
            name = self.new("sum")
            self.say(f"{kind} {name} = {accumulators[id(x.node)]}[0];")
            given = f"{join}::of({name}, {accumulators[id(x.node)]}[v])"
            self.say(f"UNROLL for (int v = 1; v < VECTOR; ++v) {name} = {given};")
            if x.complete:
                names.append((x, name))
                continue
            total = self.totals[id(x.node)]
            condition = f"if ({self.there}) " if self.there else ""
            self.say(f"{condition}{total} = {join}::of({total}, (double){name});")
        if not names:
            return
        for x, name in names:
            self.say(f"{name} = of_team<{min(g.team, WARP)}, {JOINED[x.node.op]}>({name});")
            self.values[id(x.node)] = name
        if g.team <= WARP:
            return
        warps = g.team // WARP
        self.say("if (THREAD % 32 == 0) {")
        for k, (_, name) in enumerate(names):
            self.say(f"  shared[(turn * {self.together} + {k}) * {warps} + THREAD / 32] = {name};")
        self.say("}")
        self.say("wait_for_block();")
        for k, (x, name) in enumerate(names):
            join, kind = JOINED[x.node.op], type_of(x.node)
            self.say(f"{name} = of_warps<{warps}, {join}, {kind}>(shared + (turn * {self.together} + {k}) * {warps});")
        if g.cluster > 1:
            self.say(f"if (THREAD < {g.cluster}) {{")
            for k, (_, name) in enumerate(names):
                self.say(f"  hand_over(others + (turn * {self.together} + {k}) * {g.cluster} + rank, THREAD, {name});")
            self.say("}")
            self.say("wait_for_cluster();")
            for k, (x, name) in enumerate(names):
                place = f"others + (turn * {self.together} + {k}) * {g.cluster}"
                self.say(f"{name} = of_warps<{g.cluster}, {JOINED[x.node.op]}, {type_of(x.node)}>({place});")
        self.say("turn ^= 1;")

    # ---- after the last row

    def _end(self) -> None:
        g = self.g
        if self.together and g.cluster > 1:
            self.say("wait_for_cluster();")  # others may still write here
        reductions = self.g.reductions
        if self.columns and g.teams > 1:
            widest = max(BYTES[type_of(reductions[key].node)] for key in self.columns)
            self.say(f"SHARED(double, columns, {-(-g.threads * g.steps * g.vector * widest // 8)});")
        for key, name in self.columns.items():
            self._end_column(reductions[key], name)
        if self.totals:
            shared = self.new("shared")
            self.say(f"SHARED(double, {shared}, {g.threads // WARP});")
        for key, name in self.totals.items():
            self._end_total(reductions[key], name, shared)

    def _end_column(self, reduction: Reduction, name: str) -> None:
        g = self.g
        kind, join = type_of(reduction.node), JOINED[reduction.node.op]
        whole = not reduction.kept and g.parts > 1  # of all parts
        number = "group / PANELS".replace("PANELS", str(g.panels))  # part * PIECES + piece
        if g.pieces == 1 and not whole:
            pointer = f"{self.base(g.stores[id(reduction.node)])} + (long long)part * COLUMNS"
        else:
            results = g.parts if reduction.kept else 1
            count = g.pieces if reduction.kept else g.pieces * g.parts
            place = self._spare(g.parts * g.pieces * g.columns * BYTES[kind])
            self.partials.append(Partial(reduction, place, kind, count, results * g.columns, g.columns))
            pointer = f"({kind}*)({self.argument('spare')} + {place}) + (long long)({number}) * COLUMNS"
        if g.teams > 1:
            shared = self.new("shared")  # the same room for each of them, one after the other
            self.say(f"{kind}* {shared} = ({kind}*)columns;")
            self.say("wait_for_block();")
            each = "UNROLL for (int s = 0; s < STEPS; ++s) UNROLL for (int v = 0; v < VECTOR; ++v)"
            self.say(f"{each} {shared}[(THREAD * STEPS + s) * VECTOR + v] = {name}[s][v];")
            self.say("wait_for_block();")
            other = f"{shared}[((t * TEAM + lane) * STEPS + s) * VECTOR + v]"
            self.say(
                f"if (team == 0) for (int t = 1; t < TEAMS; ++t) {each} {name}[s][v] = {join}::of({name}[s][v], {other});"
            )
        self.say(f"{'if (team == 0) ' if g.teams > 1 else ''}UNROLL for (int s = 0; s < STEPS; ++s) {{")
        self.say(f"  const int column = first + s * {self.width} * VECTOR;")
        inside = "" if self.exact else "if (column < COLUMNS) "
        self.say(f"  {inside}UNROLL for (int v = 0; v < VECTOR; ++v) ({pointer})[column + v] = {name}[s][v];")
        self.say("}")

    def _end_total(self, reduction: Reduction, name: str, shared: str) -> None:
        g = self.g
        join, kind = JOINED[reduction.node.op], type_of(reduction.node)
        whole = not reduction.kept and g.parts > 1
        left = g.pieces * g.panels * g.cluster  # numbers that blocks leave of a part
        self.say(f"{name} = of_team<32, {join}>({name});")
        self.say("wait_for_block();")
        self.say(f"if (THREAD % 32 == 0) {shared}[THREAD / 32] = {name};")
        self.say("wait_for_block();")
        if left == 1 and not whole:
            target = f"{self.base(g.stores[id(reduction.node)])}[part]"
        else:
            place = self._spare(8 * g.parts * left)
            results = g.parts if reduction.kept else 1
            self.partials.append(Partial(reduction, place, "double", g.parts * left // results, results, 1))
            target = f"((double*)({self.argument('spare')} + {place}))[block]"
            kind = "double"
        value = f"of_warps<{g.threads // WARP}, {join}, double>({shared})"
        self.say(f"if (THREAD == 0) {target} = ({kind}){value};")

    def _spare(self, nbytes: int) -> int:
        """Room in the spare memory."""
        place = self.spare_bytes
        self.spare_bytes += -(-nbytes // ALIGNED) * ALIGNED
        return place

    def _finishing(self) -> Kernel:
        """The kernel that adds up what blocks left."""
        threads = self.around.threads or FINISHING_THREADS
        lines = [f"  SHARED(double, shared, {threads});"]
        body, self.lines = self.lines, lines
        self.arguments, first = [], 0
        for partial in self.partials:
            node = partial.reduction.node
            access = self.g.stores[id(node)]
            parts = f"(const {partial.kind}*)({self.argument('spare')} + {partial.place})"
            start = literal(IDENTITY[node.op], "double")
            words = f"{threads}, {JOINED[node.op]}, {type_of(node)}, {partial.kind}"
            if partial.columns == 1:
                blocks = partial.results
                call = (
                    f"finish_one<{words}>({parts} + (long long)at * {partial.count}, {self.base(access)} + at, "
                    f"{partial.count}, {start}, shared);"
                )
            else:
                each = -(-partial.columns // 32)  # blocks for the columns of one part
                blocks = partial.results // partial.columns * each
                size = partial.columns * partial.count
                call = (
                    f"finish_many<{words}>({parts} + (long long)(at / {each}) * {size}, {self.base(access)} + "
                    f"(long long)(at / {each}) * {partial.columns}, at % {each} * 32, {partial.columns}, "
                    f"{partial.count}, {start}, shared);"
                )
            self.say(f"if (block >= {first} && block < {first + blocks}) {{ const int at = block - {first}; {call} }}")
            first += blocks
        kernel = self._kernel(f"{self.name}_finish", self.lines, first, threads)
        self.lines = body
        return kernel

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


@dataclass(frozen=True)
class Surroundings:
    """What kernels of a function are made for: the processors of the device, the nodes that are given as numbers, the
    checks whose failing sets a flag; and threads, if one block does everything."""

    processors: int
    numbers: Container[int]
    watched: Container[int]
    threads: int | None = None


def kernels(name: str, group: Group, stored: Mapping[int, Node], surroundings: Surroundings) -> list[Kernel]:
    """The kernels of a group, in order; stored: the nodes that others need, by identity."""
    return RowKernel(name, group, stored, surroundings).written()
