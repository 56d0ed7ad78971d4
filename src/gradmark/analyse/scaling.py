"""Scaling: how a cost grows with a size.

In: measurements of one engine on one workload at several sizes. Out: fits of cost(n) = a + b·n^p with a verdict each.
"""

import math
from collections.abc import Sequence
from statistics import median, stdev
from typing import Literal

import msgspec

from gradmark.analyse.calm import is_calm
from gradmark.analyse.powerlaw import MODEL_ERROR, STEEPEST, fitted
from gradmark.errors import GradmarkError
from gradmark.records import Cell, Fit, Measurement, Number, times
from gradmark.records.metric import Metric, metrics_of, numbers
from gradmark.records.metric import metric as registered
from gradmark.records.readings import LEAST_NS

Growth = Literal["linear", "sublinear", "superlinear", "constant", "unclear"]

NEEDED_SIZES = 3  # two sizes fit every p
# n·log n over three decades looks like n^1.2, caches that overflow like n^1.1: what stays below is linear to a user.
LINEAR_BELOW = 1.1
LINEAR_ABOVE = 0.9  # as far below 1 as the other bound is above
# Interleaved equal things were off by 2 % at the 95th percentile, which is two standard deviations. Processes that
# happen to agree better than that have not measured better.
LEAST_SPREAD = 0.01


def fit(metric: str, sizes: Sequence[float], costs: Sequence[float], spreads: Sequence[float] | None = None) -> Fit:
    """Fit cost(n) = a + b·n^p by least squares on log cost; `spreads` are relative standard deviations of the costs.

    The 95 % interval of p comes from the covariance of the fit, and is never narrower than ±0.02, the error of the
    model itself. With three sizes a is fixed (at 0, or at the smallest cost if better), so that a residual is left.

    >>> curve = fit("tape_instructions", [10, 100, 1000, 10000], [17, 107, 1007, 10007])
    >>> curve.verdict, in_words(curve)
    ('linear', 'tape grows as n^1.00 (0.98 to 1.02)')
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


def swept(cell: Cell, parameter: str) -> Cell:
    """What the sizes of a family have in common: the cell with a star for the parameter that differs.

    >>> swept(Cell(engine="e", workload="poly", suite="scalar", params={"n": 10}), "n").id
    'poly/n=*@e'
    """
    return msgspec.structs.replace(cell, params={**cell.params, parameter: "*"})


def in_words(item: Fit) -> str:
    """How a metric grows, as it is said everywhere."""
    entry = registered(item.metric)
    return f"{entry.title} {'grow' if entry.plural else 'grows'} as n^{item.p:.2f} ({item.low:.2f} to {item.high:.2f})"


def fits(measurements: list[Measurement], parameter: str) -> list[Fit]:
    """Fits of every metric that the registry marks as fitted, each where three sizes have a number.

    The size is the work where every measurement declares it: promises are about operations, and a parameter may be a
    depth. Else it is the parameter itself.
    Times are weighted by how far the processes scatter; those that no process took on a calm machine are
    left out. Counts are exact: they weigh the same.
    """
    _check_family(measurements, parameter)
    counted = all(work(item) for item in measurements)

    def size(item: Measurement) -> float:
        return float(work(item) or 0) if counted else _size(item, parameter)

    measured = sorted((item for item in measurements if item.status == "ok"), key=size)
    known = [numbers(item) for item in measured]
    entries = {entry.name: entry for item in measured for entry in metrics_of(item) if entry.fitted}
    curves = []
    for entry in entries.values():
        points = [
            (item, number)
            for item, item_numbers in zip(measured, known, strict=True)
            if (number := item_numbers.get(entry.name)) is not None
            and not _is_lost(entry, number)
            and is_calm(item_numbers, entry.name)
        ]
        sizes = [size(item) for item, _ in points]
        if len(set(sizes)) >= NEEDED_SIZES:
            spreads = [_spread(item, entry.name, number) for item, number in points] if entry.timed else None
            curves.append(fit(entry.name, sizes, [_cost(entry, number) for _, number in points], spreads))
    return curves


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


def _is_lost(entry: Metric, number: Number) -> bool:
    """Whether a time was lost in the subtraction of the harness: it is a time that could not be measured."""
    return entry.timed and number.value <= LEAST_NS


def _cost(entry: Metric, number: Number) -> float:
    """A number as a cost. What is counted is counted whole: fractions are the interpreter's, or shared by many."""
    return float(round(number.value)) if entry.unit in ("count", "bytes") else number.value


def _spread(item: Measurement, phase: str, number: Number) -> float:
    """The relative standard deviation of the times of the processes.

    What was computed as a difference errs by as much as the whole and the other part together.
    """
    rest = [times.WHOLE, *(part for part in times.PARTS if part != phase)]
    timed = [phase] if number.how != "derived" else rest
    # A part that is as long as the whole errs as the whole does: there is no other part.
    process_times = [of_processes for name in timed if (of_processes := times.process_times(item.samples, name))]
    return math.hypot(*(_deviation(of_processes) for of_processes in process_times)) / number.value


def _deviation(times_ns: Sequence[float]) -> float:
    """The standard deviation of the times of processes; never less than that of calm ones."""
    return max(LEAST_SPREAD * min(times_ns), stdev(times_ns) if len(times_ns) > 1 else 0.0)


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
    for item in measurements:
        _size(item, parameter)
    kinds = list(dict.fromkeys(swept(item.cell, parameter).id for item in measurements))
    if len(kinds) > 1:
        raise GradmarkError(
            f"Expected measurements that differ in {parameter!r} alone, got {len(kinds)} kinds: "
            f"{'; '.join(kinds)}. Fit each kind by itself."
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
