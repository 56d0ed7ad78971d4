"""Sparse derivatives: Jacobians and Hessians of which most entries are zero, computed together and put in their places.

In: a program. Out: its pattern, a colouring, and prepared derivatives that give SciPy's sparse matrices. Inputs of one
colour share no output, so one tangent in the direction of all of them gives all of their columns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tapegrad.errors import InputError, MissingPackageError
from tapegrad.scalar.pattern import coloured_columns, coloured_stars, pattern_of

if TYPE_CHECKING:  # program.py asks for this module when somebody wants a pattern
    from tapegrad.scalar.program import Program

Of = Literal["jacobian", "hessian"]
# With so many colours, and a program of the entries that is not much smaller than as many derivatives one after the
# other, these are computed in a batch: it takes about a third of the time of single points.
FEW, OF_A_BATCH = 8, 3


@dataclass(frozen=True, slots=True)
class Colouring:
    """What can be computed together. Greedy: the first colour that is free, for rows or columns with the most
    nonzeros first, and in their order among equals.

    kind: "columns" (a tangent for each colour), "rows" (a weighted gradient for each) or "stars" (a Hessian-vector
    product for each). colours: of each column or row. count: how many colours there are.
    """

    kind: Literal["columns", "rows", "stars"]
    colours: NDArray[np.int32]
    count: int


def pattern(program: "Program", of: Of) -> Any:
    """The pattern of a program's Jacobian or Hessian."""
    if of == "hessian":
        one_side = matrix_of(gradient_of(program))
        # the Hessian is symmetric, its instructions need not be: an entry may be there on one side only
        both = one_side.maximum(one_side.T).tocsr()
        both.sort_indices()
        return both
    if of != "jacobian":
        raise InputError(f"expected 'jacobian' or 'hessian', got {of!r}")
    return matrix_of(program)


def colouring(program: "Program", of: Of) -> Colouring:
    """How the entries of a pattern are computed together."""
    matrix = pattern(program, of)
    return hessian_colouring(matrix) if of == "hessian" else jacobian_colouring(matrix)


def _order(starts: NDArray[np.int32]) -> NDArray[np.int32]:
    """The most nonzeros first."""
    return np.argsort(-np.diff(starts), kind="stable").astype(np.int32)


def scipy_sparse() -> Any:
    """SciPy's sparse matrices; an engine-only installation may have none."""
    try:
        import scipy.sparse
    except ImportError as error:
        raise MissingPackageError(
            "sparse derivatives are matrices of SciPy, which is not installed; install it with: "
            "python -m pip install 'gradmark[sparse]'"
        ) from error
    return scipy.sparse


def matrix_of(program: "Program") -> Any:
    """The pattern of a program's Jacobian, with ones, as a sparse matrix in rows."""
    sparse = scipy_sparse()
    starts, columns = pattern_of(program)
    stats = program.stats()
    ones = np.ones(len(columns))
    return sparse.csr_array((ones, columns, starts), shape=(stats.outputs, stats.inputs))


def jacobian_colouring(pattern: Any) -> Colouring:
    """By columns or by rows, whichever takes fewer colours."""
    by_columns = pattern.tocsc()
    rows = (pattern.indptr.astype(np.int32), pattern.indices.astype(np.int32))
    columns = (by_columns.indptr.astype(np.int32), by_columns.indices.astype(np.int32))
    of_columns = coloured_columns(*rows, _order(columns[0]), columns[1], columns[0])
    # at least as many as there are in the fullest row or column: no need to try what cannot be better
    if int(np.diff(columns[0]).max(initial=0)) >= of_columns.max(initial=0) + 1:
        return _colouring("columns", of_columns)
    of_rows = coloured_columns(*columns, _order(rows[0]), rows[1], rows[0])
    if of_rows.max(initial=0) < of_columns.max(initial=0):
        return _colouring("rows", of_rows)
    return _colouring("columns", of_columns)


def hessian_colouring(pattern: Any) -> Colouring:
    """By stars."""
    starts, neighbours = pattern.indptr.astype(np.int32), pattern.indices.astype(np.int32)
    return _colouring("stars", coloured_stars(starts, neighbours, _order(starts)))


def _colouring(kind: Literal["columns", "rows", "stars"], colours: NDArray[np.int32]) -> Colouring:
    return Colouring(kind, colours, int(colours.max(initial=-1)) + 1)


class SparseDerivative:
    """A Jacobian or Hessian, prepared: call it with a point, as often as you like, for a sparse matrix.

    pattern: which entries there are. colouring: how they are computed together.
    """

    def __init__(self, program: "Program", of: Of):
        self.pattern = pattern(program, of)
        derived = gradient_of(program) if of == "hessian" else program
        self.colouring = hessian_colouring(self.pattern) if of == "hessian" else jacobian_colouring(self.pattern)
        self._inputs = program.stats().inputs
        self._entries = self._program_of_entries(derived)
        self._batch = None if self._entries else Batched(derived, self.colouring, *self._sources())

    def _sources(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """For each entry the colour that it is computed with, and the output (by rows: the input) whose slope it is."""
        rows = np.repeat(np.arange(self.pattern.shape[0], dtype=np.int32), np.diff(self.pattern.indptr))
        columns = self.pattern.indices.astype(np.int32)
        colours = self.colouring.colours
        if self.colouring.kind == "rows":
            return colours[rows], columns
        if self.colouring.kind == "columns":
            return colours[columns], rows
        # stars: from the column of j where no other neighbour of i has j's colour, else from that of i
        keys = rows.astype(np.int64) * (self.colouring.count + 1) + colours[columns]
        _, first, counts = np.unique(keys, return_inverse=True, return_counts=True)
        alone = counts[first] == 1
        return np.where(alone, colours[columns], colours[rows]), np.where(alone, rows, columns)

    def _program_of_entries(self, derived: "Program") -> "Program | None":
        """All entries as one program; None where a batch is faster, or where it would not fit."""
        from tapegrad.scalar.program import entries_by

        colour_of, slope_of = self._sources()
        order = np.argsort(colour_of, kind="stable").astype(np.int32)
        reverse, count = self.colouring.kind == "rows", self.colouring.count
        entries = entries_by(derived, self.colouring.colours, count, reverse, order, colour_of, slope_of)
        if entries is None or count <= FEW:
            return entries
        one_by_one = count * derived.stats().instrs
        return entries if OF_A_BATCH * entries.stats().instrs <= one_by_one else None

    @property
    def colours(self) -> int:
        """How many derivatives of the program one evaluation takes."""
        return self.colouring.count

    @property
    def nnz(self) -> int:
        """How many entries there are."""
        return int(self.pattern.nnz)

    def bind(self, x: NDArray[np.float64], out: NDArray[np.float64]) -> Callable[[], Any]:
        """A function without arguments, as `Program.bind`: it writes the entries, row by row, into `out`.

        >>> import numpy, tapegrad
        >>> tape = tapegrad.Tape()
        >>> x = [tape.var(1.0) for _ in range(3)]
        >>> jacobian = tape.freeze(x, [x[0] * x[1], x[2] * x[2]]).jacobian()
        >>> point, matrix = numpy.array([2.0, 3.0, 5.0]), jacobian([1.0, 1.0, 1.0])
        >>> compute = jacobian.bind(point, matrix.data)
        >>> compute(), matrix.toarray()[1]
        (array([ 3.,  2., 10.]), array([ 0.,  0., 10.]))
        """
        if self._entries is not None:
            return self._entries.bind(x, out)
        batch = self._batch
        assert batch is not None

        def compute() -> NDArray[np.float64]:
            out[:] = batch(x)
            return out

        return compute

    def __call__(self, x: ArrayLike) -> Any:
        """The matrix at a point, as `scipy.sparse.csr_array`."""
        point = np.asarray(x, dtype=np.float64).reshape(-1)
        if len(point) != self._inputs:
            raise InputError(f"expected {self._inputs} inputs, as many as the program has, got {len(point)}")
        compute = self._batch if self._entries is None else self._entries
        assert compute is not None
        entries = compute(point), self.pattern.indices, self.pattern.indptr
        return scipy_sparse().csr_array(entries, self.pattern.shape)

    def __repr__(self) -> str:
        rows, columns = self.pattern.shape
        return (
            f"SparseDerivative({rows} x {columns}, {self.nnz} entries, {self.colours} colours by {self.colouring.kind})"
        )


class Batched:
    """Entries from a batch: a point for each colour, with ones in the direction of all that have it."""

    def __init__(
        self, program: "Program", colouring: Colouring, colour_of: NDArray[np.int32], slope_of: NDArray[np.int32]
    ):
        self._program = weighted(program) if colouring.kind == "rows" else program.tangent()
        self._inputs = program.stats().inputs
        self._colouring = colouring
        self._places = colour_of.astype(np.intp) * self._program.stats().outputs + slope_of

    def __call__(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """The entries at a point."""
        colours, count = self._colouring.colours, self._colouring.count
        points = np.zeros((count, self._program.stats().inputs))
        points[:, : self._inputs] = point
        points[colours, self._inputs + np.arange(len(colours))] = 1.0
        computed: NDArray[np.float64] = self._program.batch(points, gradients=False)
        return computed.ravel().take(self._places)


def gradient_of(program: "Program") -> "Program":
    """The gradient of a program of one output; a Hessian is that of one number."""
    from tapegrad.scalar.program import gradient_by

    stats = program.stats()
    if stats.outputs != 1:
        raise InputError(
            f"a Hessian is of one output, and this program has {stats.outputs}; "
            "freeze the one that is meant, or ask for the Jacobian"
        )
    return gradient_by(program, stats.inputs, False)


def weighted(program: "Program") -> "Program":
    """The gradient of the weighted sum, also of one output."""
    from tapegrad.scalar.program import gradient_by

    return gradient_by(program, program.stats().inputs, True)
