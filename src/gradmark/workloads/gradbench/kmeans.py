"""kmeans: a step of Newton's method, which is a gradient divided by the diagonal of a Hessian."""

from collections.abc import Sequence
from typing import Any

from gradmark.records import Param
from gradmark.workloads.gradbench.eval import Along, Eval, Named, Sizes, array, listed


def _named(numbers: Sequence[float], sizes: Sizes) -> Named:
    import numpy as np

    from gradmark.workloads.literature.kmeans import generated

    return {"points": generated(**sizes)[0], "centres": np.reshape(numbers, (sizes["k"], sizes["d"]))}


def _read(given: Any) -> tuple[dict[str, Param], dict[str, Any]]:
    points = array(given["points"], None, None)
    n, d = points.shape
    centres = array(given["centroids"], None, d)
    return {"k": len(centres), "n": n, "d": d}, {"points": points, "centres": centres}


def _flat(output: Any, inputs: Named) -> Any:
    """The gradient: what the tool gives is that divided by the diagonal of the Hessian, which is known exactly."""
    import numpy as np

    points, centres = (np.asarray(inputs[name]) for name in ("points", "centres"))
    step = array(output, *centres.shape)
    distances = np.square(points).sum(1)[:, None] - 2.0 * points @ centres.T + np.square(centres).sum(1)
    diagonal = 2.0 * np.bincount(distances.argmin(1), minlength=len(centres))
    return (step * diagonal[:, None]).ravel()


def _along(inputs: Named) -> list[Along]:
    """The gradient, and the diagonal of the Hessian: that times ones, because nothing else is in it."""
    import numpy as np

    return [("gradient", ()), ("hvp", [np.ones_like(inputs["centres"])])]


def _step(results: Sequence[Any], inputs: Named) -> Any:
    gradient, diagonal = results
    return (gradient / diagonal).reshape(inputs["centres"].shape).tolist()


EVAL = Eval(
    module="kmeans",
    primal="cost",
    derivative="dir",
    remark="the gradient divided by the diagonal of the Hessian, both of which it takes",
    size=lambda sizes: f"k={sizes['k']},n={sizes['n']},d={sizes['d']}",
    written=lambda inputs, _sizes: {"points": listed(inputs["points"]), "centroids": listed(inputs["centres"])},
    workload="kmeans_array",
    read=_read,
    along=_along,
    named=_named,
    form=_step,
    flat=_flat,
)
