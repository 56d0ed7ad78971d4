"""Histories: kept runs as series, one for each cell, with their changes.

In: runs. Out: for each machine and way of measuring the series of its cells, and what moved all of an engine at once.
"""

from collections.abc import Sequence

from gradmark.analyse.changepoints import Change, changes
from gradmark.analyse.paired import MEANING
from gradmark.records import Measurement, Record, Run

# Environment and settings that make a series: runs that differ in one of these are not points of one.
MACHINE = ("cpu", "machine", "cores", "memory_bytes", "os", "python", "governor")
# A change of the machine shows in the plain functions within so many runs of that of the engine.
NEAR = 1


class Point(Record, frozen=True, kw_only=True):
    """One run of a cell."""

    run: str
    started: str
    floor_ns: float
    commit: str | None = None


class Found(Record, frozen=True, kw_only=True):
    """A change, and the first run that shows it."""

    run: str
    started: str
    ratio: float
    commit: str | None = None
    cause: str = ""


class History(Record, frozen=True, kw_only=True):
    """The series of one cell on one machine."""

    cell: str
    engine: str
    machine: str
    points: list[Point]
    changes: list[Found] = []


class Together(Record, frozen=True, kw_only=True):
    """What all cells of an engine did at once: most likely the machine's doing."""

    engine: str
    machine: str
    changes: list[Found]


class Histories(Record, frozen=True, kw_only=True):
    """All that kept runs say."""

    series: list[History]
    together: list[Together]


def floor(measurement: Measurement, phase: str) -> float | None:
    """The fastest block of a phase over the processes of a run."""
    floors = [sample.phases[phase].floor_ns for sample in measurement.samples if phase in sample.phases]
    return min(floors) if floors and measurement.status == "ok" else None


def machine(run: Run) -> str:
    """What must be equal for times to be points of one series, in words."""
    parts = [getattr(run.environment, name) for name in MACHINE] + [getattr(run.settings, name) for name in MEANING]
    return ", ".join(str(part) for part in parts)


def histories(runs: Sequence[Run], phase: str = "total") -> Histories:
    """The series of every machine, engine by engine, oldest run first."""
    series: list[History] = []
    together: list[Together] = []
    machines: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.started):
        machines.setdefault(machine(run), []).append(run)
    for name, members in machines.items():
        plain = changes(_table(members, "primal", None))[1]
        engines = dict.fromkeys(m.cell.engine for run in members for m in run.measurements)
        for engine in engines:
            table = _table(members, phase, engine)
            if not table:
                continue
            own, common = changes(table)
            if common:
                together.append(Together(engine=engine, machine=name, changes=_named(common, members, plain)))
            series += [
                History(
                    cell=cell,
                    engine=engine,
                    machine=name,
                    points=[
                        Point(run=run.id, started=run.started, floor_ns=ns, commit=run.environment.commit)
                        for run, ns in zip(members, values, strict=True)
                        if ns is not None
                    ],
                    changes=_named(own[cell], members, None),
                )
                for cell, values in table.items()
            ]
    return Histories(series=series, together=together)


def _table(runs: Sequence[Run], phase: str, engine: str | None) -> dict[str, list[float | None]]:
    """The times of each cell, run by run; None where a run lacks it."""
    table: dict[str, list[float | None]] = {}
    for place, run in enumerate(runs):
        for measurement in run.measurements:
            ns = floor(measurement, phase)
            if ns is not None and ns > 0 and engine in (None, measurement.cell.engine):
                table.setdefault(measurement.cell.id, [None] * len(runs))[place] = ns
    return table


def _named(found: Sequence[Change], runs: Sequence[Run], plain: Sequence[Change] | None) -> list[Found]:
    """Changes with their runs; of what is common, whose doing it is: plain functions have no engine in them."""
    named = []
    for change in found:
        run, cause = runs[change.place], ""
        if plain is not None:
            moved = any(abs(other.place - change.place) <= NEAR for other in plain)
            cause = (
                "the machine: functions without any engine moved too"
                if moved
                else "the machine, or the engine as a whole: functions without any engine did not move"
            )
            if change.rows:
                cause = f"not of all, but of {', '.join(change.rows)}; {cause}"
        named.append(
            Found(run=run.id, started=run.started, ratio=change.ratio, commit=run.environment.commit, cause=cause)
        )
    return named
