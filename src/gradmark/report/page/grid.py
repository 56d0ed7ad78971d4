"""The grid: all cells of the page as one table that can be sorted, filtered and copied.

In: material. Out: the terminal's columns, and for each cell its text, its number in full, and what hovering shows.
"""

import msgspec

from gradmark import units
from gradmark.analyse.standings import Standing
from gradmark.records import Number, Record
from gradmark.records.metric import Metric, metric
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import NAMES, Column, interval_text, legend, median_text, metric_of, times_text
from gradmark.report.model.rows import Row
from gradmark.report.model.sides import FASTEST, TIED, TO_FASTEST, UNSETTLED, is_best, mark
from gradmark.report.page.material import Material

# Columns that a narrow terminal keeps longer than this are shown until the reader chooses others.
SHOWN_RANK = 6
# Longer names are folded.
WIDEST = 22
# The page always has these: they are filtered by. The terminal leaves the engine out where there is one.
WORKLOAD, ENGINE = (column for column in NAMES if column.key in ("workload", "engine"))
SUITE = Column(key="suite", title="suite", rank=SHOWN_RANK + 1)


# Where a row stands; after the total.
MARKS = (
    f"{TO_FASTEST}: {FASTEST} the fastest; {TIED} tied with the fastest; {UNSETTLED} not settled: too few processes to "
    "tell"
)
STANDING = Column(key="times_fastest", title=TO_FASTEST, rank=0)


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
    first: bool  # of its task
    best: bool  # the fastest, or tied with it
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
    total = next((place for place, column in enumerate(columns) if column.key == "total"), len(columns) - 1)
    if any(len(row) > 1 for row in material.standings.values()):
        columns.insert(total + 1, STANDING)
    tasks = [material.task(entry) for entry in material.entries]
    standings = [material.standing(entry) for entry in material.entries]
    lines = [
        Line(
            suite=one_line(entry.row.cell.suite),
            engine=entry.row.engine,
            status=entry.row.status,
            steady=entry.row.steady,
            first=not entry.place or tasks[entry.place - 1] != tasks[entry.place],
            best=standing is not None and is_best(standing),
            fields=_fields(entry.row, columns, entry.texts([WORKLOAD, ENGINE, *numbers]), standing),
        )
        for entry, standing in zip(material.entries, standings, strict=True)
    ]
    return Grid(
        heads=[_head(column, [line.fields[place].text for line in lines]) for place, column in enumerate(columns)],
        lines=lines,
        suites=list(dict.fromkeys(line.suite for line in lines)),
        engines=material.engines,
        times=times_text(material.rows),
        legend=[*([MARKS] if STANDING in columns else []), *legend(material.rows, material.columns)],
        unseen=len({cell.id for cell in material.run.planned} - {row.cell.id for row in material.rows}),
    )


def _head(column: Column, texts: list[str]) -> Head:
    names = [metric(name).column for name in column.metrics]
    head = Head(
        key=column.key,
        title=column.title,
        csv=names or ["row" if column is WORKLOAD else column.key],
        number=bool(names) or column is STANDING,
        shown=column.rank <= SHOWN_RANK,
    )
    return msgspec.structs.replace(head, width=_width(head, texts))


def _width(head: Head, texts: list[str]) -> int:
    """Of the widest number, or of a name that is not too long; the title has room for the mark that it is sorted by."""
    longest = max(map(len, texts), default=0)
    return max(len(head.title) + 1, longest if head.number else min(longest, WIDEST))


def _fields(row: Row, columns: list[Column], texts: dict[str, str], standing: Standing | None) -> list[Field]:
    texts = texts | {SUITE.key: one_line(row.cell.suite)}
    return [_standing(standing) if column is STANDING else _field(row, column, texts[column.key]) for column in columns]


def _standing(standing: Standing | None) -> Field:
    """How many times the fastest of its row, as the terminal marks it."""
    if standing is None:
        return Field(text="")
    return Field(text=units.times(standing.ratio) + mark(standing), value=str(standing.ratio))


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
