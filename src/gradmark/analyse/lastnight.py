"""Last night: what the newest runs of every class of machines moved, and whose doing that is.

In: outlines. Out: shifts, largest first: of a whole machine, of an engine on it, of single rows. A step that stays
is the business of `changepoints.py`; one night is one point, and is held against the nights before it.
"""

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import Literal

from gradmark import units
from gradmark.analyse.changepoints import DEVIATIONS, LEAST_OTHERS, LEAST_STEP, WINDOW
from gradmark.analyse.histories import other_software
from gradmark.analyse.series import Group, groups
from gradmark.records import Cell, Record
from gradmark.records.metric import Metric, metric
from gradmark.records.outline import Outline, value_of
from gradmark.records.readings import LEAST_NS

# Nights before, by which it is known how much a row moves by itself.
LEAST_BEFORE = 4
# Of a MAD, to a deviation of normal noise; and of a median of so many nights.
TO_DEVIATION, OF_MEDIAN = 1.4826, math.sqrt(math.pi / 2.0)
# Beyond this, and beyond its own scatter, the machine itself moved: less than what a row must move by to be named.
MACHINE_MOVED = 0.03

Whose = Literal["machine", "engine", "row"]


class Shift(Record, frozen=True, kw_only=True):
    """Something that moved in the newest night of a class."""

    whose: Whose
    machine: str  # in words
    machine_class: str  # its name
    instance: str
    run: str  # the newest
    started: str
    ratio: float  # against the nights before; of an engine or a row, what is left without the machine's
    engine: str = ""
    rows: list[str] = []
    of: int = 0  # how many rows there are
    known_by: str = ""  # of a machine: what says so
    software: list[str] = []  # what else is not as it was

    @property
    def step(self) -> str:
        """How far it moved, in words."""
        return units.percent(self.ratio)


class Night(Record, frozen=True, kw_only=True):
    """What the newest runs say."""

    since: str
    shifts: list[Shift]
    machines: int  # series that have a run in that night
    rows: int  # that were judged
    unjudged: int  # that have too few nights before


def last_night(
    outlines: Sequence[Outline], since: str, name: str = "total", keep: Callable[[Cell], bool] = lambda _: True
) -> Night:
    """What moved in the runs that began since then, on every class of machines."""
    entry = metric(name)
    shifts: list[Shift] = []
    machines = rows = unjudged = 0
    for group in groups(outlines):
        new = [place for place, run in enumerate(group.runs) if run.heading.started >= since]
        if not new:
            continue
        machines += 1
        moves, lacking = _moves(group, new[0], entry)
        rows, unjudged = rows + len(moves), unjudged + lacking
        shifts += _told(group, new[0], moves, entry, keep)
    shifts.sort(key=lambda shift: (("machine", "engine", "row").index(shift.whose), -abs(math.log(shift.ratio))))
    return Night(since=since, shifts=shifts, machines=machines, rows=rows, unjudged=unjudged)


class _Move:
    """How far a row moved, on a logarithmic scale, and by how much it does by itself."""

    def __init__(self, cell: Cell, moved: float, noise: float) -> None:
        self.cell, self.moved, self.noise = cell, moved, noise

    def beyond(self, common: float) -> bool:
        """Whether it moved by more than its noise, beside what all have in common."""
        return abs(self.moved - common) > max(math.log1p(LEAST_STEP), DEVIATIONS * self.noise)


def _moves(group: Group, first: int, entry: Metric) -> tuple[list[_Move], int]:
    """The rows of the newest night against at most a window of nights before; and how many have too few."""
    before: dict[str, list[float]] = {}
    after: dict[str, list[float]] = {}
    cells: dict[str, Cell] = {}
    for place in range(max(0, first - WINDOW), len(group.runs)):
        run = group.runs[place]
        for cell, known in zip(run.heading.cells, run.column(entry.name), strict=True):
            value = value_of(known)
            if value is not None and value > (LEAST_NS if entry.timed else 0.0):
                cells[cell.id] = cell
                (before if place < first else after).setdefault(cell.id, []).append(math.log(value))
    moves = []
    for name, logs in after.items():
        earlier = before.get(name, [])
        if len(earlier) >= LEAST_BEFORE:
            level = median(earlier)
            mad = TO_DEVIATION * median(abs(x - level) for x in earlier)
            noise = mad * math.sqrt(1.0 / len(logs) + OF_MEDIAN**2 / len(earlier))
            moves.append(_Move(cells[name], median(logs) - level, noise))
    return moves, len(after) - len(moves)


def _told(group: Group, first: int, moves: Sequence[_Move], entry: Metric, keep: Callable[[Cell], bool]) -> list[Shift]:
    """Whose shifts they are: the machine's first, then each engine's beside it, then each row's beside both."""
    newest = group.runs[-1]
    software = other_software(group.runs[max(0, first - 1)], newest)

    def shift(whose: Whose, moved: float, **more: object) -> Shift:
        plain = {
            "whose": whose,
            "machine": group.machine,
            "machine_class": group.machine_class.name,
            "instance": newest.heading.environment.instance,
            "run": newest.id,
            "started": newest.heading.started,
            "ratio": round(math.exp(moved), 6),
            **more,
        }
        return Shift(**plain)  # type: ignore[arg-type]

    shifts: list[Shift] = []
    common, known_by = (0.0, "") if entry.exact else _of_machine(group, first, moves)
    if known_by and any(keep(move.cell) for move in moves):
        shifts.append(shift("machine", common, known_by=known_by, of=len(moves)))
    for engine in dict.fromkeys(move.cell.engine for move in moves):
        members = [move for move in moves if move.cell.engine == engine]
        own = median(move.moved for move in members) - common if len(members) >= LEAST_OTHERS else 0.0
        moved = [move for move in members if move.beyond(common)]
        whole = abs(own) > math.log1p(LEAST_STEP) and 2 * len(moved) > len(members)
        if whole and any(keep(move.cell) for move in members):
            names = [move.cell.row for move in moved]
            shifts.append(shift("engine", own, engine=engine, rows=names, of=len(members), software=software))
        level = common + (own if whole else 0.0)
        shifts += [
            shift("row", move.moved - level, engine=engine, rows=[move.cell.row], of=len(members), software=software)
            for move in members
            if move.beyond(level) and keep(move.cell)
        ]
    return shifts


def _of_machine(group: Group, first: int, moves: Sequence[_Move]) -> tuple[float, str]:
    """How far the machine itself moved, and what says so: its calibrations, else what all engines did together."""
    before = [math.log(x) for x in group.speeds[max(0, first - WINDOW) : first] if x is not None]
    after = [math.log(x) for x in group.speeds[first:] if x is not None]
    if len(before) >= LEAST_BEFORE and after:
        moved = median(after) - median(before)
        scatter = TO_DEVIATION * median(abs(x - median(before)) for x in before)
        beyond = abs(moved) > max(math.log1p(MACHINE_MOVED), DEVIATIONS * scatter)
        return (moved, "fixed work moved as much") if beyond else (0.0, "")
    by_engine: dict[str, list[float]] = {}
    for move in moves:
        by_engine.setdefault(move.cell.engine, []).append(move.moved)
    middles = sorted((median(moved) for moved in by_engine.values()), key=abs)
    alike = len(middles) > 1 and len(moves) > LEAST_OTHERS and (min(middles) > 0.0 or max(middles) < 0.0)
    if alike and abs(middles[0]) > math.log1p(LEAST_STEP):
        return median(middles), "the rows of all engines moved together"
    return 0.0, ""
