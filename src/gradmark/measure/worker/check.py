"""The check: is the gradient right? Asked before anything is timed, and once more after.

In: a prepared engine and its job. Out: the error against the reference, or a wrong gradient with the reason.
"""

import math
from collections.abc import Sequence
from typing import Any

from gradmark.measure.job import Job, Result
from gradmark.measure.reference import exact as accuracy
from gradmark.measure.worker.prepared import Prepared
from gradmark.records import Accuracy


def examine(prepared: Prepared, job: Job) -> tuple[accuracy.Exact, Accuracy | None, str]:
    """The reference, how far the last gradient is from it, and that in words; None if no number says how far."""
    workload, inputs, params = prepared.workload, prepared.inputs, job.cell.params
    if workload.kind == "tensor":
        from gradmark.measure.reference import directional

        slopes = job.reference or directional.reference_of(workload, inputs, params)
        got = prepared.gradient()
        if infinite := not_finite(prepared, got):
            return slopes, None, infinite
        return slopes, *directional.judge(workload, inputs, params, got, slopes, prepared.can.tolerance)
    if job.reference is None:
        exact, name, is_exact = accuracy.reference_of(workload, inputs, params)
    else:
        exact, name, is_exact = job.reference, job.reference_name, job.reference_name == accuracy.EXACT
    got = prepared.gradient()
    if infinite := not_finite(prepared, got):
        return exact, None, infinite
    judged = accuracy.judge(got, exact, name, prepared.can.tolerance, is_exact=is_exact)
    return exact, judged, f"is off by {judged.relative_error:.1e} relative"


def not_finite(prepared: Prepared, gradient: Sequence[Any]) -> str:
    """Which part of a gradient is no number, whatever it is compared with; empty if all are."""
    names = prepared.workload.names(len(prepared.inputs))
    for place, part in zip(prepared.active, gradient, strict=True):
        if isinstance(part, float):
            if not math.isfinite(part):
                return f"with respect to {names[place]} is {part}"
        else:
            import numpy as np

            infinite = part[~np.isfinite(part)]
            if infinite.size:
                return f"with respect to {names[place]} has entries that are {infinite[0]}"
    return ""


def wrong(words: str) -> str:
    """A wrong gradient in words."""
    return f"the gradient {words}"


def check(prepared: Prepared, job: Job) -> Result | None:
    """A result if the gradient of the last iteration is wrong: asked before anything is timed, and once more after."""
    if not prepared.can.gradients:
        return None
    if job.reference is None:
        infinite = not_finite(prepared, prepared.gradient())
        return Result(status="wrong-gradient", message=wrong(infinite)) if infinite else None
    _, judged, words = examine(prepared, job)
    if judged is not None and judged.relative_error <= judged.tolerance:
        return None
    return Result(status="wrong-gradient", message=wrong(words), accuracy=judged)
