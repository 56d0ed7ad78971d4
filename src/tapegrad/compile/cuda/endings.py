"""After the last row: what threads have summed up becomes results, or is left for a kernel that adds it up.

In: the sums of a thread, by column or in all. Out: lines that store them, and the kernel that finishes. The order in
which numbers are added depends on sizes alone, never on which block came first.
"""

from dataclasses import dataclass

from tapegrad.compile.cuda.geometry import BLOCKS_IN_SHARED, USUAL_THREADS, WARP, Reduction
from tapegrad.compile.cuda.kernel import Kernel, text_of_block
from tapegrad.compile.cuda.language import BYTES, IDENTITY, JOINED, literal, type_of
from tapegrad.compile.cuda.passes import Passes
from tapegrad.compile.symbol import Node

# Threads of a block that adds up what others left: half a processor's.
FINISHING_THREADS = 512
ALIGNED = 256
# Threads that a processor is to hold where each keeps much of a row, so that some load while others compute; each then
# has 80 registers (logsumexp of 8192²: 143, 137, 143 µs with 1024, 768, 512 on an H200).
KEEPING_THREADS = 768


@dataclass
class Partial:
    """What blocks leave of a reduction, to be added up: where in the spare memory, how many for each result."""

    reduction: Reduction
    place: int
    kind: str  # of the numbers there
    count: int
    results: int  # with a count each
    columns: int  # results that lie side by side


class Endings(Passes):
    """Passes, and what comes after them."""

    name: str
    partials: list[Partial]
    spare_bytes: int

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
            joined = f"{name}[s][v] = {join}::of({name}[s][v], {other});"
            self.say(f"if (team == 0) for (int t = 1; t < TEAMS; ++t) {each} {joined}")
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
