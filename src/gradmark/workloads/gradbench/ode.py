"""ode: GradBench's functions give all entries, and the gradient of the last; ours is their sum (literature/ode.py)."""

import dataclasses
from typing import Any

from gradmark.records import Param
from gradmark.workloads.gradbench.eval import Eval, array, listed, whole
from gradmark.workloads.literature.ode import states_of_arrays
from gradmark.workloads.workload import Workload


def _read(given: Any) -> tuple[dict[str, Param], dict[str, Any]]:
    x = array(given["x"], None)
    return {"n": len(x), "s": whole(given, "s")}, {"x": x, "start": 0.0 * x}


def _last(ops: Any, x: Any, start: Any, *, s: int, **_sizes: Any) -> Any:
    return states_of_arrays(ops, x, start, s)[-1]


def _all(ops: Any, x: Any, start: Any, *, s: int, **_sizes: Any) -> Any:
    return states_of_arrays(ops, x, start, s)


def _variant(workload: Workload, function: str) -> Workload:
    """All entries, or the last."""
    if function == "primal":
        return dataclasses.replace(workload, function=_all, result="array", gradient=None)
    return dataclasses.replace(workload, function=_last, gradient=None)


EVAL = Eval(
    module="ode",
    primal="primal",
    derivative="gradient",
    size=lambda sizes: f"n={sizes['n']},s={sizes['s']}",
    remark="the gradient of the last entry, which is zero; ours is of the sum of all",
    asks=None,
    unlike="the gradient of the last entry, which is zero; ours is of the sum of all",
    workload="ode_array",
    variant=_variant,
    read=_read,
    shown=listed,
)
