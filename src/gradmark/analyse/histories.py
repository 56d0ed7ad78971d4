"""Histories: kept runs as series of one metric, one for each cell and class of machine, with their change points.

In: outlines of runs. Out: for each class and way of measuring the series of its cells, and what the cells of an engine
did together. `gradmark history` and the page both show this, so that they agree.
"""

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import Literal

from gradmark import units
from gradmark.analyse.changepoints import WINDOW, Change, changes
from gradmark.analyse.series import Group, groups, moved
from gradmark.records import Cell, Number, Record
from gradmark.records.metric import Metric, metric
from gradmark.records.outline import Entry, Outline, Short, number_of
from gradmark.records.readings import LEAST_NS

# A change of the machine shows in the plain functions within so many runs of that of the engine.
NEAR = 1

# Whose doing it is that the cells of an engine move together. Functions without any engine, and the fixed work of
# calibrations, move only with the machine.
Cause = Literal["", "machine", "engine", "machine or engine"]


class Point(Record, frozen=True, kw_only=True):
    """One run of a cell."""

    run: str
    started: str
    number: Number
    commit: str | None = None
    version: str = ""  # of the engine
    speed: float | None = None  # how many times as long the machine's fixed work took as it usually does


class ChangePoint(Record, frozen=True, kw_only=True):
    """The first run on a new level."""

    run: str
    started: str
    ratio: float | None  # the new level against the old one; None if the old one is 0
    commit: str | None = None
    cause: Cause = ""
    cells: list[str] = []  # of a change that a part of an engine's cells share: those cells
    software: list[str] = []  # what else is not as it was in the run before: `torch: 2.12.0, 2.13.0`

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
                "engine": "the engine or its packages changed: fixed work on this machine took as long as before",
                "machine or engine": "the machine or the engine changed: functions without any engine did not move",
            }[self.cause]
        )


class History(Record, frozen=True, kw_only=True):
    """The series of one cell on one class of machines."""

    cell: str
    row: str
    engine: str
    machine: str  # in words, with the way of measuring
    points: list[Point]
    changes: list[ChangePoint] = []
    machine_class: str = ""  # its name


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


def histories(
    outlines: Sequence[Outline], name: str = "total", keep: Callable[[Cell], bool] = lambda _: True
) -> Histories:
    """The series of a metric on every class of machines, engine by engine, oldest run first.

    `keep` says which cells to give back. Change points are found in all cells of an engine, so that what is said of a
    cell does not depend on which others are shown.
    """
    entry = metric(name)
    series: list[History] = []
    together: list[Together] = []
    newest, started = "", ""
    for group in groups(outlines):
        last = group.runs[-1].heading.started
        newest, started = (group.machine, last) if last >= started else (newest, started)
        rows = _rows(group.runs, entry)
        for engine in dict.fromkeys(row.cell.engine for row in rows):
            members = [row for row in rows if row.cell.engine == engine]
            kept = [row for row in members if keep(row.cell)]
            if not kept:
                continue
            own, common = (_exact_changes if entry.exact else _changes)(members, entry, group)
            if common:
                together.append(Together(engine=engine, machine=group.machine, changes=common))
            versions = [engine_version(run, engine) for run in group.runs]
            series += [_history(row, group, own[row.id], versions) for row in kept]
    return Histories(metric=entry.name, newest=newest, series=series, together=together)


def _history(row: "_Row", group: Group, own: list["ChangePoint"], versions: Sequence[str]) -> History:
    points = [
        Point(
            run=run.heading.id,
            started=run.heading.started,
            number=number,
            commit=run.heading.environment.commit,
            version=version,
            speed=speed,
        )
        for run, entry, speed, version in zip(group.runs, row.entries, group.speeds, versions, strict=True)
        if (number := number_of(entry)) is not None
    ]
    return History(
        cell=row.id,
        row=row.cell.row,
        engine=row.cell.engine,
        machine=group.machine,
        machine_class=group.machine_class.name,
        points=points,
        changes=own,
    )


class _Row:
    """One cell over the runs of one group; None where a run lacks it."""

    def __init__(self, cell: Cell, count: int) -> None:
        self.cell = cell
        self.id = cell.id
        self.entries: list[Entry] = [None] * count
        self.values: list[float | None] = [None] * count


def _rows(runs: Sequence[Outline], entry: Metric) -> list[_Row]:
    """The rows of a metric. What failed has no number, nor has a time that was lost in the harness."""
    rows: dict[str, _Row] = {}
    timed = entry.timed
    planned: dict[int, list[_Row]] = {}  # by the list of cells, which runs of one plan share
    for place, run in enumerate(runs):
        cells = run.heading.cells
        members = planned.get(id(cells))
        if members is None:
            members = planned[id(cells)] = [rows.setdefault(cell.id, _Row(cell, len(runs))) for cell in cells]
        for row, known in zip(members, run.column(entry.name), strict=True):
            if known is None:
                continue
            value = known.value if isinstance(known, Short) else known
            if value > LEAST_NS or not timed:
                row.entries[place], row.values[place] = known, value
    return [row for row in rows.values() if any(known is not None for known in row.entries)]


def _values(rows: Sequence[_Row]) -> dict[str, list[float | None]]:
    return {row.id: row.values for row in rows}


Changes = tuple[dict[str, list[ChangePoint]], list[ChangePoint]]


def _changes(rows: Sequence[_Row], _entry: Metric, group: Group) -> Changes:
    """The changes of each cell that are told from noise, and those that several share."""
    own, common = changes(_values(rows))
    # Whether plain functions moved is asked only where rows moved together: of a long history that takes as long again.
    plain = changes(_values(_rows(group.runs, metric("primal"))))[1] if common else []

    def cause(change: Change) -> Cause:
        fixed = moved(group.speeds, change.place, WINDOW)
        if fixed is not None:
            return "machine" if abs(math.log(fixed)) > abs(math.log(change.ratio)) / 2.0 else "engine"
        near = any(abs(other.place - change.place) <= NEAR for other in plain)
        return "machine" if near else "machine or engine"

    return (
        {cell: [_point(group.runs, c.place, c.ratio) for c in steps] for cell, steps in own.items()},
        [_point(group.runs, c.place, c.ratio, cause(c), c.rows) for c in common],
    )


def _exact_changes(rows: Sequence[_Row], entry: Metric, group: Group) -> Changes:
    """Where an exact number leaves the level that it had, by more than the share that does not count."""
    own: dict[str, list[ChangePoint]] = {}
    for row in rows:
        points: list[ChangePoint] = []
        level: float | None = None
        for place, value in enumerate(row.values):
            if value is None:
                continue
            if level is None:
                level = value
            elif abs(value - level) > entry.settled * abs(level):
                points.append(_point(group.runs, place, round(value / level, 6) if level else None))
                level = value
        own[row.id] = points
    return own, []


def _point(
    runs: Sequence[Outline], place: int, ratio: float | None, cause: Cause = "", cells: Sequence[str] = ()
) -> ChangePoint:
    run, before = runs[place], runs[max(0, place - 1)]
    return ChangePoint(
        run=run.heading.id,
        started=run.heading.started,
        ratio=ratio,
        commit=run.heading.environment.commit,
        cause=cause,
        cells=list(cells),
        software=other_software(before, run),
    )


def engine_version(run: Outline, engine: str) -> str:
    """The version of an engine's package, `torch 2.13.0`; of an engine that has none, that of gradmark."""
    packages = run.heading.environment.packages
    name = engine.partition(":")[0]
    name = name if name in packages else "gradmark"
    return f"{name} {packages[name]}" if name in packages else ""


class Level(Record, frozen=True, kw_only=True):
    """What a cell took with one version of its engine."""

    version: str
    value: float  # of the middle run
    runs: int
    since: str


def levels_by_version(series: History) -> list[Level]:
    """A level for each version, in the order in which they came."""
    points: dict[str, list[Point]] = {}
    for point in series.points:
        points.setdefault(point.version, []).append(point)
    return [
        Level(version=version, value=median(p.number.value for p in own), runs=len(own), since=own[0].started)
        for version, own in points.items()
    ]


def other_software(before: Outline, after: Outline) -> list[str]:
    """The packages that are not what they were, as `torch: 2.12.0, 2.13.0`."""
    old, new = before.heading.environment.packages, after.heading.environment.packages
    return [
        f"{name}: {old.get(name, 'none')}, {new.get(name, 'none')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]
