"""ba: one camera, point, weight and feature, each repeated, and the few entries of a Jacobian that this leaves to say.

A tool gets the numbers once, so it cannot be asked for different cameras beside each other: only our own inputs would
fit, and whether a tool follows its inputs could not be seen. So no tool is asked for it; as a tool we answer it.
"""

from collections.abc import Sequence
from typing import Any

from gradmark.records import Param
from gradmark.workloads.gradbench.eval import Along, Eval, Named, Sizes, array, number, whole
from gradmark.workloads.literature.ba import CAMERA, INSTANCES, counts

# Columns of the Jacobian in a row: those of the camera, of the point, and the weight's.
POINT, COLUMNS = 3, CAMERA + 3 + 1
# Entries that the output begins with: two rows of projections. The last one follows.
SHOWN = 2 * COLUMNS


def _size(sizes: Sizes) -> str:
    p = sizes["p"]
    (n, m), place = counts(p), list(INSTANCES).index(p) + 1 if p in INSTANCES else 0
    return f"ba{place}_n{n}_m{m}_p{p}"


def _read(given: Any) -> tuple[dict[str, Param], dict[str, Any]]:
    import numpy as np

    n, m, p = (whole(given, name) for name in "nmp")
    if min(n, m, p) < 1:
        raise ValueError(f"expected at least one camera, point and observation, got n {n}, m {m}, p {p}")
    which = np.arange(p)
    return {"p": p}, {
        "of_camera": which % n,
        "of_point": which % m,
        "features": np.tile(array(given["feat"], 2), (p, 1)),
        "cameras": np.tile(array(given["cam"], CAMERA), (n, 1)),
        "points": np.tile(array(given["x"], POINT), (m, 1)),
        "weights": np.full(p, number(given["w"])),
    }


def _along(inputs: Named) -> list[Along]:
    """Each column of all cameras, of all points, and the weights: no row has two entries of what one of them adds."""
    import numpy as np

    none = [np.zeros_like(inputs[name]) for name in ("cameras", "points", "weights")]

    def one(place: int, column: int | None) -> Along:
        tangents = [x.copy() for x in none]
        tangents[place][... if column is None else (slice(None), column)] = 1.0
        return "jvp", tangents

    return [*(one(0, k) for k in range(CAMERA)), *(one(1, k) for k in range(POINT)), one(2, None)]


def _entries(results: Sequence[Any], inputs: Named) -> dict[str, Any]:
    """The first entries in rows of ADBench's format, and the last: all others repeat them."""
    import numpy as np

    n, m, p = (len(inputs[name]) for name in ("cameras", "points", "weights"))
    columns = np.stack([np.ravel(result) for result in results])
    of_points, of_weights = CAMERA * n, CAMERA * n + POINT * m
    first = [*range(CAMERA), *range(of_points, of_points + POINT), of_weights]
    starts = [*(COLUMNS * row for row in range(2 * p + 1)), *(2 * p * COLUMNS + k for k in range(1, p + 1))]
    return {
        "rows": [*starts[:SHOWN], starts[-1]],
        "cols": [*first, *first, of_weights + p - 1],
        "vals": [*columns[:, 0].tolist(), *columns[:, 1].tolist(), float(columns[-1, -1])],
    }


def _errors(result: Any) -> dict[str, Any]:
    p = len(result) // 3
    return {
        "reproj_error": {"elements": [float(x) for x in result[:2]], "repeated": p},
        "w_err": {"element": float(result[2 * p]), "repeated": p},
    }


EVAL = Eval(
    module="ba",
    primal="objective",
    derivative="jacobian",
    size=_size,
    asks=None,
    unlike="of one camera, point and weight that it repeats, so that other inputs cannot be tried",
    workload="ba_array",
    read=_read,
    along=_along,
    form=_entries,
    shown=_errors,
)
