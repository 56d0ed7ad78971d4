"""Rows: all that is shown of one cell, as plain data, in the order in which people read them.

In: a run. Out: a `Row` for each measurement. A number that is missing has its reason; names and messages are safe to
print.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from gradmark.analyse.summary import summarise, summarise_run
from gradmark.records import Measurement, Run, Status, Summary
from gradmark.report.model.characters import one_line, some

WORDS: dict[Status, str] = {
    "ok": "ok",
    "unsupported": "unsupported",
    "invalid": "not measurable",
    "wrong-gradient": "wrong gradient",
    "wrong-value": "wrong value",
    "untimed-work": "untimed work",
    "error": "error",
    "crash": "crashed",
    "timeout": "timed out",
    "out-of-memory": "out of memory",
    "skipped": "skipped",
}

MOST_OPERATIONS = 8  # that one sentence names


class Row(Summary, frozen=True, kw_only=True):
    """One cell as it is shown: its summary, with names that are safe to print."""

    workload: str  # the row's name: workload and size, with dtype and device where they are unusual
    engine: str

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return f"{self.workload} on {self.engine}"

    @property
    def why(self) -> str:
        """The message; of what is unsupported without the row's own names, so that equal reasons are equal texts."""
        if self.status != "unsupported":
            return self.message
        text = self.message
        for name, word in ((self.engine, "it"), (one_line(self.cell.workload), "this")):
            text = re.sub(rf"(?<![\w:/-]){re.escape(name)}(?![\w:/-])", word, text) if name else text
        return text


def lacking(rows: Sequence[Row]) -> str:
    """Which operations rows of one engine need and it does not have; empty if that is not what they lack."""
    names = dict.fromkeys(one_line(name) for row in rows for name in row.lacks)
    return f"it lacks {some(list(names), MOST_OPERATIONS)}" if names else ""


def rows(run: Run, summaries: Sequence[Summary] | None = None) -> list[Row]:
    """A row for each measurement. `summaries` are in the order of the measurements; without them they are made here."""
    if summaries is None:
        summaries = summarise_run(run.measurements)
    return [row(summaries[place]) for place in reading_order(run)]


def row(summary: Summary) -> Row:
    """The row of one summary."""
    known = msgspec.structs.asdict(summary) | {
        "message": one_line(summary.message),
        "reasons": {name: one_line(reason) for name, reason in summary.reasons.items()},
    }
    return Row(workload=one_line(summary.cell.row), engine=one_line(summary.cell.engine), **known)


def row_of(measurement: Measurement) -> Row:
    """The row of one measurement."""
    return row(summarise(measurement))


def reading_order(run: Run) -> list[int]:
    """The places of the measurements: by suite and workload as first seen, sizes ascending, engines as first seen.

    The plan counts as seen first: cells are measured in a random order, which is nobody's wish.
    """
    measured = [m.cell for m in run.measurements]
    cells = [*run.planned, *measured]
    suites = _ranks(c.suite for c in cells)
    workloads = _ranks((c.workload, c.file) for c in cells)
    kinds = _ranks((c.dtype, c.derivative, c.device) for c in cells)
    engines = _ranks(c.engine for c in cells)

    def key(place: int) -> tuple[Any, ...]:
        c = measured[place]
        # Numbers before words, so that any two sizes can be compared.
        size = [(1, 0.0, v) if isinstance(v, str) else (0, float(v), "") for v in c.params.values()]
        kind = kinds[c.dtype, c.derivative, c.device]
        return suites[c.suite], workloads[c.workload, c.file], size, kind, engines[c.engine], c.side

    return sorted(range(len(measured)), key=key)


def _ranks(things: Iterable[Any]) -> dict[Any, int]:
    return {thing: rank for rank, thing in enumerate(dict.fromkeys(things))}
