"""A traced function in groups: what shares a pass over memory, what lies in memory, and from when to when.

In: a traced function. Out: `GroupedFunction`, of which each target (LLVM's code, CUDA's) makes its steps.
"""

from typing import Any

from tapegrad.compile import planning
from tapegrad.compile.fusion import Fusion, Group, is_splat, memory_of
from tapegrad.compile.graph import Graph
from tapegrad.compile.operations import VIEWS
from tapegrad.compile.symbol import Node, ordered
from tapegrad.compile.trace import TracedFunction


def own_memory(outputs: list[Node]) -> list[Node]:
    """Nodes for results, each an array of its own: what is an argument, a constant, a view or twice there is copied."""
    seen: set[int] = set()
    results = []
    for node in outputs:
        base = node
        while base.op == "reshape":
            base = base.operands[0]
        shown = base.op in VIEWS or base.op in ("input", "array", "constant") or (node.shape and id(base) in seen)
        results.append(Node("copy", (node,), None, node.shape, node.dtype) if shown else node)
        seen.add(id(base))
    return results


def is_plain(tree: Any) -> bool:
    """Whether a structure is made of nothing but lists, tuples and dicts: none with names, say."""
    if isinstance(tree, dict):
        return type(tree) is dict and all(is_plain(item) for item in tree.values())
    if isinstance(tree, (list, tuple)):
        return type(tree) in (list, tuple) and all(is_plain(item) for item in tree)
    return True


def graph_of(nodes: list[Node], function: TracedFunction) -> Graph:
    """The nodes of a traced function as a graph of typed nodes."""
    graph = Graph()
    places: dict[int, int] = {}
    for node in nodes:
        if node.op == "input":
            places[id(node)] = graph.input(node.dtype.name, node.shape)
        elif node.op == "constant":
            places[id(node)] = graph.constant(node.settings, node.dtype.name)
        else:
            settings = () if node.settings is None else (("settings", f"{node.settings!r:.60}"),)
            operands = [places[id(x)] for x in node.operands]
            places[id(node)] = graph.add(
                node.op, *operands, dtype=node.dtype.name, shape=node.shape, attributes=settings
            )
    graph.outputs = [places[id(node)] for node in function.outputs]
    return graph


class GroupedFunction:
    """A traced function, its nodes in groups, and which of them are in memory."""

    def __init__(self, function: TracedFunction):
        self.function = function
        function.outputs = own_memory(function.outputs)
        self.roots = [*function.outputs, *[node for node, _ in function.checks]]
        self.nodes = self._prepared()
        self.fusion = self._fused()
        self.groups = self.fusion.ordered()
        self._compute_again()
        self._find_stored()
        self.groups = planning.frugal(self.groups, self._traffic())

    def _prepared(self) -> list[Node]:
        """The nodes, operands first."""
        return ordered(self.roots)

    def _fused(self) -> Fusion:
        return Fusion(self.nodes)

    def _compute_again(self) -> None:
        """Lets groups compute what they would read, on a target whose kernels gain by it."""

    def _find_stored(self) -> None:
        """The nodes that are in memory: what is read by another group, or given back."""
        self.stored: dict[int, Node] = {}
        readers: list[tuple[Node, Group | None]] = [(root, None) for root in self.roots]
        for group in self.groups:
            readers += [(x, group) for node in group.nodes for x in node.operands]
        for x, reader in readers:
            base = self._memory_of(x)
            inside = reader is not None and id(base) in reader.members
            if not inside or base is not x:
                self.stored[id(base)] = base

    @staticmethod
    def _memory_of(x: Node) -> Node:
        """The node whose memory holds a node's numbers."""
        return memory_of(x)

    def _traffic(self) -> planning.Traffic:
        """What groups write and read in memory."""
        written = [self._written(group) for group in self.groups]
        read = []
        for group in self.groups:
            bases = [self._memory_of(x) for node in group.nodes for x in node.operands]
            read.append(list({id(x): x for x in bases if id(x) not in group.members}.values()))
        known = {id(node) for nodes in written for node in nodes}
        ours = {id(self._memory_of(root)) for root in self.roots}
        return planning.Traffic(written, read, ours | {id(x) for nodes in read for x in nodes if id(x) not in known})

    def _read(self) -> list[tuple[Node, Node]]:
        """What each group reads: the node, and the one whose memory that is, which may be larger or smaller."""
        pairs = []
        for group in self.groups:
            outside = {id(x): x for node in group.nodes for x in node.operands if id(x) not in group.members}
            known = [(x, self._memory_of(x)) for x in outside.values() if x.op != "arange" and not is_splat(x)]
            pairs += [(x, base) for x, base in known if id(base) not in group.members]
        return pairs

    def _written(self, group: Group) -> list[Node]:
        return [node for node in group.nodes if id(node) in self.stored]

    def _lives(self) -> dict[int, tuple[int, int]]:
        """For each node in memory the first and the last group during which it is needed."""
        lives: dict[int, tuple[int, int]] = {}
        for number, group in enumerate(self.groups):
            for node in group.nodes:
                first, last = lives.get(id(node), (number, number))
                lives[id(node)] = first, max(last, number)
                for x in node.operands:
                    base = id(self._memory_of(x))
                    first, last = lives.get(base, (number, number))
                    lives[base] = min(first, number), max(last, number)
        for node in self.roots:
            base = id(self._memory_of(node))
            lives[base] = lives.get(base, (0, 0))[0], len(self.groups)
        return lives

    def shown(self) -> str:
        """The operations, one on each line, in the words of the graph that programs become too."""
        return str(graph_of(self.nodes, self.function))
