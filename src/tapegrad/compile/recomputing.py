"""Recomputing: what a kernel computes again instead of reading it, so that it never lies in memory.

In: groups, and what the function gives back. Out: the same groups, some with nodes that another group has too. A result
is computed again by those that read it if that takes a few cheap operations on what is in memory anyway: then it is
neither written nor read, and does not take up room from the forward pass to the backward pass. The bits are the same.
"""

from collections.abc import Iterable, Sequence

from tapegrad.compile.elementary import DEAR
from tapegrad.compile.fusion import Group, is_splat, memory_of
from tapegrad.compile.operations import ELEMENTWISE
from tapegrad.compile.planning import exact_bytes
from tapegrad.compile.symbol import Node

# So many operations, each an instruction for a vector, take less time than the vector's way to memory and back.
MOST_AGAIN = 8
# An array so many times smaller, such as a number for each row, is kept instead of what follows from it.
SMALLER = 16
# Smaller arrays stay in the first cache, where nothing is gained.
LEAST_BYTES = 1 << 14

CHEAP = (ELEMENTWISE | {"broadcast_to", "copy"}) - DEAR


class Recomputing:
    """The choice for one function."""

    def __init__(self, groups: Sequence[Group], roots: Iterable[Node]):
        self.home = {id(node): group for group in groups for node in group.nodes}
        self.place = {key: k for k, key in enumerate(self.home)}  # operands first
        self.readers: dict[int, dict[int, Group]] = {}  # by node, then by the group's number
        self.read_as_view = {id(memory_of(root)) for root in roots}
        for group in groups:
            for node in group.nodes:
                self.note_reads(node, group)

    def note_reads(self, node: Node, group: Group) -> None:
        """Notes what a node of a group reads in memory."""
        for x in node.operands:
            base = memory_of(x)
            if base is not x:
                self.read_as_view.add(id(base))
            elif id(x) not in group.members:
                self.readers.setdefault(id(x), {})[group.number] = group

    def apply(self, groups: Sequence[Group]) -> None:
        """Adds to groups what they compute again."""
        for group in groups:
            if group.space is None:
                continue
            for node in list(group.nodes):
                if self.home[id(node)] is not group:
                    continue
                readers = list(self.readers.get(id(node), {}).values())
                if not readers or id(node) in self.read_as_view or exact_bytes(node) < LEAST_BYTES:
                    continue
                chains = [self.chain(node, group, reader) for reader in readers]
                if all(chain is not None for chain in chains):
                    for chain, reader in zip(chains, readers, strict=True):
                        self.join(chain or [], reader)

    def chain(self, node: Node, group: Group, reader: Group) -> list[Node] | None:
        """The nodes that a reader must have to compute a node by itself, operands first; None if that does not pay."""
        if reader.space is None or node.shape != reader.space:
            return None
        there = {id(x) for mine in reader.nodes for x in mine.operands} - {id(node)} | reader.members
        again: dict[int, Node] = {}
        moved = 0
        waiting = [(node, False)]
        while waiting:
            x, ready = waiting.pop()
            if id(x) in again or id(x) in there or is_splat(x):
                continue
            if ready:
                again[id(x)] = x
                continue
            if x.op in ("input", "array") or exact_bytes(x) * SMALLER <= exact_bytes(node):
                moved += exact_bytes(x)
                there.add(id(x))
                continue
            if x.op not in CHEAP or id(x) not in group.members or len(again) >= MOST_AGAIN:
                return None
            waiting.append((x, True))
            waiting += [(operand, False) for operand in x.operands]
        # what is saved: writing it, which reads the line first, and reading it
        return list(again.values()) if moved <= 2 * exact_bytes(node) else None

    def join(self, chain: list[Node], reader: Group) -> None:
        """Adds nodes to a group, which then reads their operands instead."""
        added = [x for x in chain if id(x) not in reader.members]
        reader.members |= {id(x) for x in added}
        reader.nodes = sorted([*reader.nodes, *added], key=lambda x: self.place[id(x)])
        for x in added:
            self.readers.get(id(x), {}).pop(reader.number, None)
            self.note_reads(x, reader)
            bases = [id(memory_of(operand)) for operand in x.operands]
            reader.needs |= {self.home[base].number for base in bases if base in self.home} - {reader.number}


def recompute(groups: Sequence[Group], roots: Iterable[Node]) -> None:
    """Lets groups compute again what costs less than to keep it; roots: what must be in memory at the end."""
    Recomputing(groups, roots).apply(groups)
