"""Across classes of machines: how an engine stands on each, in ratios of times that one machine took.

In: a run of each class. Out: for each row and engine its time as a multiple of a base in its own run, on both machines.
A time of one machine says nothing about another; how many times as long as something else it takes does.
"""

from collections.abc import Mapping, Sequence

from gradmark.analyse.unpaired import Change, exact_changes
from gradmark.records import Cell, Measurement, Record, Run
from gradmark.records.metric import numbers
from gradmark.records.number import of_row
from gradmark.records.readings import LEAST_NS

ALONE = "the function alone"


class Standing(Record, frozen=True, kw_only=True):
    """One row of one engine on both machines."""

    cell: Cell
    base: str  # an engine, or the function without any
    old: float | None  # times the base, on the older run's machine
    new: float | None
    reason: str = ""  # why there is no ratio
    changes: list[Change] = []  # what is counted, and differs

    @property
    def change(self) -> float | None:
        """The newer ratio against the older one."""
        return self.new / self.old if self.old and self.new else None


def standings(old: Run, new: Run) -> list[Standing]:
    """Every cell of either run. The base of a row is the engine that is fastest in the older run, of those in both."""
    before, after = ({m.cell.id: m for m in run.measurements} for run in (old, new))
    times = [{name: ns for name, m in side.items() if (ns := _time(m)) is not None} for side in (before, after)]
    rows: dict[str, list[str]] = {}
    for name in dict.fromkeys([*before, *after]):
        cell = (before.get(name) or after[name]).cell
        rows.setdefault(cell.row, []).append(name)
    return [standing for members in rows.values() for standing in _of_row(members, before, after, times)]


def _of_row(
    members: Sequence[str],
    before: Mapping[str, Measurement],
    after: Mapping[str, Measurement],
    times: Sequence[Mapping[str, float]],
) -> list[Standing]:
    both = [name for name in members if all(name in side for side in times)]
    base = min(both, key=lambda name: times[0][name]) if len(both) > 1 else ""
    standings = []
    for name in members:
        ours, theirs = before.get(name), after.get(name)
        known = ours or theirs
        assert known is not None
        if ours is None or theirs is None:
            reason = f"the {'older' if ours is None else 'newer'} run does not have it"
            standings.append(Standing(cell=known.cell, base="", old=None, new=None, reason=reason))
            continue
        if base:
            ratios = [side[name] / side[base] if name in side else None for side in times]
        else:
            ratios = [_alone(ours), _alone(theirs)]
        standings.append(
            Standing(
                cell=known.cell,
                base=before[base].cell.engine if base else ALONE,
                old=ratios[0],
                new=ratios[1],
                reason="" if all(ratios) else f"nothing to compare with in both runs: {ours.status}, {theirs.status}",
                changes=exact_changes(ours, theirs),
            )
        )
    return standings


def _time(measurement: Measurement) -> float | None:
    number = of_row(numbers(measurement)) if measurement.status == "ok" else None
    return number.value if number is not None and number.value > LEAST_NS else None


def _alone(measurement: Measurement) -> float | None:
    """Its total as a multiple of its own function without derivatives."""
    known = numbers(measurement)
    total, primal = known.get("total"), known.get("primal")
    if measurement.status != "ok" or total is None or primal is None or min(total.value, primal.value) <= LEAST_NS:
        return None
    return total.value / primal.value
