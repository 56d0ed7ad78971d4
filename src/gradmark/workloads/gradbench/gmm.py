"""gmm: parameters by name, in one object."""

from collections.abc import Sequence
from typing import Any

from gradmark.records import Param
from gradmark.workloads.gradbench.eval import Eval, Named, Sizes, array, listed, short, whole


def _named(numbers: Sequence[float], sizes: Sizes) -> Named:
    import numpy as np

    from gradmark.workloads.literature.gmm import generated

    d, k = sizes["d"], sizes["k"]
    ends = np.cumsum([k, k * d, k * d])
    alpha, mu, q, below = np.split(np.asarray(numbers), ends)
    x = generated(**sizes)[0]
    return {
        "x": x, "alpha": alpha, "mu": mu.reshape(k, d), "q": q.reshape(k, d), "below": below.reshape(k, -1)
    }  # fmt: skip


# Our names and those of the eval, in the order in which derivatives are joined.
NAMES = {"alpha": "alpha", "mu": "mu", "q": "q", "below": "l"}


def _written(inputs: Named, sizes: Sizes) -> dict[str, Any]:
    parameters = {theirs: listed(inputs[ours]) for ours, theirs in NAMES.items()}
    return {**sizes, "x": listed(inputs["x"]), "m": 0, "gamma": 1.0, **parameters}


def _shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    d, k = sizes["d"], sizes["k"]
    return {"alpha": (k,), "mu": (k, d), "q": (k, d), "below": (k, d * (d - 1) // 2)}


def _read(given: Any) -> tuple[dict[str, Param], dict[str, Any]]:
    sizes: dict[str, Any] = {name: whole(given, name) for name in ("d", "k", "n")}
    if given.get("m") != 0 or given.get("gamma") != 1:
        raise ValueError(f"expected m 0 and gamma 1, got m {given.get('m')} and gamma {given.get('gamma')}")
    shapes = _shapes(sizes)
    inputs = {ours: array(given[theirs], *shapes[ours]) for ours, theirs in NAMES.items()}
    return sizes, {"x": array(given["x"], sizes["n"], sizes["d"]), **inputs}


def _form(results: Sequence[Any], inputs: Named) -> dict[str, Any]:
    import numpy as np

    shapes = {name: inputs[name].shape for name in NAMES}
    parts = np.split(results[0], np.cumsum([np.prod(shape, dtype=int) for shape in shapes.values()])[:-1])
    return {
        theirs: part.reshape(shapes[ours]).tolist() for (ours, theirs), part in zip(NAMES.items(), parts, strict=True)
    }


def _flat(output: Any, inputs: Named) -> Any:
    import numpy as np

    if not isinstance(output, dict):
        raise ValueError(f"expected an object with {', '.join(NAMES.values())}, got {short(output)}")
    lacking = [theirs for theirs in NAMES.values() if theirs not in output]
    if lacking:
        raise ValueError(f"expected an object with {', '.join(NAMES.values())}, got none with {', '.join(lacking)}")
    parts = [array(output[theirs], *np.shape(inputs[ours])) for ours, theirs in NAMES.items()]
    return np.concatenate([part.ravel() for part in parts])


EVAL = Eval(
    module="gmm",
    primal="objective",
    derivative="jacobian",
    size=lambda sizes: f"{sizes['d']}_{sizes['k']}_{sizes['n']}",
    written=_written,
    workload="gmm_array",
    read=_read,
    named=_named,
    form=_form,
    flat=_flat,
)
