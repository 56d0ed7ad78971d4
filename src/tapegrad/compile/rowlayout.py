"""The layout of a kernel over rows: what it reads and writes, along which loops, and in how many passes over a row.

In: a group of nodes, which of them others need, and how many threads may share it. Out: `RowLayout`, of which
rowkernels.py makes LLVM's text.
"""

from collections.abc import Container
from dataclasses import dataclass

from tapegrad.compile import llvm
from tapegrad.compile.elementary import BYTES, DEAR
from tapegrad.compile.fusion import KINDS, Group, contiguous, is_splat, on_space, view_of
from tapegrad.compile.operations import REDUCTIONS
from tapegrad.compile.planning import padded
from tapegrad.compile.sharing import Shared, pays
from tapegrad.compile.symbol import Node

# After so many numbers of a row a sum's accumulators are added up.
CHUNK = 4096


class UnsupportedGroupError(Exception):
    """A group that has no kernel; its operations are executed one by one."""


@dataclass
class Access:
    """An array that a kernel reads or writes: its node, where it starts, and a stride for each axis of the loops."""

    node: Node
    offset: int
    strides: tuple[int, ...]


def element_of(node: Node) -> str:
    """The type of a node's numbers in LLVM."""
    return KINDS[str(node.dtype)]


class RowLayout:
    """Loops over rows, and what is computed in which of the passes over a row."""

    def __init__(self, group: Group, stored: Container[int], threads: int):
        assert group.space is not None
        self.group = group
        self.space = group.space
        self.stored = [node for node in group.nodes if id(node) in stored]
        self.loads: dict[int, Access] = {}
        self._find_loads()
        self.stores: dict[int, Access] = {
            id(node): Access(node, 0, on_space(self.space, node.shape, contiguous(node.shape))) for node in self.stored
        }
        self.reductions = [node for node in group.nodes if node.op in REDUCTIONS]
        self._merge_axes()
        self._assign_phases()
        self.kept: dict[int, int] = {}  # what a later pass reads from a row of its own, and where that is
        self.scratch_bytes = 0
        self._choose_kept()
        self.parts = self._parts(threads)

    @property
    def bases(self) -> list[Node]:
        """The arrays that are read and written, each once."""
        accesses = [access for access in (*self.loads.values(), *self.stores.values()) if access.node.op != "arange"]
        return list({id(access.node): access.node for access in accesses}.values())

    def _find_loads(self) -> None:
        self.outside: list[Node] = []
        for node in self.group.nodes:
            for x in node.operands:
                if id(x) in self.group.members or id(x) in self.loads or is_splat(x):
                    continue
                self.outside.append(x)
                if x.op == "arange":
                    self.loads[id(x)] = Access(x, 0, on_space(self.space, x.shape, (1,)))
                    continue
                view = view_of(x)
                base, offset, strides = (x, 0, contiguous(x.shape)) if view is None else view
                self.loads[id(x)] = Access(base, offset, on_space(self.space, x.shape, strides))

    def _spread(self, node: Node) -> tuple[bool, ...]:
        """Along which axes of the space a node's numbers differ."""
        missing = len(self.space) - len(node.shape)
        return (False,) * missing + tuple([n > 1 for n in node.shape])

    def reduced(self, node: Node) -> tuple[bool, ...]:
        """Along which axes of the space a reduction goes."""
        missing = len(self.space) - len(node.shape)
        axes = {k + missing for k in node.settings}
        return tuple([k in axes for k in range(len(self.space))])

    def _merge_axes(self) -> None:
        """Neighbouring axes as one wherever every array goes on evenly from one to the other."""
        axes = [k for k, n in enumerate(self.space) if n > 1]
        patterns = [access.strides for access in (*self.loads.values(), *self.stores.values())]
        flags = [self.reduced(node) for node in self.reductions]
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
            return k >= 0 and node.shape[k] > 1 and not self.reduced(node)[self.inner]
        return k >= 0 and node.shape[k] > 1

    def _assign_phases(self) -> None:
        """In which pass over its row each node can be computed."""
        self.phase: dict[int, int] = {}
        for node in self.group.nodes:
            phase = max([self.phase.get(id(x), 0) for x in node.operands], default=0)
            if node.op in REDUCTIONS and self.ends_with_row(node):
                phase += 1
            self.phase[id(node)] = phase
        self.passes = 1 + max([self.phase[id(n)] for n in self.group.nodes if self.in_loop(n)], default=0)

    def ends_with_row(self, node: Node) -> bool:
        """Whether a reduction is complete, for its row, when the row is."""
        if self.inner is None:
            return False
        return self.reduced(node)[self.inner]

    def of_rows_only(self, node: Node) -> bool:
        """Whether a reduction adds up nothing but a row."""
        flags = self.reduced(node)
        return self.ends_with_row(node) and sum(flags[k] for k in self.last) == 1

    def in_loop(self, node: Node) -> bool:
        """Whether a node is computed in the loop over a row."""
        if node.op in REDUCTIONS:
            return False
        return self.varies(node)

    def pass_of(self, node: Node) -> int:
        """The pass in which a node's operands are read."""
        phase = self.phase[id(node)]
        return phase - 1 if node.op in REDUCTIONS and self.ends_with_row(node) else phase

    def _choose_kept(self) -> None:
        """What is dear to compute and read in a later pass than its own."""
        dear: dict[int, bool] = {}
        for node in self.group.nodes:
            inside = [x for x in node.operands if id(x) in self.group.members and self.in_loop(x)]
            dear[id(node)] = node.op in DEAR or any(dear[id(x)] for x in inside)
        for node in self.group.nodes:
            for x in node.operands:
                if id(x) not in self.group.members or not self.in_loop(x) or id(x) in self.kept:
                    continue
                if dear[id(x)] and self.pass_of(node) > self.phase[id(x)] and id(x) not in self.stores:
                    self.kept[id(x)] = self.scratch_bytes
                    size = (self.length + 2 * self.lanes) * BYTES[element_of(x)]
                    self.scratch_bytes += padded(size)

    def written_over(self) -> list[tuple[Node, Node]]:
        """What may lie where something lies that is read: if each number is read before the one in its place is
        written, and not again later."""
        pairs = []
        for node in self.stored:
            if not self.in_loop(node) or self.phase[id(node)] != self.passes - 1:
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

    def _parts(self, threads: int) -> int:
        """How many threads share the rows, or the numbers of a single one; 1 where that does not pay, or what is
        computed of the whole row is needed again."""
        if threads == 1 or not self.lengths or not pays(self.group):
            return 1
        later = any(self.phase[id(n)] and n.op not in REDUCTIONS for n in self.group.nodes)
        if len(self.lengths) == 1 and (self.passes > 1 or later):
            return 1
        return max(1, min(threads, self.lengths[0] // self._step()))

    def _step(self) -> int:
        """Parts start at multiples of it."""
        return 1 if len(self.lengths) > 1 else CHUNK

    def shared(self, name: str) -> Shared:
        """How threads do it together."""
        single = len(self.lengths) == 1
        summed = [n for n in self.stored if n.op in REDUCTIONS and (single or not self.of_rows_only(n))]
        rows = self.lengths[0], self._step()
        return Shared(name, self.bases, summed, self.scratch_bytes, rows, self.parts)
