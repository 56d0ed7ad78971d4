"""A pass over the numbers of a row: what is loaded, computed, kept, stored and summed in it.

In: the nodes of a group that can be computed in this pass. Out: lines for a loop over the vectors that a thread has of
the row. A number is loaded once and stays where it was put: in registers, or in the processor's own memory.
"""

from tapegrad.compile.cuda.geometry import WARP, Access, Geometry, Reduction
from tapegrad.compile.cuda.kernel import Lines
from tapegrad.compile.cuda.language import IDENTITY, JOINED, expression, literal, type_of
from tapegrad.compile.fusion import Group, is_splat
from tapegrad.compile.operations import REDUCTIONS
from tapegrad.compile.symbol import Node, number_of


class Passes(Lines):
    """The passes over a row."""

    g: Geometry
    group: Group
    phase: dict[int, int]  # in which pass over the registers of its row each node can be computed
    kept: dict[int, str]  # what is computed in one pass and read in a later one
    slots: dict[int, int]  # by the identity of nodes, where in the processor's memory it is kept
    slot_types: list[str]
    columns: dict[int, str]  # sums by column, in registers
    totals: dict[int, str]  # sums over rows, a double for each thread
    loaded: dict[int, str]  # numbers of a row, in registers
    values: dict[int, str]  # of what is the same in the whole row
    starts: dict[tuple[int, tuple[int, ...]], str]
    elements: dict[int, str]  # of the column that is being computed
    before: list[str]  # what is read for each step
    together: int  # reductions of a row that are made at the same time
    width: str
    exact: bool
    there: str

    def _reads_in(self, reduction: Reduction) -> int:
        """The pass in which a reduction's operand is read."""
        return self.phase[id(reduction.node)] - (1 if reduction.complete else 0)

    def _pass_of(self, node: Node) -> int:
        """The pass in which a node's operands are read."""
        reduction = self.g.reductions.get(id(node))
        return self.phase[id(node)] if reduction is None else self._reads_in(reduction)

    def _in_loop(self, node: Node) -> bool:
        """Whether a node is computed for each number of a row."""
        return node.op not in REDUCTIONS and self.g.varies(node)

    def _needed_reductions(self) -> list[Reduction]:
        """The reductions that somebody reads."""
        return [x for x in self.g.reductions.values() if x.complete or id(x.node) in self.g.stores]

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

    def _pass(self, number: int) -> None:
        g = self.g
        sums = [x for x in self._needed_reductions() if self._reads_in(x) == number and g.varies(x.node.operands[0])]
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
