"""Histories: kept runs as series of one metric, one for each cell and machine, with their change points.

In: runs. Out: for each machine and way of measuring the series of its cells, and what the cells of an engine did
together. `gradmark history` and the page both show this, so that they agree.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from gradmark import units
from gradmark.analyse.changepoints import Change, changes
from gradmark.analyse.paired import MEANING
from gradmark.records import Cell, Number, Record, Run
from gradmark.records.metric import LEAST_NS, Metric, metric, numbers
from gradmark.records.times import times

# Environment and settings that make a series: runs that differ in one of these are not points of one.
MACHINE = ("cpu", "machine", "cores", "memory_bytes", "os", "python", "governor")
# A change of the machine shows in the plain functions within so many runs of that of the engine.
NEAR = 1

# Whose doing it is that the cells of an engine move together. Functions without any engine move only with the machine.
Cause = Literal["", "machine", "machine or engine"]


class Point(Record, frozen=True, kw_only=True):
    """One run of a cell."""

    run: str
    started: str
    number: Number
    commit: str | None = None


class ChangePoint(Record, frozen=True, kw_only=True):
    """The first run on a new level."""

    run: str
    started: str
    ratio: float | None  # the new level against the old one; None if the old one is 0
    commit: str | None = None
    cause: Cause = ""
    cells: list[str] = []  # of a change that a part of an engine's cells share: those cells

    @property
    def step(self) -> str:
        """How far the level moved, in words."""
        return "no longer 0" if self.ratio is None else units.percent(self.ratio)

    @property
    def reason(self) -> str:
        """The cause in words."""
        which_cells = f"only {', '.join(self.cells)}; " if self.cells else ""
        return (
            which_cells
            + {
                "": "",
                "machine": "the machine changed: functions without any engine moved too",
                "machine or engine": "the machine or the engine changed: functions without any engine did not move",
            }[self.cause]
        )


class History(Record, frozen=True, kw_only=True):
    """The series of one cell on one machine."""

    cell: str
    row: str
    engine: str
    machine: str
    points: list[Point]
    changes: list[ChangePoint] = []


class Together(Record, frozen=True, kw_only=True):
    """What several cells of an engine did at once, which accuses none of them."""

    engine: str
    machine: str
    changes: list[ChangePoint]


class Histories(Record, frozen=True, kw_only=True):
    """All that kept runs say of one metric."""

    metric: str
    newest: str  # the machine of the newest run
    series: list[History]
    together: list[Together]


def histories(runs: Sequence[Run], name: str = "total", keep: Callable[[Cell], bool] = lambda _: True) -> Histories:
    """The series of a metric on every machine, engine by engine, oldest run first.

    `keep` says which cells to give back. Change points are found in all cells of an engine, so that what is said of a
    cell does not depend on which others are shown.
    """
    entry = metric(name)
    machines: dict[str, list[Run]] = {}
    names: dict[tuple[object, ...], str] = {}
    newest = ""
    for run in sorted(runs, key=lambda run: (run.started, run.id)):
        newest = _machine(run, names)
        machines.setdefault(newest, []).append(run)
    series: list[History] = []
    together: list[Together] = []
    for machine, members in machines.items():
        rows, functions = _rows(members, [entry, metric("primal")])
        plain = [] if entry.exact else changes(_values(functions))[1]
        for engine in dict.fromkeys(row.cell.engine for row in rows):
            group = [row for row in rows if row.cell.engine == engine]
            kept = [row for row in group if keep(row.cell)]
            if not kept:
                continue
            own, common = _exact_changes(group, entry, members) if entry.exact else _changes(group, members, plain)
            if common:
                together.append(Together(engine=engine, machine=machine, changes=common))
            series += [
                History(
                    cell=row.cell.id,
                    row=row.cell.row,
                    engine=engine,
                    machine=machine,
                    points=[
                        Point(run=run.id, started=run.started, number=number, commit=run.environment.commit)
                        for run, number in zip(members, row.numbers, strict=True)
                        if number is not None
                    ],
                    changes=own[row.cell.id],
                )
                for row in kept
            ]
    return Histories(metric=entry.name, newest=newest, series=series, together=together)


class _Row:
    """One cell over the runs of one machine; None where a run lacks it."""

    def __init__(self, cell: Cell, count: int) -> None:
        self.cell = cell
        self.numbers: list[Number | None] = [None] * count


def _rows(runs: Sequence[Run], entries: Sequence[Metric]) -> list[list[_Row]]:
    """The rows of each metric. The numbers are those that are shown everywhere.

    What failed has none, nor has a time that was lost in the harness. Two builds that were compared side by side are
    no points of a series.
    """
    # Phases are asked for most, and can be had without the other metrics: a store holds many runs.
    read = times if all(entry.phase for entry in entries) else numbers
    rows: list[dict[str, _Row]] = [{} for _ in entries]
    for place, run in enumerate(runs):
        for measurement in run.measurements:
            cell = measurement.cell
            if measurement.status != "ok" or cell.side:
                continue
            known = read(measurement)
            for entry, kept in zip(entries, rows, strict=True):
                number = known.get(entry.name)
                if number is not None and not (entry.timed and number.value <= LEAST_NS):
                    kept.setdefault(cell.id, _Row(cell, len(runs))).numbers[place] = number
    return [list(kept.values()) for kept in rows]


def _values(rows: Sequence[_Row]) -> dict[str, list[float | None]]:
    return {row.cell.id: [None if number is None else number.value for number in row.numbers] for row in rows}


Changes = tuple[dict[str, list[ChangePoint]], list[ChangePoint]]


def _changes(rows: Sequence[_Row], runs: Sequence[Run], plain: Sequence[Change]) -> Changes:
    """The changes of each cell that are told from noise, and those that several share."""

    def point(change: Change, cause: Cause) -> ChangePoint:
        return _point(runs[change.place], change.ratio, cause, change.rows)

    def cause(change: Change) -> Cause:
        moved = any(abs(other.place - change.place) <= NEAR for other in plain)
        return "machine" if moved else "machine or engine"

    own, common = changes(_values(rows))
    return (
        {cell: [point(change, "") for change in steps] for cell, steps in own.items()},
        [point(change, cause(change)) for change in common],
    )


def _exact_changes(rows: Sequence[_Row], entry: Metric, runs: Sequence[Run]) -> Changes:
    """Where an exact number leaves the level that it had, by more than the share that does not count."""
    own: dict[str, list[ChangePoint]] = {}
    for row in rows:
        points: list[ChangePoint] = []
        level: float | None = None
        for run, number in zip(runs, row.numbers, strict=True):
            if number is None:
                continue
            if level is None:
                level = number.value
            elif abs(number.value - level) > entry.settled * abs(level):
                points.append(_point(run, round(number.value / level, 6) if level else None))
                level = number.value
        own[row.cell.id] = points
    return own, []


def _point(run: Run, ratio: float | None, cause: Cause = "", cells: Sequence[str] = ()) -> ChangePoint:
    commit = run.environment.commit
    return ChangePoint(run=run.id, started=run.started, ratio=ratio, commit=commit, cause=cause, cells=list(cells))


def _machine(run: Run, names: dict[tuple[object, ...], str]) -> str:
    """What must be equal for numbers to be points of one series, in words; no two machines have the same words."""
    here, how = run.environment, run.settings
    key = (*(getattr(here, name) for name in MACHINE), *(getattr(how, name) for name in MEANING))
    if key not in names:
        words = [
            here.cpu,
            here.machine,
            f"{here.cores} core{'s' * (here.cores != 1)}",
            units.size(here.memory_bytes) if here.memory_bytes else "",
            here.os,
            here.python,
            f"governor {here.governor}" if here.governor else "",
            f"{how.threads} thread{'s' * (how.threads != 1)}",
            f"blocks of {units.time(how.block_ns)}",
            "" if how.pin else "not pinned",
            "--full" if how.full else "",
            "forked workers" if how.forked else "",
        ]
        name = ", ".join(word for word in words if word)
        same = sum(other.startswith(name) for other in names.values())
        names[key] = f"{name} ({same + 1})" if same else name
    return names[key]
