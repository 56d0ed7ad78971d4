"""The breakdown of a row's time: which operations forward and backward are spent on.

In: a row that says how often its function uses each operation, and what each operation adds on its engine. Out: the
phases with their operations, and what is left of them. Costs come from a loop of one operation at a time; a program or
a cache may do better on the whole, and then the operations are shown as shares of what was measured.
"""

from collections.abc import Sequence

from gradmark.analyse.operators import Operation
from gradmark.records import Measurement, Record
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.records.metric import numbers
from gradmark.records.times import PARTS


class Share(Record, frozen=True, kw_only=True):
    """What one operation takes of a phase."""

    operation: str
    calls: int
    ns: float


class Part(Record, frozen=True, kw_only=True):
    """One phase: its operations, the longest first, and what they leave."""

    name: str
    ns: float
    shares: list[Share]
    rest_ns: float
    times_as_long: float = 1.0  # the operations by themselves, as a multiple of the phase, where that is above 1
    unknown: list[str] = []  # operations whose cost nobody measured; they are in the rest


def breakdown(measurement: Measurement, costs: Sequence[Operation]) -> list[Part]:
    """Forward and backward of a row of numbers; nothing where its calls, its phases or the costs are not known."""
    known = numbers(measurement)
    if (
        measurement.status != "ok"
        or measurement.cell.derivative != USUAL_DERIVATIVE
        or not measurement.calls
        or any(name not in known for name in PARTS)
    ):
        return []
    by_name = {cost.name: cost for cost in costs if not cost.problem}
    if not by_name.keys() & measurement.calls.keys():
        return []
    return [_part(name, known[name].value, measurement.calls, by_name) for name in PARTS]


def _part(name: str, ns: float, calls: dict[str, int], costs: dict[str, Operation]) -> Part:
    found: list[Share] = []
    unknown: list[str] = []
    for operation, count in calls.items():
        cost = costs.get(operation)
        each = None if cost is None else cost.forward_ns if name == PARTS[0] else cost.backward_ns
        if each is None:
            unknown.append(operation)
        elif each > 0:  # below zero is noise of what costs nothing
            found.append(Share(operation=operation, calls=count, ns=count * each))
    together = sum(share.ns for share in found)
    scale = min(1.0, ns / together) if together > 0 else 1.0
    shares = [Share(operation=s.operation, calls=s.calls, ns=s.ns * scale) for s in found]
    return Part(
        name=name,
        ns=ns,
        shares=sorted(shares, key=lambda share: -share.ns),
        rest_ns=max(0.0, ns - together),
        times_as_long=max(1.0, together / ns) if ns > 0 else 1.0,
        unknown=unknown,
    )
