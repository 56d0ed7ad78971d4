"""Material: what all sections are made from, worked out once.

In: one or more runs. Out: the newest measurement of every cell with its row, standings, fits, what was left out.
"""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from gradmark.analyse.growth import Growth, families, growth
from gradmark.analyse.paired import MEANING
from gradmark.analyse.standings import Standing, names_of_tasks
from gradmark.analyse.summary import summarise_run
from gradmark.errors import GradmarkError
from gradmark.records import Cell, Measurement, Run, Summary
from gradmark.report.model import sides
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import Column, cells, columns
from gradmark.report.model.rows import Row, reading_order, row

# Settings that shift a time a little. Rows of such runs are shown together, and a note says so; those of runs that
# differ in any other setting that gives a time its meaning are not.
NOTED = ("full", "forked")
NEWER = ("", "now")  # sides of a cell
# More than any run has: rounds of different runs never have the same number, because they were not interleaved.
ROUNDS = 1_000_000


class Material:
    """The runs of one page. Those that do not compare with the newest are kept out of all sections but the history."""

    def __init__(self, runs: Sequence[Run]) -> None:
        if not runs:
            raise GradmarkError("Expected one run or more for a report, got none. Measure one with `gradmark run`.")
        self.runs = sorted(_once_each(runs), key=lambda run: run.started)
        newest = self.runs[-1]
        self.left_out = {run.id: unlike for run in self.runs if (unlike := _unlike(run, newest))}
        self.merged = [_newer_build(run) for run in self.runs if run.id not in self.left_out]
        self.sources = {m.cell.id: run for run in self.merged for m in run.measurements}  # the newest of each cell
        self.commits = list(dict.fromkeys(_commit(run) for run in self.merged))
        self.run = self._run(self.merged[-1], apart=False)

    def _run(self, newest: Run, *, apart: bool) -> Run:
        """The newest measurement of every cell as one run; `apart` numbers the rounds of each run differently."""
        measurements = {
            m.cell.id: _shifted(m, ROUNDS * place) if apart else m
            for place, run in enumerate(self.merged)
            for m in run.measurements
        }
        planned = {cell.id: cell for run in self.merged for cell in run.planned}
        return msgspec.structs.replace(
            newest,
            measurements=list(measurements.values()),
            planned=list(planned.values()),
            finished=all(run.finished for run in self.merged),
        )

    @cached_property
    def compared(self) -> Run:
        """The same run for comparisons: only what was measured in one run shares its rounds."""
        return self.run if len(self.merged) == 1 else self._run(self.merged[-1], apart=True)

    @cached_property
    def unfinished(self) -> list[Run]:
        """Each run with those of its cells that no newer run was to measure."""
        newest = {cell.id: run.id for run in self.merged for cell in run.planned}
        return [
            msgspec.structs.replace(run, planned=[cell for cell in run.planned if newest[cell.id] == run.id])
            for run in self.merged
            if not run.finished
        ]

    @cached_property
    def summaries(self) -> list[Summary]:
        """In the order of the measurements."""
        return summarise_run(self.run.measurements)

    @cached_property
    def entries(self) -> "list[Entry]":
        """Every cell, in reading order."""
        return [
            Entry(self.run.measurements[at], row(self.summaries[at]), place)
            for place, at in enumerate(reading_order(self.run))
        ]

    @cached_property
    def fine(self) -> "list[Entry]":
        """The cells that were measured."""
        return [entry for entry in self.entries if entry.row.status == "ok"]

    @cached_property
    def rows(self) -> list[Row]:
        """Every row, in reading order."""
        return [entry.row for entry in self.entries]

    @cached_property
    def columns(self) -> list[Column]:
        """The columns that say something on some row."""
        return columns(self.rows)

    @cached_property
    def engines(self) -> list[str]:
        """All engines, as first seen; their places choose their colours."""
        return list(dict.fromkeys(entry.row.engine for entry in self.entries))

    @cached_property
    def standings(self) -> dict[str, list[Standing]]:
        """The engines of each workload and size side by side, as the terminal has them."""
        return sides.placed(self.compared)

    @cached_property
    def competitors(self) -> dict[tuple[str, str], str]:
        """What the engine of a cell is called beside others, by its name and device."""
        return sides.competitors(self.run)

    @cached_property
    def tasks(self) -> list[str]:
        """What engines are compared on, in reading order."""
        return list(dict.fromkeys(map(self.task, self.entries)))

    def task(self, entry: "Entry") -> str:
        """The task of a cell, safe to print."""
        cell = entry.row.cell
        return one_line(self._names_of_tasks[cell.task, cell.file])

    @cached_property
    def _names_of_tasks(self) -> dict[tuple[str, str | None], str]:
        return names_of_tasks(entry.row.cell for entry in self.entries)

    def standing(self, entry: "Entry") -> Standing | None:
        """Where a cell stands in its row; None if it does not compete."""
        cell = entry.row.cell
        return self._standings.get((self.task(entry), self.competitors[cell.engine, cell.device]))

    @cached_property
    def competing(self) -> "dict[tuple[str, str], Entry]":
        """The entry of each standing, by task and by what its engine is called beside others."""
        return {
            (self.task(e), self.competitors[e.row.cell.engine, e.row.cell.device]): e for e in reversed(self.entries)
        }

    @cached_property
    def _standings(self) -> dict[tuple[str, str], Standing]:
        return {(one_line(task), s.engine): s for task, row in self.standings.items() for s in row}

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each cell, by its id: its place in reading order."""
        return {entry.measurement.cell.id: entry.place for entry in self.entries}

    @cached_property
    def growth(self) -> Growth:
        """The fits by family, and the suspects."""
        return growth(self.run)

    @cached_property
    def families(self) -> dict[tuple[str, str], list[Measurement]]:
        """The measurements of each fit."""
        return families(self.run)


class Entry:
    """One cell: its samples, and its row, which all of its numbers are taken from."""

    def __init__(self, measurement: Measurement, row: Row, place: int) -> None:
        self.measurement, self.row, self.place = measurement, row, place

    def texts(self, shown: Sequence[Column]) -> dict[str, str]:
        """The row's text for each column."""
        return cells(self.row, shown)


def _once_each(runs: Sequence[Run]) -> list[Run]:
    """Each run once: a file and what it was continued in are one run, of which the longer counts."""
    longest: dict[str, Run] = {}
    for run in runs:
        known = longest.get(run.id)
        if known is None or _samples(run) > _samples(known):
            longest[run.id] = run
    return list(longest.values())


def _newer_build(run: Run) -> Run:
    """Of two builds that were measured side by side the newer, as rows like all others."""

    def alone(cell: Cell) -> Cell:
        return msgspec.structs.replace(cell, side="") if cell.side else cell

    return msgspec.structs.replace(
        run,
        planned=[alone(cell) for cell in run.planned if cell.side in NEWER],
        measurements=[msgspec.structs.replace(m, cell=alone(m.cell)) for m in run.measurements if m.cell.side in NEWER],
    )


def _samples(run: Run) -> int:
    return sum(len(m.samples) for m in run.measurements)


def _shifted(measurement: Measurement, rounds: int) -> Measurement:
    samples = [msgspec.structs.replace(s, process=s.process + rounds) for s in measurement.samples]
    return msgspec.structs.replace(measurement, samples=samples)


def _unlike(run: Run, newest: Run) -> list[str]:
    """Why rows of this run do not stand in one table with those of the newest."""
    return run.environment.unlike(newest.environment) + differing(run, newest, MEANING, NOTED)


def differing(run: Run, newest: Run, fields: Sequence[str], but: Sequence[str] = ()) -> list[str]:
    """The settings in which two runs differ, in words."""
    return [
        f"it {ours}, the newest {theirs}"
        for field in fields
        if field not in but and (ours := run.settings.words(field)) != (theirs := newest.settings.words(field))
    ]


def _commit(run: Run) -> str:
    commit = (run.environment.commit or "unknown")[:12]
    return f"{commit} with changes" if run.environment.dirty else commit
