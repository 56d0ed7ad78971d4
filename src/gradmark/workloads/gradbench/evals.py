"""All evals of GradBench that the suite `literature` has, by name, and which workloads are which.

Those that take a few lines stand here, the others in files of their own.
"""

from collections.abc import Sequence
from typing import Any

from gradmark.workloads.gradbench import ba, gmm, ht, kmeans, lstm, ode
from gradmark.workloads.gradbench.eval import Eval, Named, Sizes, array, listed, number, whole
from gradmark.workloads.literature import EVALS as WORKLOADS


def of_workload(name: str) -> Eval | None:
    """The eval that a workload of the suite `literature` is; None for any other."""
    if name.startswith("ht_complicated"):
        return ht.COMPLICATED
    module = next((module for module, names in WORKLOADS.items() if name in names), None)
    return None if module is None else EVALS.get(module)


def of_message(module: str, given: Any) -> Eval:
    """The eval that a message is of: hand tracking is another one if it has places in triangles."""
    return ht.COMPLICATED if module == "ht" and isinstance(given, dict) and given.get("us") else EVALS[module]


def _vector(numbers: Sequence[float], _sizes: Sizes) -> Named:
    return {"x": numbers}


def _raveled(x: Any) -> Any:
    return x.ravel() if hasattr(x, "ravel") else x


EVALS: dict[str, Eval] = {
    "hello": Eval(
        module="hello",
        primal="square",
        derivative="double",
        size=lambda sizes: str(float(sizes["x"])),
        written=lambda inputs, _sizes: float(inputs["x"]),
        read=lambda given: ({"x": number(given)}, {"x": [number(given)]}),
        named=lambda numbers, _sizes: {"x": numbers[0]},
        flat=lambda output, _inputs: [number(output)],
        workload="hello",
        form=lambda results, _inputs: float(results[0][0]),
        repeats=False,
    ),
    "lse": Eval(
        module="lse",
        primal="primal",
        derivative="gradient",
        size=lambda sizes: f"n={sizes['n']}",
        written=lambda inputs, _sizes: {"x": listed(inputs["x"])},
        workload="lse_array",
        read=lambda given: ({"n": len(given["x"])}, {"x": array(given["x"], None)}),
        named=_vector,
    ),
    "llsq": Eval(
        module="llsq",
        primal="primal",
        derivative="gradient",
        size=lambda sizes: f"n={sizes['n']},m={sizes['m']}",
        written=lambda inputs, sizes: {"x": listed(inputs["x"]), "n": sizes["n"]},
        workload="llsq_array",
        read=lambda given: ({"n": whole(given, "n"), "m": len(given["x"])}, {"x": array(given["x"], None)}),
        named=_vector,
    ),
    "ode": ode.EVAL,
    "det": Eval(
        module="det",
        primal="primal",
        derivative="gradient",
        size=lambda sizes: str(sizes["ell"]),
        written=lambda inputs, sizes: {"A": listed(_raveled(inputs["a"])), "ell": sizes["ell"]},
        workload="det",
        read=lambda given: (
            {"ell": whole(given, "ell")},
            {"a": array(given["A"], given["ell"] ** 2).reshape(given["ell"], given["ell"])},
        ),
        named=lambda numbers, _sizes: {"a": numbers},
    ),
    "gmm": gmm.EVAL,
    "lstm": lstm.EVAL,
    "kmeans": kmeans.EVAL,
    "ba": ba.EVAL,
    "ht": ht.EVAL,
}
