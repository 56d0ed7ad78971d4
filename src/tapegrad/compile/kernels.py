"""Kernels: the text of the module that computes a graph of numbers, at one point or at a vector of them.

In: a graph. Out: `Kernel`: IR with one function, `run(x, v, g, w)`, which reads inputs from x, writes the first outputs
to v and the others to g, and keeps in w what one chunk of the code leaves to a later one. It gives 1, and has written
nothing, where a guard is broken. LLVM's time grows faster than the code of a function, so a chunk is a function.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tapegrad.compile.graph import Graph
from tapegrad.compile.lowering import PREDICATES, Lowering, operation_text

# Nodes of a chunk. What crosses from one to the next is stored and loaded, as registers that run out are anyway. With
# 1,000, LLVM took three times as long for each instruction, and the code was no faster.
CHUNK = 150
# LLVM's passes take pow(2, x) for exp2(x), which gives other bits, unless they are told to leave functions alone.
ATTRIBUTES = 'nounwind noinline "no-builtins"'
POINTERS = "ptr noalias %x, ptr noalias %v, ptr noalias %g, ptr noalias %w"


@dataclass
class Kernel:
    """A module's text, and the room for numbers that its function needs in w."""

    text: str
    slots: int


@dataclass
class Chunk:
    """A function in the making."""

    number: int
    nodes: list[int] = field(default_factory=list)
    guards: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)


class Layout:
    """Which chunk computes each node, and where nodes are kept between chunks."""

    def __init__(self, graph: Graph, chunk: int) -> None:
        self.graph = graph
        self.home = [-1] * len(graph.nodes)  # the chunk of a node; -1 for inputs and constants
        computed = [k for k, node in enumerate(graph.nodes) if node.op not in ("input", "constant")]
        self.chunks = [
            Chunk(n, computed[n * chunk : (n + 1) * chunk]) for n in range(max(1, -(-len(computed) // chunk)))
        ]
        for one in self.chunks:
            for k in one.nodes:
                self.home[k] = one.number
        for index, guard in enumerate(graph.guards):
            self.chunks[max(self.home[guard.lhs], self.home[guard.rhs], 0)].guards.append(index)
        # nothing is written before the last guard has been looked at
        last_guarded = max((one.number for one in self.chunks if one.guards), default=-1)
        for index, place in enumerate(graph.outputs):
            self.chunks[max(self.home[place], last_guarded, 0)].outputs.append(index)
        self.slot: dict[int, int] = {}
        self.slots = 0
        self._place()

    def needed(self, chunk: Chunk) -> Iterator[int]:
        """The nodes that a chunk reads."""
        for k in chunk.nodes:
            yield from self.graph.nodes[k].operands
        for index in chunk.guards:
            yield from (self.graph.guards[index].lhs, self.graph.guards[index].rhs)
        for index in chunk.outputs:
            yield self.graph.outputs[index]

    def _place(self) -> None:
        """A slot for each node that a later chunk reads; free again behind the last of these."""
        last: dict[int, int] = {}
        for chunk in self.chunks:
            for k in self.needed(chunk):
                if 0 <= self.home[k] < chunk.number:
                    last[k] = chunk.number
        ends: list[list[int]] = [[] for _ in self.chunks]
        for k, end in last.items():
            ends[end].append(k)
        free: list[int] = []
        for chunk in self.chunks:
            for k in chunk.nodes:
                if k in last:
                    if not free:
                        free.append(self.slots)
                        self.slots += 1
                    self.slot[k] = free.pop()
            free += [self.slot[k] for k in ends[chunk.number]]


class Writer:
    """Writes the functions of a module."""

    def __init__(self, layout: Layout, values: int, lanes: int, points: int) -> None:
        self.layout, self.graph = layout, layout.graph
        self.values = values  # how many outputs go to v
        self.lanes = lanes
        self.points = points  # of a block: from a number of x, v or g to the next
        self.lowering = Lowering(lanes)
        self.definitions = self.lowering.definitions

    def module(self) -> str:
        """All of it."""
        first, *others = self.layout.chunks
        if self.lanes == 1 and not others:  # a call less
            function = self._function(first).replace(
                f"internal i32 @chunk0({POINTERS})", f"i32 @run({POINTERS}, i64)", 1
            )
            return "".join([*self.definitions.values(), function])
        chunks = [self._function(chunk) for chunk in self.layout.chunks]
        return "".join([*self.definitions.values(), *chunks, self._run()])

    def _function(self, chunk: Chunk) -> str:
        graph, layout, kind = self.graph, self.layout, self.lowering.kind
        lines = [f"define internal i32 @chunk{chunk.number}({POINTERS}) {ATTRIBUTES} {{\n"]
        names: dict[int, str] = {}
        inputs = {place: index for index, place in enumerate(graph.inputs)}

        def name(k: int) -> str:
            """A node as an operand; loads it where it is not here yet."""
            if k in names:
                return names[k]
            node = graph.nodes[k]
            if node.op == "constant":
                assert node.number is not None
                names[k] = self.lowering.constant(float(node.number))
                return names[k]
            base, offset = (
                ("%x", inputs[k] * self.points) if node.op == "input" else ("%w", layout.slot[k] * self.lanes)
            )
            lines.append(
                f"%p{k} = getelementptr double, ptr {base}, i64 {offset}\n%n{k} = load {kind}, ptr %p{k}, align 8\n"
            )
            names[k] = f"%n{k}"
            return names[k]

        for k in chunk.nodes:
            node = graph.nodes[k]
            text, definitions = operation_text(node.op, self.lanes)
            self.definitions |= definitions
            given = dict(zip("abc", [name(operand) for operand in node.operands], strict=False))
            lines.append(text.format(r=f"%n{k}", **given))
            names[k] = f"%n{k}"
            if k in layout.slot:
                offset = layout.slot[k] * self.lanes
                lines.append(
                    f"%q{k} = getelementptr double, ptr %w, i64 {offset}\nstore {kind} %n{k}, ptr %q{k}, align 8\n"
                )
        if chunk.guards:
            lines += self._guards(chunk, name)
        for index in chunk.outputs:
            given_name = name(graph.outputs[index])
            base, row = ("%v", index) if index < self.values else ("%g", index - self.values)
            if base == "%g":  # the interpreter's adjoints are sums that begin with 0.0, and so never -0.0
                lines.append(f"%s{index} = fadd {kind} {given_name}, {self.lowering.constant(0.0)}\n")
                given_name = f"%s{index}"
            lines.append(
                f"%o{index} = getelementptr double, ptr {base}, i64 {row * self.points}\n"
                f"store {kind} {given_name}, ptr %o{index}, align 8\n"
            )
        lines.append("ret i32 0\n}\n")
        return "".join(lines)

    def _guards(self, chunk: Chunk, name: Callable[[int], str]) -> list[str]:
        """Leaves the function where a comparison does not come out as it was recorded."""
        lines, kind, condition = [], self.lowering.kind, self.lowering.condition
        broken = self.lowering.truth(False)
        for index in chunk.guards:
            guard = self.graph.guards[index]
            # loads first: they write lines of their own
            lhs, rhs = name(guard.lhs), name(guard.rhs)
            holds = f"%holds{index}"
            lines.append(f"{holds} = fcmp {PREDICATES[guard.op]} {kind} {lhs}, {rhs}\n")
            if guard.outcome:
                lines.append(f"{holds}.not = xor {condition} {holds}, {self.lowering.truth(True)}\n")
                holds += ".not"
            lines.append(f"%broken{index} = or {condition} {broken}, {holds}\n")
            broken = f"%broken{index}"
        if self.lanes > 1:
            whole = f"llvm.vector.reduce.or.v{self.lanes}i1"
            self.definitions[whole] = f"declare i1 @{whole}({condition})\n"
            lines.append(f"%broken = call i1 @{whole}({condition} {broken})\n")
            broken = "%broken"
        return [*lines, f"br i1 {broken}, label %stop, label %on\nstop:\nret i32 1\non:\n"]

    def _run(self) -> str:
        """The function that calls the chunks, one after the other, for one vector after the other."""
        lines = [f"define i32 @run({POINTERS}, i64 %vectors) nounwind {{", "entry:", "br label %vector", "vector:"]
        lines.append("%k = phi i64 [ 0, %entry ], [ %next, %done ]")
        lines.append(f"%lane = mul i64 %k, {self.lanes}")
        for letter in "xvg":
            lines.append(f"%{letter}k = getelementptr double, ptr %{letter}, i64 %lane")
        for chunk in self.layout.chunks:
            status, broken, on = f"%s{chunk.number}", f"%b{chunk.number}", f"on{chunk.number}"
            lines.append(f"{status} = call i32 @chunk{chunk.number}(ptr %xk, ptr %vk, ptr %gk, ptr %w)")
            if chunk.guards:
                lines += [f"{broken} = icmp ne i32 {status}, 0", f"br i1 {broken}, label %stop, label %{on}", f"{on}:"]
        lines += ["br label %done", "done:", "%next = add i64 %k, 1", "%more = icmp ult i64 %next, %vectors"]
        lines += ["br i1 %more, label %vector, label %end", "stop:", "ret i32 1", "end:", "ret i32 0", "}", ""]
        return "\n".join(lines)


def kernel(graph: Graph, values: int, lanes: int = 1, points: int = 1, chunk: int = CHUNK) -> Kernel:
    """The kernel of a graph, whose first `values` outputs go to v. points: of a block, a multiple of the lanes."""
    layout = Layout(graph, chunk)
    return Kernel(Writer(layout, values, lanes, points).module(), layout.slots * lanes)
