"""Operators: what one operation adds to the same function without it.

In: the measurements of an operator workload. Out: an `Operation` for each, the dearest first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gradmark.records import Measurement
from gradmark.workloads.operators import BASELINE, POINTS


@dataclass(frozen=True)
class Operation:
    """What one operation adds to the function that it stands in; None where it is not known."""

    name: str
    forward_ns: float | None
    backward_ns: float | None
    allocations: float | None
    saved_bytes: float | None
    error: float | None  # of its derivative: in units of the last place, or relative for tensors
    problem: str = ""


def operations(measurements: Sequence[Measurement], engine: str) -> list[Operation]:
    """What each operation adds, dearest first; those that failed last."""
    ours = {str(m.cell.params["operation"]): m for m in measurements if m.cell.engine == engine}
    base = ours.pop(BASELINE, None)
    found = [_operation(name, m, base) for name, m in ours.items()]
    return sorted(found, key=lambda o: (bool(o.problem), -(o.forward_ns or 0.0) - (o.backward_ns or 0.0)))


def _operation(name: str, measurement: Measurement, base: Measurement | None) -> Operation:
    if base is None:
        return Operation(name, None, None, None, None, None, "the function without an operation was not measured")
    for part in (measurement, base):
        if part.status != "ok":
            return Operation(name, None, None, None, None, None, f"{part.status}: {part.message}")
    calls = 1 if measurement.shapes else POINTS

    def added(number: float | None, without: float | None) -> float | None:
        return None if number is None or without is None else (number - without) / calls

    def floor(m: Measurement, phase: str) -> float | None:
        floors = [s.phases[phase].floor_ns for s in m.samples if phase in s.phases]
        return min(floors) if floors else None

    # All of an operation on arrays: NumPy's own way to compute it may well allocate more than the engine's.
    kind = "gross_allocations" if measurement.shapes else "allocations"
    counted = [getattr(m.memory, kind) if m.memory else None for m in (measurement, base)]
    held = [m.tape.saved_bytes if m.tape else None for m in (measurement, base)]
    accuracy = measurement.accuracy
    return Operation(
        name,
        added(floor(measurement, "forward"), floor(base, "forward")),
        added(floor(measurement, "backward"), floor(base, "backward")),
        added(*counted),
        added(*held),
        None if accuracy is None else accuracy.relative_error if measurement.shapes else accuracy.ulps,
    )
