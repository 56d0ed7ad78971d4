"""Operators: what one operation adds to the same function without it.

In: the measurements of an operator workload. Out: an `Operation` for each, the dearest first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gradmark.analyse.calm import is_calm
from gradmark.records import Measurement
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.records.metric import numbers
from gradmark.records.times import PARTS
from gradmark.workloads.operators import BASELINE, POINTS


@dataclass(frozen=True)
class Operation:
    """What one operation adds to the function that it stands in; None where it is not known."""

    name: str
    forward_ns: float | None
    backward_ns: float | None
    allocations: float | None
    saved_bytes: float | None
    error: float | None  # of its derivative: in units in the last place, or relative for tensors
    problem: str = ""
    calm: bool = True  # False: a time that it was computed from was never seen on a calm machine
    total_ns: float | None = None  # of a derivative that is no gradient: it has no parts
    moved_bytes: float | None = None  # read and written by a value with its gradient
    moved_is_counted: bool = False  # by the compiler of the engine; else it is what unfused operations must move


def operations(measurements: Sequence[Measurement], engine: str) -> list[Operation]:
    """What each operation adds, dearest first; those that failed last."""
    own = [m for m in measurements if m.cell.engine == engine and "operation" in m.cell.params]
    ours = {str(m.cell.params["operation"]): m for m in own}
    base = ours.pop(BASELINE, None)
    rows = [_operation(name, m, base) for name, m in ours.items()]
    return sorted(
        rows, key=lambda o: (bool(o.problem), -sum(ns or 0.0 for ns in (o.forward_ns, o.backward_ns, o.total_ns)))
    )


def _operation(name: str, measurement: Measurement, base: Measurement | None) -> Operation:
    if base is None:
        return _problem(name, "the function without an operation was not measured")
    for part in (measurement, base):
        if part.status != "ok":
            return _problem(name, f"{part.status}: {part.message}")
    calls = 1 if measurement.shapes else POINTS
    known, without = numbers(measurement), numbers(base)

    def added(metric: str) -> float | None:
        if metric not in known or metric not in without:
            return None
        return (known[metric].value - without[metric].value) / calls

    def declared() -> float | None:
        known_bytes = (measurement.bytes, base.bytes)
        return None if None in known_bytes else (known_bytes[0] or 0.0) - (known_bytes[1] or 0.0)

    counted = added("moved_bytes")
    error = known.get("gradient_error" if measurement.shapes else "error_ulps")
    whole = measurement.cell.derivative != USUAL_DERIVATIVE
    return Operation(
        name,
        None if whole else added("forward"),
        None if whole else added("backward"),
        _gross_allocations(measurement, base) if measurement.shapes else added("allocations"),
        added("tape_bytes"),
        None if error is None else error.value,
        total_ns=added("total") if whole else None,
        moved_bytes=None if whole else counted if counted is not None else declared(),
        moved_is_counted=counted is not None and not whole,
        calm=all(is_calm(times, part) for times in (known, without) for part in (["total"] if whole else PARTS)),
    )


def _problem(name: str, problem: str) -> Operation:
    return Operation(name, None, None, None, None, None, problem=problem)


def _gross_allocations(measurement: Measurement, base: Measurement) -> float | None:
    """All of an operation on arrays: NumPy's own way to compute it may well allocate more than the engine's."""
    counts = [m.memory.gross_allocations if m.memory else None for m in (measurement, base)]
    return None if counts[0] is None or counts[1] is None else counts[0] - counts[1]
