"""Products of matrices in code of their own, where that is quicker than BLAS: it first copies both operands, which
takes long where each number is used a few times only.

In: sizes and strides. Out: a function of LLVM for one product, whose results are summed in registers, a tile at a time.
Two forms: vectors along the result's rows, where the right operand's rows lie in one piece; and vectors along the sum,
where both operands lie so along it.
"""

from dataclasses import dataclass

from tapegrad.compile import llvm
from tapegrad.compile.elementary import BYTES, NAMES
from tapegrad.compile.nests import Index, Nest
from tapegrad.compile.tiling import nearby

# So few products of numbers take less time than a call of BLAS.
TINY = 1 << 13
# The right operand stays in the second cache up to this size. Rows, or sums, shorter than these leave too much of the
# time to the edges of tiles. Found by comparing with OpenBLAS at some twenty sizes: from 0.5 to 1.0 of its time.
CACHED_BYTES = 1 << 20
SHORTEST_ROW_BYTES = 512
SHORTEST_SUM_BYTES = 2048


@dataclass(frozen=True)
class Matrices:
    """A product: m rows, sums of k, n columns; strides of both operands, of rows and then columns."""

    m: int
    k: int
    n: int
    left: tuple[int, int]
    right: tuple[int, int]


def function(matrices: Matrices, element: str) -> Nest | None:
    """The function for a product; None where BLAS is quicker, or takes operands that lie in another way."""
    size = BYTES[element]
    tiny = matrices.m * matrices.k * matrices.n <= TINY
    cached = matrices.k * matrices.n * size <= CACHED_BYTES
    words = "_".join(str(number) for number in (matrices.m, matrices.k, matrices.n, *matrices.left, *matrices.right))
    name = f"product.{element}.{words.replace('-', 'm')}"
    if matrices.right[1] == 1 and matrices.n > 1 and (tiny or (cached and matrices.n * size >= SHORTEST_ROW_BYTES)):
        return along_rows(name, matrices, element)
    if matrices.right[0] == matrices.left[1] == 1 and (tiny or (cached and matrices.k * size >= SHORTEST_SUM_BYTES)):
        return along_sums(name, matrices, element)
    return None


def blocks(nest: Nest, index: Index, together: int, count: int) -> Index:
    """Where a block starts; the last may overlap the one before."""
    return nest.least(nest.total((index, together)), count - together)


def along_rows(name: str, matrices: Matrices, element: str) -> Nest:
    """The function for a right operand whose rows lie in one piece."""
    nest = Nest(name, ("target", "left", "right"), element, 1)
    lanes = llvm.machine().lanes(NAMES[element])
    while lanes > matrices.n:
        lanes //= 2
    nest.lanes = lanes
    wide = llvm.machine().vector_bits == 512  # 24 sums of 32 registers, or 12 of 16
    rows = min(matrices.m, 8 if wide else 4)
    vectors = min(-(-matrices.n // lanes), 3)
    across = vectors * lanes
    while across > matrices.n:  # vectors of the last tile would reach beyond
        vectors, across = vectors - 1, across - lanes
    with nest.loop(-(-matrices.n // across)) as j, nest.loop(-(-matrices.m // rows)) as i:
        column, row = blocks(nest, j, across, matrices.n), blocks(nest, i, rows, matrices.m)
        sums = [[nest.variable(nest.kind, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
        left, right = nest.place("%left", (row, matrices.left[0])), nest.place("%right", column)
        with nest.loop(matrices.k) as k:
            line = nest.place(right, (k, matrices.right[0]))
            seen = [nest.vector(nest.place(line, v * lanes)) for v in range(vectors)]
            at = nest.place(left, (k, matrices.left[1]))
            for r in range(rows):
                factor = nest.everywhere(nest.number(nest.place(at, r * matrices.left[0])))
                for v in range(vectors):
                    nest.add_product(sums[r][v], seen[v], factor)
        target = nest.place("%target", (row, matrices.n), column)
        for r in range(rows):
            for v in range(vectors):
                value = nest.writer.put(f"load {nest.kind}, ptr {sums[r][v]}")
                nest.keep_vector(value, nest.place(target, r * matrices.n + v * lanes))
    return nest


def along_sums(name: str, matrices: Matrices, element: str) -> Nest:
    """The function for operands that both lie in one piece along the sum."""
    nest = Nest(name, ("target", "left", "right"), element, 1)
    nest.lanes = lanes = nearby(matrices.k, llvm.machine().lanes(NAMES[element]))
    wide = llvm.machine().vector_bits == 512
    rows, columns = min(matrices.m, 4 if wide else 3), min(matrices.n, 6 if wide else 4)
    whole = matrices.k // lanes * lanes
    with nest.loop(-(-matrices.n // columns)) as j, nest.loop(-(-matrices.m // rows)) as i:
        column, row = blocks(nest, j, columns, matrices.n), blocks(nest, i, rows, matrices.m)
        sums = [[nest.variable(nest.kind, "zeroinitializer") for _ in range(columns)] for _ in range(rows)]
        left, right = nest.place("%left", (row, matrices.left[0])), nest.place("%right", (column, matrices.right[1]))

        def added(at: Index, mask: str | None = None) -> None:
            one, other = nest.place(left, at), nest.place(right, at)
            seen = [nest.vector(nest.place(one, r * matrices.left[0]), mask) for r in range(rows)]
            for c in range(columns):
                value = nest.vector(nest.place(other, c * matrices.right[1]), mask)
                for r in range(rows):
                    nest.add_product(sums[r][c], value, seen[r])

        if whole:
            with nest.loop(whole, lanes) as at:
                added(at)
        if whole < matrices.k:
            flags = ["true" if whole + k < matrices.k else "false" for k in range(lanes)]
            added(whole, f"<{', '.join(f'i1 {flag}' for flag in flags)}>")
        target = nest.place("%target", (row, matrices.n), column)
        for r in range(rows):
            for c in range(columns):
                value = nest.lane_sum(nest.writer.put(f"load {nest.kind}, ptr {sums[r][c]}"))
                nest.keep(value, nest.place(target, r * matrices.n + c))
    return nest
