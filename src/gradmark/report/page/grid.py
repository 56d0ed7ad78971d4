"""The grid: all cells of the page as one table that can be sorted, filtered and copied.

In: material. Out: the terminal's columns, and for each cell its text, its number in full, and what hovering shows.
"""

import msgspec

from gradmark import units
from gradmark.records import Number, Record
from gradmark.records.metric import Metric, metric
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import NAMES, Column, interval_text, legend, median_text, metric_of, times_text
from gradmark.report.model.rows import Row
from gradmark.report.page.material import Material

# Columns that a narrow terminal keeps longer than this are shown until the reader chooses others.
SHOWN_RANK = 6
# Longer names are folded.
WIDEST = 22
# The page always has these: they are filtered by. The terminal leaves the engine out where there is one.
WORKLOAD, ENGINE = (column for column in NAMES if column.key in ("workload", "engine"))
SUITE = Column(key="suite", title="suite", rank=SHOWN_RANK + 1)


class Head(Record, frozen=True, kw_only=True):
    """One column; `csv` has the names of its metrics in CSV files."""

    key: str
    title: str
    csv: list[str]
    number: bool
    shown: bool
    width: int = 0  # in letters


class Field(Record, frozen=True, kw_only=True):
    """One cell of the table. `value` is written as CSV files have it; `more` is the interval, or why it is missing."""

    text: str
    value: str = ""
    more: str = ""
    which: int = 0  # the place of its metric among those of the column


class Line(Record, frozen=True, kw_only=True):
    """One row of the table."""

    suite: str
    engine: str
    status: str
    steady: bool
    fields: list[Field]


class Grid(Record, frozen=True, kw_only=True):
    """The table."""

    heads: list[Head]
    lines: list[Line]
    suites: list[str]
    engines: list[str]
    times: str  # what they are
    legend: list[str] = []
    unseen: int = 0  # rows that are planned and were not reached yet


def grid(material: Material) -> Grid:
    """Every column that says something on any row; what fails has words in place of its time."""
    numbers = [column for column in material.columns if column.key not in (WORKLOAD.key, ENGINE.key)]
    columns = [WORKLOAD, SUITE, ENGINE, *numbers]
    lines = [
        Line(
            suite=one_line(entry.row.cell.suite),
            engine=entry.row.engine,
            status=entry.row.status,
            steady=entry.row.steady,
            fields=_fields(entry.row, columns, entry.texts([WORKLOAD, ENGINE, *numbers])),
        )
        for entry in material.entries
    ]
    return Grid(
        heads=[_head(column, [line.fields[place].text for line in lines]) for place, column in enumerate(columns)],
        lines=lines,
        suites=list(dict.fromkeys(line.suite for line in lines)),
        engines=material.engines,
        times=times_text(material.rows),
        legend=legend(material.rows, material.columns),
        unseen=len({cell.id for cell in material.run.planned} - {row.cell.id for row in material.rows}),
    )


def _head(column: Column, texts: list[str]) -> Head:
    names = [metric(name).column for name in column.metrics]
    head = Head(
        key=column.key,
        title=column.title,
        csv=names or ["row" if column is WORKLOAD else column.key],
        number=bool(names),
        shown=column.rank <= SHOWN_RANK,
    )
    return msgspec.structs.replace(head, width=_width(head, texts))


def _width(head: Head, texts: list[str]) -> int:
    """Of the widest number, or of a name that is not too long; the title has room for the mark that it is sorted by."""
    longest = max(map(len, texts), default=0)
    return max(len(head.title) + 1, longest if head.number else min(longest, WIDEST))


def _fields(row: Row, columns: list[Column], texts: dict[str, str]) -> list[Field]:
    texts = texts | {SUITE.key: one_line(row.cell.suite)}
    return [_field(row, column, texts[column.key]) for column in columns]


def _field(row: Row, column: Column, text: str) -> Field:
    if not column.metrics or not text:
        return Field(text=text)
    if row.status != "ok" and column.key == "total":
        return Field(text=text, more=row.message)
    entry = metric_of(row, column)
    if entry is None:
        return Field(text=text, more=row.reasons.get(column.metrics[0], ""))
    number = row.numbers[entry.name]
    return Field(text=text, value=str(number.value), more=_more(entry, number), which=column.metrics.index(entry.name))


def _more(entry: Metric, number: Number) -> str:
    """What says how far to trust a time: its interval and the spread."""
    if number.median is None:
        return "computed: total − the other part" if entry.phase else ""
    spread = "" if number.spread is None else f"; spread {units.within(number.spread)}"
    if number.median == number.value:
        return f"{interval_text(number)}{spread}"
    return f"median {median_text(number)}{spread}"  # of files without pilots, whose number is the fastest block
