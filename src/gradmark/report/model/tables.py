"""The view: what every renderer shows, as plain data.

In: a run, its fits and suspects. Out: a `Table` for each suite, and the `Note`s that belong under them.
"""

from collections.abc import Sequence

from gradmark.records import Record, Run, Summary
from gradmark.report.model.characters import one_line
from gradmark.report.model.notes import Note, notes
from gradmark.report.model.rows import Row, rows

__all__ = ["Note", "Row", "Table", "notes", "tables"]


class Table(Record, frozen=True, kw_only=True):
    """The rows of one suite, in reading order."""

    suite: str
    rows: list[Row]

    @property
    def title(self) -> str:
        """The suite and, of tensors, the dtype and device that all rows have."""
        if not any(row.shape for row in self.rows):
            return self.suite
        dtypes, devices = ({getattr(row.cell, key) for row in self.rows} for key in ("dtype", "device"))
        return one_line(
            self.suite
            + (f", {dtypes.pop()}" if len(dtypes) == 1 else "")
            + (f", {devices.pop()}" if len(devices) == 1 else "")
        )


def tables(run: Run, summaries: Sequence[Summary] | None = None) -> list[Table]:
    """A table for each suite. `summaries`, in the order of the measurements, spare making them again."""
    suites: dict[str, list[Row]] = {}
    for row in rows(run, summaries):
        suites.setdefault(one_line(row.cell.suite), []).append(row)
    return [Table(suite=suite, rows=members) for suite, members in suites.items()]
