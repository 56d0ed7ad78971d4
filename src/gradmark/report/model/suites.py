"""Suites: the rows of a run as one table for each suite.

In: a run. Out: a `Table` for each suite, which terminal and markdown print.
"""

from collections.abc import Sequence

from gradmark.records import Record, Run, Summary
from gradmark.report.model.characters import one_line
from gradmark.report.model.rows import Row, rows


class Table(Record, frozen=True, kw_only=True):
    """The rows of one suite, in reading order."""

    suite: str
    rows: list[Row]

    @property
    def title(self) -> str:
        """The suite and, of tensors, the dtype and device that all rows have."""
        if not any(row.cell.kind == "tensor" for row in self.rows):
            return self.suite
        shared = [{getattr(row.cell, key) for row in self.rows} for key in ("dtype", "device")]
        return one_line(", ".join([self.suite, *(values.pop() for values in shared if len(values) == 1)]))


def tables(run: Run, summaries: Sequence[Summary] | None = None) -> list[Table]:
    """A table for each suite. `summaries`, in the order of the measurements, spare making them again."""
    suites: dict[str, list[Row]] = {}
    for row in rows(run, summaries):
        suites.setdefault(one_line(row.cell.suite), []).append(row)
    return [Table(suite=suite, rows=members) for suite, members in suites.items()]
