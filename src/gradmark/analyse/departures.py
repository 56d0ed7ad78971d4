"""Departures: how much longer an engine takes than the operations of a derivative say, and where.

In: the measurements of one row, and the recording of its function. Out: a `Departure` for each engine. The prediction
counts operations: each takes as long as every other, and recording takes nothing.
"""

from collections.abc import Sequence

from gradmark.analyse.calm import is_calm
from gradmark.analyse.paired import quotient
from gradmark.records import Measurement, Record, metric
from gradmark.records.recording import Recording
from gradmark.records.times import HARNESS_ERROR_NS

# Below this a ratio is what the prediction says: operations do not all take the same time.
AS_PREDICTED = 1.25


class Part(Record, frozen=True, kw_only=True):
    """One part of an iteration, as a multiple of the function alone."""

    name: str  # forward, backward
    ratio: float
    predicted: float


class Departure(Record, frozen=True, kw_only=True):
    """An engine's time beside what the operations predict. What is None could not be had."""

    engine: str
    problem: str = ""  # why there is no time
    calm: bool = True
    function_ns: float | None = None
    total_ns: float | None = None
    ratio: float | None = None  # total to function
    predicted: float | None = None
    bound: float | None = None  # theory's, whatever the function is
    per_operation_ns: float | None = None
    parts: list[Part] = []
    allocations: float | None = None

    @property
    def factor(self) -> float | None:
        """How many times as long as predicted."""
        return None if self.ratio is None or not self.predicted else self.ratio / self.predicted


def departures(row: Sequence[Measurement], recording: Recording, bound: float | None) -> list[Departure]:
    """One for each measurement, in the same order."""
    return [_departure(m, recording, bound) for m in row]


def _departure(m: Measurement, recording: Recording, bound: float | None) -> Departure:
    if m.status != "ok":
        return Departure(engine=m.cell.engine, problem=f"{m.status}: {m.message}" if m.message else m.status)
    known = metric.numbers(m)
    value = {name: known[name].value for name in ("primal", "forward", "backward", "total") if name in known}
    function, total = value.get("primal"), value.get("total")
    if function is not None and function <= HARNESS_ERROR_NS:
        function = None  # lost in the subtraction of the harness
    if total is None:
        return Departure(engine=m.cell.engine, problem="it computes no derivative, so there is no total")
    predicted, operations = recording.predicted, recording.derivative_operations
    parts = []
    if function and predicted is not None and {"forward", "backward"} <= value.keys():
        parts = [
            Part(name="forward", ratio=value["forward"] / function, predicted=1.0),
            Part(name="backward", ratio=value["backward"] / function, predicted=predicted - 1.0),
        ]
    allocations = known.get("allocations")
    return Departure(
        engine=m.cell.engine,
        calm=is_calm(known, "total"),
        function_ns=function,
        total_ns=total,
        ratio=quotient(function, total) if function else None,
        predicted=predicted,
        bound=bound,
        per_operation_ns=total / operations if operations else None,
        parts=parts,
        allocations=None if allocations is None else allocations.value,
    )


def farthest(departure: Departure) -> Part | None:
    """The part that is farthest above the prediction, or below it; None if the whole is as predicted."""
    factor = departure.factor
    if factor is None or 1 / AS_PREDICTED <= factor <= AS_PREDICTED or not departure.parts:
        return None
    sign = 1.0 if factor > 1 else -1.0
    return max(departure.parts, key=lambda part: sign * (part.ratio - part.predicted))
