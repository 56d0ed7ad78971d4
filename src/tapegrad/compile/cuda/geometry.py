"""How a group is spread over threads: which axis they go along, how many share a row, and what each result comes from.

In: a group of nodes. Out: `Geometry`. The last axis is the row; the others are gone through row by row. Where nothing
needs a whole row it is cut into panels, each for another block. Axes that some result keeps while others are summed
come first: all rows of one such part belong together.
"""

import math
from collections.abc import Container
from dataclasses import dataclass

from tapegrad.compile.cuda.language import BYTES, type_of
from tapegrad.compile.fusion import Group, contiguous, is_splat, on_space, view_of
from tapegrad.compile.operations import REDUCTIONS
from tapegrad.compile.symbol import Node
from tapegrad.errors import InputError

# A row that is gone through again is kept in registers: so many numbers at most, by a cluster of eight blocks.
LONGEST_ROW = 1 << 15
WARP, USUAL_THREADS, MOST_THREADS = 32, 256, 1024
# Of its registers a thread gives so many bytes to each of the arrays that it keeps of a row: 32 floats of one or two.
KEPT_BYTES = 256
# As many blocks as a device holds at once, for those that go over many rows: more would only be more to add up.
BLOCKS_PER_PROCESSOR = 8
VECTOR_BYTES = 16
# Blocks of 256 threads that a processor holds where each keeps 32 KiB of a long row in the processor's own memory.
BLOCKS_IN_SHARED = 6
# Rows of a cluster: two halve what starting it costs, more are spread less evenly (8192 × 32000: 587, 577, 583 µs for
# 1, 2, 8 on an H200; with as few clusters as there is room for 690).
ROWS_OF_CLUSTER = 2
# Rows that a team adds up at least before it leaves its sums: else there would be as much to add up as before.
FEWEST_ROWS = 4


class UnsupportedGroupError(Exception):
    """Nodes that no kernel computes together; each is computed by itself."""


@dataclass(frozen=True)
class Access:
    """An array that a kernel reads or writes: its node, where it starts, and a stride for each axis of the space."""

    node: Node
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Reduction:
    """What a reduction adds up: a row only, or rows; and by which axes its results differ."""

    node: Node
    of_row: bool  # along the row
    kept: tuple[int, ...]  # of the outer axes
    complete: bool  # known when its row is


def fits(length: int) -> bool:
    """Whether a row of such a length can be gone through again."""
    return length <= LONGEST_ROW


def power_of_two(number: int) -> int:
    """The smallest power of two from a number on."""
    return 1 << max(0, number - 1).bit_length()


class Geometry:
    """Axes, accesses and sizes of one kernel. threads: of the only block, if there is but one for everything."""

    def __init__(
        self, group: Group, stored: Container[int], processors: int, most_cluster: int, threads: int | None = None
    ):
        assert group.space is not None
        self.group, self.space, self.alone = group, group.space, threads
        self.most_cluster = most_cluster
        self.stored = [node for node in group.nodes if id(node) in stored]
        self._find_accesses()
        self._merge_axes()
        self._sort_reductions()
        self._choose_sizes(processors)

    # ---- what is read and written

    def _find_accesses(self) -> None:
        self.loads: dict[int, Access] = {}
        self.outside: list[Node] = []
        for node in self.group.nodes:
            for x in node.operands:
                if id(x) in self.group.members or id(x) in self.loads or is_splat(x):
                    continue
                self.outside.append(x)
                view = None if x.op == "arange" else view_of(x)
                base, offset, strides = (x, 0, contiguous(x.shape)) if view is None else view
                self.loads[id(x)] = Access(base, offset, on_space(self.space, x.shape, strides))
        self.stores = {
            id(node): Access(node, 0, on_space(self.space, node.shape, contiguous(node.shape))) for node in self.stored
        }

    def _differs(self, node: Node) -> tuple[bool, ...]:
        missing = len(self.space) - len(node.shape)
        return (False,) * missing + tuple([n > 1 for n in node.shape])

    def _reduced(self, node: Node) -> tuple[bool, ...]:
        missing = len(self.space) - len(node.shape)
        return tuple([k - missing in node.settings for k in range(len(self.space))])

    # ---- axes

    def _merge_axes(self) -> None:
        """Neighbouring axes as one wherever every array goes on evenly from one to the other."""
        reductions = [node for node in self.group.nodes if node.op in REDUCTIONS]
        patterns = [access.strides for access in (*self.loads.values(), *self.stores.values())]
        flags = [self._reduced(node) for node in reductions]
        flags += [self._differs(node) for node in (*self.group.nodes, *self.outside)]
        row = set(self.group.row or ())
        lengths: list[int] = []
        self.axes: list[int] = []  # the axis of the space whose stride a loop has
        for k in [k for k, n in enumerate(self.space) if n > 1]:
            before = self.axes[-1] if self.axes else None
            if (
                before is not None
                and all(p[before] == p[k] * self.space[k] for p in patterns)
                and all(f[before] == f[k] for f in flags)
                and (before in row) == (k in row)
            ):
                lengths[-1] *= self.space[k]
                self.axes[-1] = k
                continue
            lengths.append(self.space[k])
            self.axes.append(k)
        if row and (not self.axes or [k for k in self.axes if k in row] != self.axes[-1:]):
            raise UnsupportedGroupError
        self.columns = lengths[-1] if lengths else 1
        self.inner = self.axes[-1] if self.axes else None
        self.lengths = dict(zip(self.axes[:-1], lengths, strict=False))  # of the outer axes
        self.rows = math.prod(self.lengths.values())
        if max(self.rows, self.columns) >= 1 << 31:
            raise InputError(f"expected arrays of less than 2^31 rows and columns on a CUDA device, got {self.space}")

    def stride(self, access: Access) -> int:
        """From one number of a row to the next."""
        return 0 if self.inner is None else access.strides[self.inner]

    def varies(self, node: Node) -> bool:
        """Whether a node differs within a row."""
        return self.inner is not None and self._differs(node)[self.inner]

    # ---- reductions

    def _sort_reductions(self) -> None:
        self.reductions: dict[int, Reduction] = {}
        for node in self.group.nodes:
            if node.op not in REDUCTIONS:
                continue
            flags = self._reduced(node)
            kept = tuple([k for k in self.lengths if not flags[k]])
            of_row = self.inner is not None and flags[self.inner]
            self.reductions[id(node)] = Reduction(node, of_row, kept, of_row and len(kept) == len(self.lengths))
        whole_rows = self.group.row is not None or fits(self.columns)
        incomplete = [x for x in self.reductions.values() if not (x.complete and whole_rows)]
        self.cut = not self.group.row and not (whole_rows and any(x.complete for x in self.reductions.values()))
        if self.cut:  # then no row is known as a whole
            self.reductions = {key: Reduction(x.node, x.of_row, x.kept, False) for key, x in self.reductions.items()}
        different = {x.kept for x in incomplete if x.kept}
        if len(different) > 1:
            raise UnsupportedGroupError
        self.part_axes = different.pop() if different else ()
        self.row_axes = tuple([k for k in self.lengths if k not in self.part_axes])
        self.parts = math.prod([self.lengths[k] for k in self.part_axes])
        self.rows_of_part = self.rows // self.parts

    # ---- sizes

    def _choose_sizes(self, processors: int) -> None:
        arrays = [x for x in (*self.loads.values(), *self.stores.values()) if x.node.op != "arange"]
        along = [x for x in arrays if self.stride(x)]
        widest = max([BYTES[type_of(x.node)] for x in along], default=4)
        self.vector = max(1, VECTOR_BYTES // widest)
        for access in along:
            steps = [access.offset, *[access.strides[k] for k in self.axes[:-1]], self.columns]
            while self.stride(access) == 1 and any(step % self.vector for step in steps):
                self.vector //= 2
        while self.columns % self.vector:
            self.vector //= 2
        per_column = [x for x in self.reductions.values() if not x.of_row and self.varies(x.node)]
        lanes = -(-self.columns // self.vector)
        if self.alone is not None:
            self.threads = self.alone
            self.team = min(self.alone, power_of_two(lanes))
            self.team = self.team if self.cut or self.team <= WARP else self.alone
            self.cluster, self.panels = 1, 1
            self.steps = -(-lanes // self.team)
        elif self.cut:
            self.cluster = 1
            several = 1 if per_column or self.rows > 1 or len(along) > 6 else 4
            self.team = min(USUAL_THREADS, power_of_two(-(-lanes // several)))
            self.threads = USUAL_THREADS
            self.steps = min(several, -(-lanes // self.team))
            self.panels = -(-lanes // (self.team * self.steps))
        else:
            held = [x for x in along if x.node.op != "arange" and id(x.node) not in self.stores]
            self._choose_team(widest, len(held) + len(per_column), lanes)
        self.teams = self.threads // self.team if self.cluster == 1 else 1
        rounds = -(-self.rows_of_part // self.teams)
        if self.alone is not None:
            self.pieces = 1
        elif self.cluster > 1:  # clusters stay for several rows: to start one takes as long as to load a row
            most = processors * BLOCKS_IN_SHARED // (self.cluster * self.threads // USUAL_THREADS)
            self.pieces = min(rounds, max(1, most // min(self.parts, max(most, 1)), -(-rounds // ROWS_OF_CLUSTER)))
        elif per_column or (self.cut and self.reductions):
            most = processors * BLOCKS_PER_PROCESSOR // (self.panels * self.cluster * max(1, self.threads // 256))
            self.pieces = max(1, min(-(-rounds // FEWEST_ROWS), most // min(self.parts, max(most, 1))))
        else:
            self.pieces = max(1, rounds)
        self.blocks = self.parts * self.pieces * self.panels * self.cluster

    def _choose_team(self, widest: int, arrays: int, lanes: int) -> None:
        """Threads for whole rows: those of a part of a warp, a warp, a block or a cluster of blocks."""
        kept = len([x for x in self.group.nodes if self.varies(x)]) > 1
        each = KEPT_BYTES // max(2, power_of_two(arrays + kept))  # bytes of each array
        if arrays <= 1:
            each = KEPT_BYTES // 2
        steps = max(1, each // (widest * self.vector))
        if lanes <= WARP:
            self.team, self.threads, self.cluster = power_of_two(lanes), USUAL_THREADS, 1
        elif lanes <= WARP * steps:
            self.team, self.threads, self.cluster = WARP, USUAL_THREADS, 1
        else:
            wanted = power_of_two(-(-lanes // steps))
            self.threads = min(wanted, USUAL_THREADS)
            self.cluster = wanted // self.threads
            while self.cluster > self.most_cluster and self.threads < MOST_THREADS:
                self.threads, self.cluster = 2 * self.threads, self.cluster // 2
            self.cluster = min(self.cluster, self.most_cluster)
            self.team = self.threads
        self.panels = 1
        self.steps = -(-lanes // (self.team * self.cluster))
