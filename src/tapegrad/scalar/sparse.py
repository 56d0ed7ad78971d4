"""Sparse derivatives: Jacobians and Hessians of which most entries are zero, computed together and put in their places.

In: a program. Out: its pattern, a colouring, and prepared derivatives that give SciPy's sparse matrices. Inputs of one
colour share no output, so one tangent in the direction of all of them gives all of their columns.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tapegrad.errors import InputError
from tapegrad.scalar.pattern import coloured_columns, coloured_stars, pattern_of

if TYPE_CHECKING:  # program.py asks for this module when somebody wants a pattern
    from tapegrad.scalar.program import Program

Of = Literal["jacobian", "hessian"]
# A block of a batch computes 32 points in the time of about so many single ones.
FEW = 8


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
    made = pattern(program, of)
    return hessian_colouring(made) if of == "hessian" else jacobian_colouring(made)


def _order(starts: NDArray[np.int32]) -> NDArray[np.int32]:
    """The most nonzeros first."""
    return np.argsort(-np.diff(starts), kind="stable").astype(np.int32)


def matrix_of(program: "Program") -> Any:
    """The pattern of a program's Jacobian, with ones, as a sparse matrix in rows."""
    import scipy.sparse

    starts, columns = pattern_of(program)
    stats = program.stats()
    ones = np.ones(len(columns))
    return scipy.sparse.csr_array((ones, columns, starts), shape=(stats.outputs, stats.inputs))


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
        if of == "hessian":
            self.colouring = hessian_colouring(self.pattern)
            self._program = gradient_of(program).tangent()
        else:
            self.colouring = jacobian_colouring(self.pattern)
            rows = self.colouring.kind == "rows"
            self._program = weighted(program) if rows else program.tangent()
        self._inputs = program.stats().inputs
        seeds = self._program.stats().inputs - self._inputs
        colours = self.colouring.colours
        self._points = np.zeros((self.colouring.count, self._inputs + seeds))
        self._points[colours, self._inputs + np.arange(len(colours))] = 1.0
        self._computed = np.empty((self.colouring.count, self._program.stats().outputs))
        self._places = self._where()

    def _where(self) -> NDArray[np.intp]:
        """For each entry, where it is among what is computed: rows of colours, flattened."""
        rows: NDArray[np.intp] = np.repeat(np.arange(self.pattern.shape[0]), np.diff(self.pattern.indptr))
        columns: NDArray[np.intp] = self.pattern.indices.astype(np.intp)
        colours = self.colouring.colours
        width = self._computed.shape[1]
        by_rows: NDArray[np.intp]
        by_columns: NDArray[np.intp]
        if self.colouring.kind == "rows":
            by_rows = colours[rows] * width + columns
            return by_rows
        by_columns = colours[columns] * width + rows
        if self.colouring.kind == "columns":
            return by_columns
        by_rows = colours[rows] * width + columns
        # stars: from the column of j where no other neighbour of i has j's colour, else from that of i
        keys = rows * (self.colouring.count + 1) + colours[columns]
        _, first, counts = np.unique(keys, return_inverse=True, return_counts=True)
        alone = counts[first] == 1
        return np.where(alone, by_columns, by_rows)

    @property
    def colours(self) -> int:
        """How many derivatives of the program one evaluation takes."""
        return self.colouring.count

    @property
    def nnz(self) -> int:
        """How many entries there are."""
        return int(self.pattern.nnz)

    def __call__(self, x: ArrayLike) -> Any:
        """The matrix at a point, as `scipy.sparse.csr_array`."""
        import scipy.sparse

        point = np.asarray(x, dtype=np.float64).reshape(-1)
        if len(point) != self._inputs:
            raise InputError(f"expected {self._inputs} inputs, as many as the program has, got {len(point)}")
        points, computed = self._points.copy(), self._computed
        points[:, : self._inputs] = point
        if len(points) <= FEW:
            computed = np.empty_like(computed)
            for k in range(len(points)):
                computed[k] = self._program(points[k])
        else:
            computed = self._program.batch(points, gradients=False)
        entries = computed.ravel().take(self._places)
        return scipy.sparse.csr_array((entries, self.pattern.indices, self.pattern.indptr), shape=self.pattern.shape)

    def __repr__(self) -> str:
        rows, columns = self.pattern.shape
        return (
            f"SparseDerivative({rows} x {columns}, {self.nnz} entries, {self.colours} colours by {self.colouring.kind})"
        )


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
