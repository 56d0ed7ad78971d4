"""Convolutions in compiled functions, and their adjoints for images and for weights: computed directly, without copies
of windows.

In: a node that is one of the three, and where its operands lie. Out: a function of LLVM, or None where the interpreted
way is to be taken. The images' adjoint is, for each remainder of places by the stride, a convolution of the cotangent
with some of the weights; the weights' adjoint is a sum over places for each tile of channels and taps.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tapegrad.compile import llvm
from tapegrad.compile.correlation import Correlation
from tapegrad.compile.elementary import BYTES, NAMES
from tapegrad.compile.fusion import KINDS
from tapegrad.compile.nests import Index
from tapegrad.compile.symbol import Node
from tapegrad.compile.tiling import Axis, Border, Convolution, Phase, Source, Tiles, nearby, starting, tiles_for
from tapegrad.tensor.rules.windows import CONV2D, CONV2D_IMAGES, CONV2D_WEIGHTS

# Sums for the weights are kept as vectors up to this size, which the second cache holds, else added up in every image.
MOST_SUMS_BYTES = 1 << 19
# The table of taps is part of the code; with more it would be long to compile.
MOST_TAPS = 1 << 15
# Tables hold 32 bits.
MOST_NUMBERS = 1 << 30


def of_node(node: Node) -> Convolution | None:
    """The convolution that a node computes or is an adjoint of; None if it is neither."""
    if node.op != "primitive" or node.settings[0] not in (CONV2D, CONV2D_IMAGES, CONV2D_WEIGHTS):
        return None
    primitive, settings = node.settings
    first, second = (x.shape for x in node.operands)
    if primitive is CONV2D_IMAGES:
        sizes = node.shape, second, first
    elif primitive is CONV2D_WEIGHTS:
        sizes = first, node.shape, second
    else:
        sizes = first, second, node.shape
    window, groups = settings[:2]
    return Convolution(*sizes, window.stride, window.padding, groups)


def supported(node: Node) -> bool:
    """Whether there is machine code for a node."""
    sizes = of_node(node)
    if sizes is None or any(str(x.dtype) != str(node.dtype) for x in node.operands):
        return False
    if KINDS.get(str(node.dtype)) not in NAMES or 0 in (*sizes.images, *sizes.weights, *sizes.results):
        return False
    taps = math.prod(sizes.weights[2:]) * max(sizes.inward, sizes.outward)
    return taps <= MOST_TAPS and math.prod(sizes.images) + math.prod(sizes.results) < MOST_NUMBERS


class Forward(Correlation):
    """The convolution itself."""

    def write(self, images: Source, weights: Source) -> None:
        """Writes the function."""
        sizes = self.sizes
        count, outputs, height, width = sizes.results
        border = sizes.border()
        tiles = tiles_for(sizes.outward, height, width, border.pitch, self.element, True)
        taps = sizes.taps(border)
        table = self.constants(taps), len(taps)
        blocks = starting(sizes.outward, tiles.channels)
        axes = list(zip(sizes.weights[1:], weights.strides[1:], strict=True))
        panels = self.packed(weights, blocks, tiles.channels, axes, weights.strides[0])
        bordered = self.cleared(sizes.images[1] * border.channel + tiles.lanes)  # whose last vector reaches beyond
        through = None if tiles.in_place else self.reserved(sizes.outward * tiles.width)
        area = height * width
        with self.loop(count) as image:
            self.bordered(images, image, bordered, border)
            with self.loop(sizes.groups) as group:
                source = self.place(bordered, (group, sizes.inward * border.channel))
                target = self.place("%target", (image, outputs * area), (group, sizes.outward * area))
                weight = self.place(panels, (group, len(blocks) * len(taps) * tiles.channels))
                if through is None:
                    self.correlated(tiles, source, border.pitch, table, weight, blocks, target, (area, width))
                else:
                    self.correlated(tiles, source, border.pitch, table, weight, blocks, through, (tiles.width, 0))
                    with self.loop(sizes.outward) as c, self.loop(height) as y:
                        row = self.place(through, (c, tiles.width), (y, border.pitch))
                        self.copied(self.place(target, (c, area), (y, width)), row, width)


class ForImages(Correlation):
    """The adjoint for the images."""

    def write(self, cotangent: Source, weights: Source) -> None:
        """Writes the function."""
        sizes = self.sizes
        downs, acrosses = ([Phase.of(sizes, axis, a) for a in range(sizes.stride[axis])] for axis in range(2))
        before = max(phase.before for phase in downs), max(phase.before for phase in acrosses)
        rows = sizes.results[2] + before[0] + max(phase.after for phase in downs)
        pitch = sizes.results[3] + before[1] + max(phase.after for phase in acrosses)
        border = Border((1, 1), before, pitch, rows * pitch)
        phases = [(down, across) for down in downs for across in acrosses if down.count and across.count]
        read = [(down, across) for down, across in phases if down.taps and across.taps]
        plans = [
            tiles_for(sizes.inward, down.count, across.count, pitch, self.element, sizes.stride == (1, 1))
            for down, across in read
        ]
        odd = self.variable(self.element, self.zero())
        bordered = self.cleared(sizes.results[1] * border.channel + max([0, *(tiles.lanes for tiles in plans)]))
        longest = max([0, *(tiles.width for tiles in plans if not tiles.in_place)])
        through = self.reserved(sizes.inward * longest)
        if len(read) < len(phases):
            self.zeros("%target", math.prod(sizes.images))  # where no window reads
        for (down, across), tiles in zip(read, plans, strict=True):
            self._phase(cotangent, weights, down, across, tiles, border, bordered, through, odd)
        number = self.number(odd)
        with self.where(self.writer.put(f"fcmp uno {self.element} {number}, {number}")):
            self._scattered(cotangent, weights)

    def _phase(
        self,
        cotangent: Source,
        weights: Source,
        down: Phase,
        across: Phase,
        tiles: Tiles,
        border: Border,
        bordered: str,
        through: str,
        odd: str,
    ) -> None:
        """The places of one remainder."""
        sizes = self.sizes
        count, channels, height, width = sizes.images
        reads = [
            o * border.area + (border.before[0] + down.first - j) * border.pitch + (border.before[1] + across.first - i)
            for o in range(sizes.outward)
            for j in range(down.taps)
            for i in range(across.taps)
        ]
        table = self.constants(reads), len(reads)
        blocks = starting(sizes.inward, tiles.channels)
        axes: list[Axis] = [
            (sizes.outward, weights.strides[0]),
            (down.taps, sizes.stride[0] * weights.strides[2]),
            (across.taps, sizes.stride[1] * weights.strides[3]),
        ]
        first = weights.offset + down.remainder * weights.strides[2] + across.remainder * weights.strides[3]
        filters = Source(weights.pointer, first, weights.shape, weights.strides)
        panels = self.packed(filters, blocks, tiles.channels, axes, weights.strides[1], odd)
        area = height * width
        with self.loop(count) as image:
            self.bordered(cotangent, image, bordered, border)
            with self.loop(sizes.groups) as group:
                source = self.place(bordered, (group, sizes.outward * border.area))
                target = self.place("%target", (image, channels * area), (group, sizes.inward * area))
                weight = self.place(panels, (group, len(blocks) * len(reads) * tiles.channels))
                if tiles.in_place:
                    self.correlated(tiles, source, border.pitch, table, weight, blocks, target, (area, width))
                else:
                    self.correlated(tiles, source, border.pitch, table, weight, blocks, through, (tiles.width, 0))
                    start = down.start * width + across.start
                    with self.loop(sizes.inward) as c, self.loop(down.count) as y:
                        to = self.place(target, (c, area), (y, width * sizes.stride[0]), start)
                        row = self.place(through, (c, tiles.width), (y, border.pitch))
                        self.copied(to, row, across.count, sizes.stride[1], 1)

    def _scattered(self, cotangent: Source, weights: Source) -> None:
        """The same where a weight is infinite or nan: the border's zeros times that would be nan."""
        sizes = self.sizes
        outputs, (_, channels, height, width) = sizes.results[1], sizes.images
        area = height * width
        self.zeros("%target", math.prod(sizes.images))
        with self.loop(sizes.results[0]) as image, self.loop(outputs) as o, self.loop(sizes.inward) as c:
            group, _ = self.divided(o, sizes.outward)
            target = self.place("%target", (image, channels * area), (group, sizes.inward * area), (c, area))
            with self.loop(sizes.weights[2]) as r, self.loop(sizes.weights[3]) as s, self.loop(sizes.results[2]) as y:
                steps = zip((o, c, r, s), weights.strides, strict=True)
                weight = self.number(self.place(weights.pointer, weights.offset, *steps))
                row = self.total((y, sizes.stride[0]), r, -sizes.padding[0])
                with self.loop(sizes.results[3]) as x:
                    column = self.total((x, sizes.stride[1]), s, -sizes.padding[1])
                    with self.where(self.below((row, height), (column, width))):
                        steps = zip((image, o, y, x), cotangent.strides, strict=True)
                        number = self.number(self.place(cotangent.pointer, cotangent.offset, *steps))
                        product = self.writer.put(f"fmul {self.element} {weight}, {number}")
                        self.added(self.place(target, (row, width), column), product)


class ForWeights(Correlation):
    """The adjoint for the weights."""

    def write(self, images: Source, cotangent: Source) -> None:
        """Writes the function."""
        sizes = self.sizes
        count, outputs, height, width = sizes.results
        border = sizes.border()
        reads = sizes.taps(border)
        self.table = self.constants(reads)
        wide = llvm.machine().vector_bits == 512  # 24 sums of 32 registers, or 12 of 16
        self.deep, self.far = min(sizes.outward, 4 if wide else 3), min(len(reads), 6 if wide else 4)
        self.blocks, self.panels = starting(sizes.outward, self.deep), starting(len(reads), self.far)
        self.starts = self.constants(self.blocks), self.constants(self.panels)
        flat = border.pitch == width
        self.rows, self.length = (1, height * width) if flat else (height, width)
        self.lanes = nearby(self.length, llvm.machine().lanes(NAMES[self.element]))
        self.each = self.deep * self.far * self.lanes
        tiles = sizes.groups * len(self.blocks) * len(self.panels)
        overlapping = len(reads) % self.far or sizes.outward % self.deep  # what is in two tiles would be added twice
        self.kept = bool(tiles * self.each * BYTES[self.element] <= MOST_SUMS_BYTES or overlapping)
        sums = self.cleared(tiles * self.each) if self.kept else None
        bordered = self.cleared(sizes.images[1] * border.channel + self.lanes)
        in_place = cotangent.strides[3] == 1 and cotangent.strides[2] == width
        moved = "" if in_place else self.reserved(outputs * height * width)
        if not self.kept:
            self.zeros("%target", math.prod(sizes.weights))
        with self.loop(count) as image:
            self.bordered(images, image, bordered, border)
            if in_place:
                above = self.place(cotangent.pointer, cotangent.offset, (image, cotangent.strides[0]))
                step = cotangent.strides[1]
            else:
                above, step = moved, height * width
                self.bordered(cotangent, image, moved, Border((1, 1), (0, 0), width, step))
            with self._tiles() as (group, block, panel, number):
                source = self.place(bordered, (group, sizes.inward * border.channel))
                home = None if sums is None else self.place(sums, (number, self.each))
                totals = self._over_places(source, border, above, step, (group, block, panel), home)
                if home is None:
                    self._finish((group, block, panel), lambda k: self.writer.put(f"load {self.kind}, ptr {totals[k]}"))
        if sums is not None:
            with self._tiles() as (group, block, panel, number):
                home = self.place(sums, (number, self.each))
                self._finish((group, block, panel), lambda k: self.vector(self.place(home, k * self.lanes)))

    @contextmanager
    def _tiles(self) -> Iterator[tuple[Index, Index, Index, Index]]:
        """A loop over groups, blocks of channels and panels of taps; and the number of the tile."""
        blocks, panels = len(self.blocks), len(self.panels)
        with self.loop(self.sizes.groups) as group, self.loop(blocks) as block, self.loop(panels) as panel:
            yield group, block, panel, self.total((group, blocks * panels), (block, panels), panel)

    def _over_places(
        self, source: str, border: Border, above: str, step: int, tile: tuple[Index, Index, Index], home: str | None
    ) -> list[str]:
        """The sums of a tile over all places of an image, each a vector, added to what is at home."""
        group, block, panel = tile
        channel, tap = self.entry(self.starts[0], block), self.entry(self.starts[1], panel)
        given = self.place(above, (group, self.sizes.outward * step), (channel, step))
        seen = [self.place(source, self.entry(self.table, self.total(tap, t))) for t in range(self.far)]
        totals = []
        for k in range(self.deep * self.far):
            before = "zeroinitializer" if home is None else self.vector(self.place(home, k * self.lanes))
            totals.append(self.variable(self.kind, before))

        def vectors(row: Index, at: Index, mask: str | None = None) -> None:
            place = self.total((row, self.length), at)
            left = [self.vector(self.place(given, place, c * step), mask) for c in range(self.deep)]
            for t in range(self.far):
                right = self.vector(self.place(seen[t], (row, border.pitch), at), mask)
                for c in range(self.deep):
                    self.add_product(totals[c * self.far + t], right, left[c])

        whole = self.length // self.lanes * self.lanes
        with self.loop(self.rows) as row:
            if whole:
                with self.loop(whole, self.lanes) as at:
                    vectors(row, at)
            if whole < self.length:
                flags = ["true" if whole + k < self.length else "false" for k in range(self.lanes)]
                vectors(row, whole, f"<{', '.join(f'i1 {flag}' for flag in flags)}>")
        if home is not None:
            for k, place in enumerate(totals):
                self.keep_vector(self.writer.put(f"load {self.kind}, ptr {place}"), self.place(home, k * self.lanes))
        return totals

    def _finish(self, tile: tuple[Index, Index, Index], total: Callable[[int], str]) -> None:
        """The sums of a tile as weights; where nothing is kept they are added to what is there."""
        group, block, panel = tile
        taps = math.prod(self.sizes.weights[1:])
        channel, tap = self.entry(self.starts[0], block), self.entry(self.starts[1], panel)
        target = self.place("%target", (group, self.sizes.outward * taps), (channel, taps), tap)
        for c in range(self.deep):
            for t in range(self.far):
                value, place = self.lane_sum(total(c * self.far + t)), self.place(target, c * taps + t)
                if self.kept:
                    self.keep(value, place)
                else:
                    self.added(place, value)


def convolution(name: str, node: Node, lying: Sequence[tuple[int, tuple[int, ...]]]) -> Correlation:
    """The function for a supported node whose operands lie at these offsets with these strides."""
    sizes = of_node(node)
    assert sizes is not None
    left, right = (
        Source(pointer, offset, x.shape, strides)
        for pointer, x, (offset, strides) in zip(("%left", "%right"), node.operands, lying, strict=True)
    )
    kinds: dict[object, type[Forward | ForImages | ForWeights]] = {
        CONV2D: Forward,
        CONV2D_IMAGES: ForImages,
        CONV2D_WEIGHTS: ForWeights,
    }
    written = kinds[node.settings[0]](name, sizes, KINDS[str(node.dtype)])
    written.write(left, right)
    return written
