"""ht: hand tracking, simple, or complicated with points inside triangles.

Their Jacobian is compressed: the two places in a triangle that only a point's own rows depend on share two columns.
"""

from collections.abc import Sequence
from typing import Any

from gradmark.records import Param
from gradmark.workloads.gradbench.eval import Along, Eval, Named, Sizes, array, listed, short
from gradmark.workloads.literature.hand_model import ANGLES, PARENTS, read
from gradmark.workloads.literature.ht import SIZES, angle_places

# The columns of the places in triangles, before those of the angles.
INSIDE = 2
# What GradBench's files call the bones is not used; every bone must have a name.
NAMES = [f"bone{k}" for k in range(len(PARENTS))]


def _size(sizes: Sizes) -> str:
    points: Any = SIZES["c"]
    place = points.index(sizes["c"]) + 1 if sizes["c"] in points else 0
    return f"hand{place}_t{ANGLES}_c{sizes['c']}"


def _named(numbers: Sequence[float], _sizes: Sizes) -> Named:
    import numpy as np

    flat = np.asarray(numbers)
    if len(flat) == ANGLES:
        return {"angles": flat}
    return {"angles": flat[:ANGLES], "inside": flat[ANGLES:].reshape(-1, INSIDE)}


def _written(inputs: Named, sizes: Sizes) -> dict[str, Any]:
    import numpy as np

    complicated = "inside" in inputs
    hand, seen = read(sizes["model"], sizes["c"], complicated)
    last = np.tile([[[0.0, 0.0, 0.0, 1.0]]], (len(PARENTS), 1, 1))
    return {
        "theta": listed(inputs["angles"]),
        "us": listed(inputs["inside"]) if complicated else [],
        "data": {
            "correspondences": listed(seen.which),
            "points": listed(seen.points),
            "model": {
                "bone_count": len(PARENTS),
                "bone_names": NAMES,
                "parents": PARENTS,
                "base_relatives": listed(np.concatenate([hand.base, last], axis=1)),
                "inverse_base_absolutes": listed(np.concatenate([hand.inverse, last], axis=1)),
                "base_positions": listed(np.concatenate([hand.vertices, np.ones((len(hand.vertices), 1))], axis=1)),
                "weights": listed(hand.weights),
                "triangles": listed(hand.triangles),
                "is_mirrored": False,
            },
        },
    }


def _read(given: Any) -> tuple[dict[str, Param], dict[str, Any]]:
    import numpy as np

    data = given["data"]
    model, bones = data["model"], len(PARENTS)
    if model["parents"] != PARENTS or model.get("is_mirrored"):
        raise ValueError(f"expected the {bones} bones of ADBench's hand, not mirrored, got {short(model['parents'])}")
    vertices = array(model["base_positions"], None, 4)[:, :3]
    which = np.asarray(data["correspondences"], dtype=np.int64)
    of_x, of_z = angle_places()
    values = {
        "of_x": of_x,
        "of_z": of_z,
        "base": array(model["base_relatives"], bones, 4, 4)[:, :3],
        "inverse": array(model["inverse_base_absolutes"], bones, 4, 4)[:, :3],
        "vertices": vertices,
        "weights": array(model["weights"], len(vertices), bones),
        "points": array(data["points"], len(which), 3),
        "angles": array(given["theta"], ANGLES),
    }
    sizes: dict[str, Param] = {"model": "small", "c": len(which)}
    if given["us"]:
        corners = np.asarray(model["triangles"], dtype=np.int64)[which].T.copy()
        return sizes, {**values, "corners": corners, "inside": array(given["us"], len(which), INSIDE)}
    return sizes, {**values, "which": which}


def _matrix(output: Any, inputs: Named) -> Any:
    """The Jacobian of the angles alone."""
    return array(output, None, len(inputs["angles"]))


def _sparse(output: Any, inputs: Named) -> Any:
    """The whole Jacobian: columns of the angles, then, of every point, two that only its own rows have."""
    import numpy as np
    from scipy import sparse

    points = len(inputs["inside"])
    full = array(output, 3 * points, INSIDE + ANGLES)
    rows = np.repeat(np.arange(3 * points), INSIDE)
    columns = (INSIDE * (np.arange(3 * points) // 3)[:, None] + np.arange(INSIDE)).ravel()
    own = sparse.csr_matrix((full[:, :INSIDE].ravel(), (rows, columns)), shape=(3 * points, INSIDE * points))
    return sparse.hstack([sparse.csr_matrix(full[:, INSIDE:]), own], format="csr")


def _columns(inputs: Named) -> list[Along]:
    """A tangent for each column of the compressed Jacobian."""
    import numpy as np

    units = [(np.eye(ANGLES)[k], np.zeros_like(inputs["inside"])) for k in range(ANGLES)]
    own = [(np.zeros(ANGLES), np.zeros_like(inputs["inside"])) for _ in range(INSIDE)]
    for k, (_, inside) in enumerate(own):
        inside[:, k] = 1.0
    return [("jvp", tangents) for tangents in (*own, *units)]


def _compressed(results: Sequence[Any], _inputs: Named) -> Any:
    import numpy as np

    return np.stack([np.ravel(result) for result in results], axis=1).tolist()


def _shown(result: Any) -> list[float]:
    import numpy as np

    return np.ravel(result).tolist()  # type: ignore[no-any-return]


EVAL = Eval(
    module="ht",
    primal="objective",
    derivative="jacobian",
    size=_size,
    in_statistics=False,
    asks="jacobian",
    written=_written,
    named=_named,
    flat=_matrix,
    value=lambda output: array(output, None),
    workload="ht_array",
    read=_read,
    along=lambda _inputs: [("jacobian", ())],
    shown=_shown,
)
COMPLICATED = Eval(
    module="ht",
    primal="objective",
    derivative="jacobian",
    size=_size,
    asks="sparse-jacobian",
    remark="of the model `big`",
    written=_written,
    named=_named,
    flat=_sparse,
    value=lambda output: array(output, None),
    workload="ht_complicated_array",
    read=_read,
    along=_columns,
    form=_compressed,
    shown=_shown,
)
