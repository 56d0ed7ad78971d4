"""det: the determinant of a matrix by its minors.

    det A = Σⱼ (-1)ʲ a₀ⱼ det A₀ⱼ,  A₀ⱼ without row 0 and column j

down to single numbers: about 2·e·ℓ! operations. Its gradient is that of every determinant, det A·A⁻ᵀ. Source:
GradBench, evals/det, after `det_by_minor` of cmpad (https://cmpad.readthedocs.io). Arrays have no recursion: there it
is the sum over all permutations, with their signs, of the products of ℓ entries, as in GradBench's Futhark.
"""

import itertools
from typing import Any

from gradmark.workloads.literature.streams import uniform
from gradmark.workloads.workload import workload

SIZES = [5, 6, 7, 8, 9, 10, 11]


def _entries(ell: int) -> Any:
    return uniform(ell, ell * ell, published=[(size, size * size) for size in SIZES])


def _operations(ell: int) -> int:
    """A product and a sum for each minor, and what is in it; the first needs no sum."""
    return 0 if ell == 1 else ell * _operations(ell - 1) + 2 * ell - 1


@workload(
    suite="literature",
    stresses="a recursion number by number: very many operations on few inputs",
    sizes={"ell": SIZES},
    quick={"ell": [4, 5]},
    inputs=lambda draw, ell: _entries(ell).tolist(),  # noqa: ARG005
    operations=_operations,
)
def det(ops: Any, *entries: Any, ell: int) -> Any:  # noqa: ARG001
    """A determinant by minors, number by number."""

    def minor(row: int, columns: tuple[int, ...]) -> Any:
        if len(columns) == 1:
            return entries[row * ell + columns[0]]
        total: Any = None
        for place, column in enumerate(columns):
            term = entries[row * ell + column] * minor(row + 1, columns[:place] + columns[place + 1 :])
            total = term if total is None else total - term if place % 2 else total + term
        return total

    return minor(0, tuple(range(ell)))


def _permutations(ell: int) -> list[Any]:
    """The sign of every permutation, and the place among all entries of what it takes of every row."""
    import numpy as np

    columns = np.array(list(itertools.permutations(range(ell))))
    inversions = sum((columns[:, i] > columns[:, j]).astype(int) for i in range(ell) for j in range(i + 1, ell))
    return [1.0 - 2.0 * (inversions % 2), np.ascontiguousarray(columns.T) + ell * np.arange(ell)[:, None]]


def _cofactors(signs: Any, places: Any, a: Any) -> list[Any]:  # noqa: ARG001
    import numpy as np

    return [np.linalg.det(a) * np.linalg.inv(a).T]


@workload(
    suite="literature",
    stresses="entries looked up by number, long products: bandwidth",
    sizes={"ell": SIZES[:5]},  # of 10 the table of permutations takes 290 MB, of 11 more than 3 GB
    quick={"ell": [5, 7]},
    arrays=lambda draw, ell: [*_permutations(ell), _entries(ell).reshape(ell, ell)],  # noqa: ARG005
    dtypes=("float64",),
    fixed=["signs"],
    operations=lambda ell: 2 * ell + 3,
    gradient=_cofactors,
)
def det_array(ops: Any, signs: Any, places: Any, a: Any, *, ell: int) -> Any:
    """A determinant as a sum over all permutations."""
    taken = ops.reshape(a, (ell * ell,))[places]
    products = signs
    for row in range(ell):
        products = products * taken[row]
    return ops.sum(products)
