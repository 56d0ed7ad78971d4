"""The sizes of convolutions, and how their results are cut into tiles that fit the registers. Numbers only.

In: shapes, a window's stride and padding. Out: tiles, blocks of channels, taps, and the phases of the images' adjoint.
A tap is one channel and position of a window: one product in each sum.
"""

from dataclasses import dataclass

from tapegrad.compile import llvm
from tapegrad.compile.elementary import NAMES

Axis = tuple[int, int]  # how many, and how far apart


@dataclass(frozen=True)
class Source:
    """An operand in memory: its pointer, and where its numbers are, counted from there."""

    pointer: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Border:
    """How images lie once they are copied: rows a pitch apart, channels an area apart. A window that moves by several
    places reads every second (third, ...) of them: there is an image for each remainder, an area apart too."""

    steps: tuple[int, int]
    before: tuple[int, int]  # rows above, columns to the left
    pitch: int
    area: int

    @property
    def parts(self) -> int:
        """The images of a channel."""
        return self.steps[0] * self.steps[1]

    @property
    def channel(self) -> int:
        """How far channels are apart."""
        return self.parts * self.area


@dataclass(frozen=True)
class Convolution:
    """The sizes of one convolution: of images with weights, giving results."""

    images: tuple[int, ...]
    weights: tuple[int, ...]
    results: tuple[int, ...]
    stride: tuple[int, int]
    padding: tuple[int, int]
    groups: int

    @property
    def inward(self) -> int:
        """The channels of images in a group."""
        return self.weights[1]

    @property
    def outward(self) -> int:
        """The channels of results in a group."""
        return self.weights[0] // self.groups

    def border(self) -> Border:
        """The images, copied."""
        height, width = (
            -(-(n + 2 * around) // step)
            for n, around, step in zip(self.images[2:], self.padding, self.stride, strict=True)
        )
        return Border(self.stride, self.padding, width, height * width)

    def taps(self, border: Border) -> list[int]:
        """Where each tap of a window reads in the images, from where its first does."""
        down, across = self.stride
        return [
            (c * border.parts + r % down * across + s % across) * border.area + r // down * border.pitch + s // across
            for c in range(self.inward)
            for r in range(self.weights[2])
            for s in range(self.weights[3])
        ]


@dataclass(frozen=True)
class Tiles:
    """How results are computed: so many channels by so many vectors of places at a time."""

    channels: int
    vectors: int
    lanes: int
    rows: int  # of places; in one piece with what lies between them, it is one row
    width: int
    in_place: bool  # whether they are written where they belong

    @property
    def in_row(self) -> int:
        """The vectors of a row."""
        return -(-self.width // self.lanes)

    @property
    def count(self) -> int:
        """All vectors."""
        return self.rows * self.in_row


@dataclass(frozen=True)
class Phase:
    """Along one axis, the places of an image with one remainder when divided by the stride: where the first is, how
    many there are, which cotangent their first tap reads, and how many taps there are, each one place before."""

    remainder: int
    start: int
    count: int
    first: int
    taps: int
    results: int

    @classmethod
    def of(cls, sizes: Convolution, axis: int, remainder: int) -> "Phase":
        """The phase of a remainder."""
        stride, padding = sizes.stride[axis], sizes.padding[axis]
        start = (remainder - padding) % stride
        count = len(range(start, sizes.images[2 + axis], stride))
        taps = len(range(remainder, sizes.weights[2 + axis], stride))
        return cls(remainder, start, count, (start + padding) // stride, taps, sizes.results[2 + axis])

    @property
    def before(self) -> int:
        """How much border it reads before the first cotangent."""
        return max(0, self.taps - 1 - self.first) if self.taps else 0

    @property
    def after(self) -> int:
        """How much border it reads after the last one."""
        return max(0, self.first + self.count - self.results) if self.taps else 0


def nearby(length: int, lanes: int) -> int:
    """So many lanes that a row does not leave half of them empty."""
    while lanes > 4 and lanes // 2 >= length:
        lanes //= 2
    return lanes


def tiles_for(channels: int, rows: int, width: int, pitch: int, element: str, direct: bool) -> Tiles:
    """The tiles of results in rows of a width, read from images whose rows are a pitch apart. direct: whether results
    may be written where they belong, row by row; else they go through memory in which rows lie as in the images."""
    if pitch == width:
        rows, width, pitch = 1, rows * width, rows * width
    whole = (rows - 1) * pitch + width
    lanes = nearby(whole, llvm.machine().lanes(NAMES[element]))
    flat = -(-whole // lanes)
    in_place = direct and width >= lanes and rows * -(-width // lanes) <= 1.1 * flat
    if not in_place:
        rows, width = 1, flat * lanes
    # Registers for sums: 16 of the 32 that AVX-512 has hide its latency; 12 of 16 leave room for operands.
    sums = 16 if llvm.machine().vector_bits == 512 else 12
    together = min(channels, sums // 2)
    vectors = min(rows * -(-width // lanes), max(2, sums // together))
    return Tiles(together, vectors, lanes, rows, width, in_place)


def starting(count: int, together: int) -> list[int]:
    """Where blocks start that cover so many; the last may overlap the one before."""
    return [min(start, count - together) for start in range(0, count, together)]
