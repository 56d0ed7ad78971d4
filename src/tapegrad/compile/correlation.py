"""Correlations: all results of an image as sums over taps of image·weight, a tile of them in registers at a time.

In: sizes and tiles. Out: parts of a function of LLVM: copies of images with their border and of weights as tiles read
them, in scratch memory, and the loops over tiles and taps.
"""

import math
from collections.abc import Sequence

from tapegrad.compile.elementary import BYTES
from tapegrad.compile.nests import Index, Nest
from tapegrad.compile.tiling import Axis, Border, Convolution, Source, Tiles

ALIGNED = 64
# Weights up to this size stay in the core's first cache while tiles of images are read: the smallest have 32 KiB.
SMALL_BYTES = 24 << 10


class Correlation(Nest):
    """A function while it is being written, of target, left and right operand, and scratch memory."""

    def __init__(self, name: str, sizes: Convolution, element: str):
        super().__init__(name, ("target", "left", "right", "scratch"), element, 1)
        self.sizes = sizes
        self.scratch_bytes = 0

    def reserved(self, count: int) -> str:
        """The address of so many numbers of scratch memory."""
        at = self.scratch_bytes
        self.scratch_bytes += -(-count * BYTES[self.element] // ALIGNED) * ALIGNED
        return self.writer.put(f"getelementptr i8, ptr %scratch, i64 {at}")

    def cleared(self, count: int) -> str:
        """The same, of zeros."""
        place = self.reserved(count)
        self.zeros(place, count)
        return place

    def bordered(self, source: Source, image: Index, target: str, border: Border) -> None:
        """Copies one image to memory that has a border."""
        across = border.steps[1]
        channels, height, width = source.shape[1:]
        with self.loop(channels) as c, self.loop(height) as y:
            row, part = self.divided(self.total(y, border.before[0]), border.steps[0])
            places = zip((image, c, y), source.strides[:3], strict=True)
            start = self.place(source.pointer, source.offset, *places)
            to = self.place(target, (c, border.channel), (part, across * border.area), (row, border.pitch))
            for part_across in range(across):
                first = (part_across - border.before[1]) % across
                count = len(range(first, width, across))
                if count:
                    piece = self.place(to, part_across * border.area + (first + border.before[1]) // across)
                    seen = self.place(start, first * source.strides[3])
                    self.copied(piece, seen, count, 1, across * source.strides[3])

    def packed(
        self, weights: Source, blocks: list[int], together: int, axes: Sequence[Axis], step: int, odd: str | None = None
    ) -> str:
        """Copies weights to where tiles read them: for each group, each block of channels (which starts there) and each
        tap the channels side by side, which are a step apart. The taps lie along axes, outermost first.
        odd: a number in memory that becomes nan if one of the weights is infinite or nan."""
        size = math.prod([n for n, _ in axes]) * together
        target = self.reserved(self.sizes.groups * len(blocks) * size)
        starts = self.constants(blocks)

        def along(axes: Sequence[Axis], at: Index, home: str, number: Index) -> None:
            if axes:
                (n, stride), *rest = axes
                with self.loop(n) as k:
                    along(rest, self.total(at, (k, stride)), home, self.total((number, n), k))
                return
            for k in range(together):
                value = self.number(self.place(weights.pointer, at, k * step))
                self.keep(value, self.place(home, (number, together), k))
                if odd is not None:
                    self.added(odd, self.writer.put(f"fmul {self.element} {value}, {self.zero()}"))

        with self.loop(self.sizes.groups) as group, self.loop(len(blocks)) as block:
            channel = self.entry(starts, block)
            first = self.total(weights.offset, (group, self.sizes.outward * weights.strides[0]), (channel, step))
            along(axes, first, self.place(target, (group, len(blocks) * size), (block, size)), 0)
        return target

    def correlated(
        self,
        tiles: Tiles,
        images: str,
        pitch: int,
        taps: tuple[str, int],
        weights: str,
        blocks: list[int],
        target: str,
        steps: tuple[int, int],
    ) -> None:
        """All results of one image in one group. taps: a table of where they read, and how many they are; steps: how
        far channels and rows of the results are apart."""
        self.lanes = tiles.lanes
        table, count = taps
        starts = self.constants(blocks)
        few = count * (blocks[-1] + tiles.channels) * BYTES[self.element] <= SMALL_BYTES
        turns = (-(-tiles.count // tiles.vectors), len(blocks))
        with self.loop(turns[not few]) as i, self.loop(turns[few]) as j:
            tile, block = (i, j) if few else (j, i)
            number = self.least(self.total((tile, tiles.vectors)), tiles.count - tiles.vectors)
            sources, targets = [], []
            for v in range(tiles.vectors):
                at = self.total(number, v)
                row, part = (0, at) if tiles.rows == 1 else self.divided(at, tiles.in_row)
                start = self.least(self.total((part, tiles.lanes)), tiles.width - tiles.lanes)
                sources.append(self.place(images, (row, pitch), start))
                targets.append(self.place(target, (row, steps[1]), start))
            sums = [[self.variable(self.kind, "zeroinitializer") for _ in sources] for _ in range(tiles.channels)]
            panel = self.place(weights, (block, count * tiles.channels))
            with self.loop(count) as tap:
                offset = self.entry(table, tap)
                seen = [self.vector(self.place(source, offset)) for source in sources]
                for c in range(tiles.channels):
                    weight = self.everywhere(self.number(self.place(panel, (tap, tiles.channels), c)))
                    for value, place in zip(seen, sums[c], strict=True):
                        self.add_product(place, value, weight)
            channel = self.entry(starts, block)
            for c in range(tiles.channels):
                for v, place in enumerate(targets):
                    value = self.writer.put(f"load {self.kind}, ptr {sums[c][v]}")
                    self.keep_vector(value, self.place(place, (channel, steps[0]), c * steps[0]))
