"""Scaling: how a cost grows with a size.

In: measurements of one engine on one workload at several sizes. Out: fits of cost(n) = a + b·n^p with a verdict each.
"""

import math
from collections.abc import Sequence
from statistics import median, stdev
from typing import Literal

from gradmark.analyse.estimates import PHASES, estimate, timed_in
from gradmark.analyse.powerlaw import MODEL_ERROR, STEEPEST, fitted
from gradmark.errors import GradmarkError
from gradmark.records import Fit, Measurement

Growth = Literal["linear", "sublinear", "superlinear", "constant", "unclear"]

NEEDED_SIZES = 3  # two sizes fit every p
# n·log n over three decades looks like n^1.2, caches that overflow like n^1.1: what stays below is linear to a user.
LINEAR_BELOW = 1.1
LINEAR_ABOVE = 0.9  # as far below 1 as the other bound is above
# Interleaved A/A floors were off by 2 % at the 95th percentile, which is two standard deviations. Processes that
# happen to agree better than that have not measured better.
LEAST_SPREAD = 0.01


def fit(metric: str, sizes: Sequence[float], costs: Sequence[float], spreads: Sequence[float] | None = None) -> Fit:
    """Fit cost(n) = a + b·n^p by least squares on log cost; `spreads` are relative standard deviations of the costs.

    The 95 % interval of p comes from the covariance of the fit, and is never narrower than ±0.02, the error of the
    model itself. With three sizes a is fixed (at 0, or at the smallest cost if better), so that a residual is left.

    >>> found = fit("tape", [10, 100, 1000, 10000], [17, 107, 1007, 10007])
    >>> found.verdict, round(found.p, 3), round(found.low, 2), round(found.high, 2)
    ('linear', 1.0, 0.98, 1.02)
    """
    _check_points(metric, sizes, costs, spreads)
    cost = [max(value, 0.0) for value in costs]  # net of a subtraction: below zero is none
    if _is_constant(sizes, cost):
        a, b, p, low, high = median(cost), 0.0, 0.0, 0.0, MODEL_ERROR
        verdict: Growth = "constant"
    else:
        curve = fitted(sizes, cost, spreads)
        a, b, p, low, high = curve.a, curve.b, curve.p, curve.low, curve.high
        if len(set(cost)) < NEEDED_SIZES:  # one step up, such as 0, 0, 1 allocations, fits every p that is steep enough
            low, high = 0.0, STEEPEST
        verdict = _verdict(low, high)
    return Fit(metric=metric, sizes=list(sizes), costs=list(costs), a=a, b=b, p=p, low=low, high=high, verdict=verdict)


def fits(measurements: list[Measurement], parameter: str) -> list[Fit]:
    """Fits of times, allocations, tape and peak over the sizes of one parameter, each where three sizes have a value.

    The size is the work where every measurement declares it: promises are about operations, and a parameter may be a
    depth. Else it is the parameter itself.
    Times are floors, weighted by how far the floors of the processes scatter. Counts are exact: they weigh the same.
    """
    _check_family(measurements, parameter)
    counted = all(work(item) for item in measurements)

    def size(item: Measurement) -> float:
        return float(work(item) or 0) if counted else _size(item, parameter)

    measured = [item for item in measurements if item.status == "ok"]
    measured.sort(key=size)
    found = []
    for metric in (*PHASES, "allocations", "tape", "peak_bytes"):
        points = [(item, cost) for item in measured if (cost := _cost(item, metric)) is not None]
        sizes = [size(item) for item, _ in points]
        if len(set(sizes)) >= NEEDED_SIZES:
            spreads = [_spread(item, metric) for item, _ in points] if metric in PHASES else None
            found.append(fit(metric, sizes, [cost for _, cost in points], spreads))
    return found


def work(item: Measurement) -> float | None:
    """How much there is to do: elementary operations, or, of tensors, flops or bytes; None if it is not declared.

    The operations of a tensor workload are calls, which do not grow with the arrays.
    """
    return (item.flops or item.bytes) if item.shapes else item.operations


def counted_in(item: Measurement) -> str:
    """What `work` counts."""
    if not work(item):
        return "the parameter"
    return "operations" if not item.shapes else "flops" if item.flops else "bytes"


def _verdict(low: float, high: float) -> Growth:
    """Linear means at most linear: an interval from 0.8 to 1.05 is no reason for doubt."""
    if high < LINEAR_BELOW:
        return "sublinear" if high < LINEAR_ABOVE else "linear"
    return "superlinear" if low > LINEAR_BELOW else "unclear"


def _is_constant(sizes: Sequence[float], cost: list[float]) -> bool:
    """Whether the whole range of costs is no more than an exponent within the error of the model explains."""
    if max(cost) == min(cost):
        return True
    if min(cost) == 0:
        return False
    return math.log(max(cost) / min(cost)) <= MODEL_ERROR * math.log(max(sizes) / min(sizes))


def _cost(item: Measurement, metric: str) -> float | None:
    """What one measurement has of a metric."""
    if metric in PHASES:
        found = estimate(item.samples, metric)
        # A floor of zero was lost in the subtraction of the harness: it is a time that could not be measured.
        return found.floor if found and found.floor > 0 else None
    if metric == "tape":
        return item.tape.instructions if item.tape else None
    if metric == "peak_bytes":
        return item.memory.peak_bytes if item.memory else None
    # An iteration allocates a whole number of times. Fractions are the interpreter's, or growth shared by many.
    return round(item.memory.allocations) if item.memory and item.memory.allocations is not None else None


def _spread(item: Measurement, phase: str) -> float:
    """The relative standard deviation of the floors of the processes."""
    floors = [part.floor_ns for part in timed_in(item.samples, phase)]
    return max(LEAST_SPREAD, stdev(floors) / min(floors) if len(floors) > 1 else 0.0)


def _size(item: Measurement, parameter: str) -> float:
    value = item.cell.params.get(parameter)
    if value is None or isinstance(value, str):
        raise GradmarkError(
            f"Expected a number for parameter {parameter!r} of {item.cell.id}, got {value!r}. "
            f"Its parameters are: {item.cell.size or 'none'}. Choose one of those that is a number."
        )
    return value


def _check_family(measurements: list[Measurement], parameter: str) -> None:
    """All of one engine and workload, alike in all but the parameter: unlike costs do not lie on one curve."""
    kinds: list[str] = []
    for item in measurements:
        _size(item, parameter)
        cell = item.cell
        others = [f"{key}={value}" for key, value in sorted(cell.params.items()) if key != parameter]
        kinds.append(" ".join([cell.engine, cell.workload, cell.dtype, cell.device, *others]))
    if len(set(kinds)) > 1:
        raise GradmarkError(
            f"Expected measurements that differ in {parameter!r} alone, got {len(set(kinds))} kinds: "
            f"{'; '.join(dict.fromkeys(kinds))}. Fit each kind by itself."
        )


def _check_points(metric: str, sizes: Sequence[float], costs: Sequence[float], spreads: Sequence[float] | None) -> None:
    if len(costs) != len(sizes) or (spreads is not None and len(spreads) != len(sizes)):
        raise GradmarkError(
            f"Expected one cost and one spread for each of {len(sizes)} sizes of {metric}. Give as many."
        )
    if len(set(sizes)) < NEEDED_SIZES:
        raise GradmarkError(
            f"Expected {metric} at {NEEDED_SIZES} different sizes or more, got {len(set(sizes))} "
            f"({', '.join(map(str, sizes)) or 'none'}). Measure more sizes, best spread over three decades."
        )
    if not all(0 < value < math.inf for value in (*sizes, *(spreads or ()))) or not all(map(math.isfinite, costs)):
        raise GradmarkError(
            f"Expected sizes and spreads of {metric} above zero and finite costs, got sizes {list(sizes)}, "
            f"costs {list(costs)}, spreads {spreads and list(spreads)}. Leave out the sizes that have no number."
        )
