"""Material: what all sections are made from, worked out once.

In: one or more runs. Out: the newest measurement of every cell with its summary and row, the fits, what was left out.
"""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from gradmark.analyse.estimates import summarise
from gradmark.analyse.growth import families, growth
from gradmark.analyse.paired import MEANING
from gradmark.errors import GradmarkError
from gradmark.records import Fit, Measurement, Run, Summary
from gradmark.report.model.columns import cells
from gradmark.report.model.rows import Row, reading_order, row


class Material:
    """The runs of one page. Those that do not compare with the newest are kept out of all sections but the history."""

    def __init__(self, runs: Sequence[Run]) -> None:
        if not runs:
            raise GradmarkError("Expected one run or more for a report, got none. Measure one with `gradmark run`.")
        self.runs = sorted(runs, key=lambda run: run.started)
        newest = self.runs[-1]
        self.left_out = {run.id: unlike for run in self.runs if (unlike := _unlike(run, newest))}
        alike = [run for run in self.runs if run.id not in self.left_out]
        cells = {m.cell.id: m for run in alike for m in run.measurements}  # the newest measurement of each
        planned = {cell.id: cell for run in alike for cell in run.planned}
        self.merged = len(alike)
        self.commits = list(dict.fromkeys(_commit(run) for run in alike))
        self.run = msgspec.structs.replace(newest, measurements=list(cells.values()), planned=list(planned.values()))

    @cached_property
    def summaries(self) -> list[Summary]:
        """In the order of the measurements."""
        return [summarise(m) for m in self.run.measurements]

    @cached_property
    def entries(self) -> "list[Entry]":
        """Every cell, in reading order."""
        places = reading_order(self.run)
        pairs = [(self.run.measurements[place], self.summaries[place]) for place in places]
        return [Entry(m, summary, row(m, summary, self.run.settings)) for m, summary in pairs]

    @cached_property
    def fine(self) -> "list[Entry]":
        """The cells that were measured."""
        return [entry for entry in self.entries if entry.row.status == "ok"]

    @cached_property
    def engines(self) -> list[str]:
        """All engines, as first seen; their places choose their colours."""
        return list(dict.fromkeys(entry.row.engine for entry in self.entries))

    @cached_property
    def growth(self) -> tuple[list[tuple[str, list[Fit]]], list[str]]:
        """The fits by family, and the suspects."""
        return growth(self.run)

    @cached_property
    def families(self) -> dict[tuple[str, str], list[Measurement]]:
        """The measurements of each fit."""
        return families(self.run)


class Entry:
    """One cell in the three forms that its numbers are taken from."""

    def __init__(self, measurement: Measurement, summary: Summary, row: Row) -> None:
        self.measurement, self.summary, self.row = measurement, summary, row

    @cached_property
    def texts(self) -> dict[str, str]:
        """The row's text for each column."""
        return cells(self.row)


def _unlike(run: Run, newest: Run) -> list[str]:
    """Why rows of this run do not stand in one table with those of the newest.

    That one of them is full and the other quick is no reason here: the page shows medians with their intervals.
    """
    return run.environment.unlike(newest.environment) + [
        f"{field}: {ours}, {theirs}"
        for field in MEANING
        if field != "full" and (ours := getattr(run.settings, field)) != (theirs := getattr(newest.settings, field))
    ]


def _commit(run: Run) -> str:
    commit = (run.environment.commit or "unknown")[:12]
    return f"{commit} with changes" if run.environment.dirty else commit
