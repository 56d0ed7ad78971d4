"""Columns: a row's numbers as short text, the same on a terminal, in markdown and on the page.

In: rows. Out: columns made from the registry of metrics, cells by the key of their column, and the legend.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from gradmark import units
from gradmark.analyse.calm import is_calm
from gradmark.analyse.summary import UNSTEADY_SPREAD
from gradmark.records import Number, Record, metric
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.records.metric import Metric
from gradmark.records.number import OF_ROW
from gradmark.records.order import CONFIDENCE
from gradmark.report.model.characters import one_line, some
from gradmark.report.model.rows import WORDS, Row
from gradmark.report.model.words import SELF_TIMED, times_are

MISSING = "n/a"
DERIVED = "~"
NEVER_CALM = "?"
# Of a phase that the sessions of other engines declare: nobody knows of it on this one.
UNDECLARED = "the engine does not have this phase"


class Column(Record, frozen=True, kw_only=True):
    """One column. `rank` says how soon it gives way on a narrow terminal: the largest first, 0 never."""

    key: str
    title: str
    rank: int
    remark: str = ""  # under the title; wider than the numbers
    metrics: list[str] = []  # a cell shows the first of these that its row has

    @property
    def header(self) -> str:
        """The title with its remark in brackets."""
        return f"{self.title} ({self.remark})" if self.remark else self.title


NAMES = [
    Column(key="workload", title="workload", rank=0),
    Column(key="shape", title="shape", rank=13),
    Column(key="engine", title="engine", rank=0),
    Column(key="mode", title="mode", rank=4),
]
# On demand: the median over processes of total, with its interval or, of few processes, its range.
MEDIAN = Column(key="median", title="median", rank=0, metrics=["total"])


def all_columns() -> tuple[Column, ...]:
    """The names, and a column for every title in the registry that has a rank, in the order of the registry."""
    return _columns_of(metric.REGISTRY)


@cache
def _columns_of(registry: tuple[Metric, ...]) -> tuple[Column, ...]:
    shared: dict[str, list[Metric]] = {}
    for entry in registry:
        if entry.rank is not None:
            shared.setdefault(entry.title, []).append(entry)
    numbers = [
        Column(
            key=members[0].name,
            title=title,
            remark=members[0].remark,
            rank=members[0].rank or 0,
            metrics=[m.name for m in members],
        )
        for title, members in shared.items()
    ]
    return (*NAMES, *numbers)


def columns(rows: Sequence[Row], *, medians: bool = False) -> list[Column]:
    """The columns that say something on some row; the engine only if there are several.

    Further phases that engines declare come after total.
    """
    shown: list[Column] = []
    for column in all_columns():
        texts = {cells(row, [column])[column.key] for row in rows}
        says = len(texts) > 1 if column.key == "engine" else bool(texts - {"", MISSING})
        if column.key == "mode":  # of gradients alone it says nothing new
            says = says and any(row.cell.derivative != USUAL_DERIVATIVE for row in rows)
        if says:
            shown.append(column)
        if column.key == "total":
            shown += [MEDIAN] if medians and says else []
            shown += [Column(key=name, title=name, rank=3, metrics=[name]) for name in _declared(rows)]
    # For an engine that only evaluates, primal is the one time there is: it must not give way.
    alone = {name for row in rows for name in OF_ROW if name in row.numbers and row.numbers[name] is row.time}
    return [msgspec.structs.replace(c, rank=0) if c.key in alone else c for c in shown]


def _declared(rows: Sequence[Row]) -> list[str]:
    """Phases of sessions that the registry does not know."""
    return list(dict.fromkeys(name for row in rows for name in row.numbers if not metric.is_known(name)))


def cells(row: Row, shown: Sequence[Column] | None = None) -> dict[str, str]:
    """The row's text for each column. A row that failed has words in place of its time."""
    texts = {}
    for column in all_columns() if shown is None else shown:
        if not column.metrics:
            texts[column.key] = _name(row, column.key)
        elif row.status != "ok":
            known = row.status == "wrong-gradient" and column.title == "error" and metric_of(row, column)
            texts[column.key] = _text(row, column) if known else ""
        else:
            texts[column.key] = _text(row, column)
    if row.status != "ok" and "total" in texts:
        texts["total"] = WORDS[row.status]
    return texts


def _name(row: Row, key: str) -> str:
    return {
        "workload": row.workload,
        "shape": row.shape,
        "engine": row.engine,
        "mode": one_line(row.mode),
    }[key]


def metric_of(row: Row, column: Column) -> Metric | None:
    """The metric that a column shows of a row; None if the row has none of them."""
    return next((metric.metric(name) for name in column.metrics if name in row.numbers), None)


def applies(row: Row, column: Column) -> bool:
    """Whether a column says anything of this kind of workload."""
    entries = map(metric.metric, column.metrics)
    return any(row.cell.kind in entry.kinds and entry.is_of(row.cell) for entry in entries)


def _text(row: Row, column: Column) -> str:
    """The number with its unit, marked if it is computed from others or in doubt; n/a if it is missing."""
    if not applies(row, column):
        return ""
    entry = metric_of(row, column)
    if entry is None:
        return MISSING
    number = row.numbers[entry.name]
    if column.key == MEDIAN.key:
        return median_text(number)
    return number_text(entry, number, calm=is_calm(row.numbers, entry.name))


def number_text(entry: Metric, number: Number, *, calm: bool = True) -> str:
    """A number as every table shows it; `calm` is whether those that it was computed from were."""
    doubt = "" if calm and number.calm else NEVER_CALM
    own = SELF_TIMED if number.how == "self-timed" else ""
    return (DERIVED if number.how == "derived" else "") + units.text(entry.unit, number.value) + own + doubt


def median_text(number: Number) -> str:
    """The median with its interval; what n processes cannot give 95 % for is called a range."""
    if number.median is None or number.low is None or number.high is None:
        return MISSING
    if number.processes < 2:
        return units.time(number.median)
    return f"{units.time(number.median)} ({interval_text(number)})"


def interval_text(number: Number) -> str:
    """Low to high, and what that is."""
    if number.low is None or number.high is None or number.coverage is None:
        return "one process"
    ends = f"{units.time(number.low)} to {units.time(number.high)}"
    return f"{ends}, {100 * number.coverage:.0f} %" if number.coverage >= CONFIDENCE else f"range {ends}"


def times_text(rows: Sequence[Row]) -> str:
    """What the times of rows are."""
    return times_are(row.calm_blocks is not None for row in rows if row.time)


def legend(rows: Sequence[Row], shown: Sequence[Column]) -> list[str]:
    """One line for what the numbers are, one for each mark, and one for each reason of a missing number."""
    fine = [row for row in rows if row.status == "ok"]
    headers = {column.key for column in shown}
    lines = []
    if any(row.time for row in fine):
        lines.append(f"times: {times_text(fine)}")
    if "spread" in headers:
        beyond = f"; unsteady beyond {units.within(UNSTEADY_SPREAD)}" if any(not row.steady for row in fine) else ""
        lines.append(
            "spread: half the width of the time's interval (95 % from six processes on, else the range)" + beyond
        )
    if any("cold" in row.numbers for row in fine):
        lines.append(
            "on a device: total is what an iteration takes with flushed caches, by the device's clock (cold), or by "
            "the host's where that asks for longer (host); hot is back to back"
        )
    if MEDIAN.key in headers:
        lines.append("median: over processes, with its interval; a range if there are too few processes for 95 %")
    shown_metrics = [(row, entry) for row in fine for c in shown if applies(row, c) and (entry := metric_of(row, c))]
    if any(row.numbers[entry.name].how == "derived" for row, entry in shown_metrics):
        lines.append(f"{DERIVED} computed as total − the other part")
    if any(row.numbers[entry.name].how == "self-timed" for row, entry in shown_metrics):
        lines.append(f"{SELF_TIMED} self-timed: as reported by the tool itself, without the first run of each message")
    if any(not is_calm(row.numbers, entry.name) for row, entry in shown_metrics):
        lines.append(f"{NEVER_CALM} the machine was never calm while this was timed, so it decides nothing")
    return [*lines, *_gaps(fine, shown)]


class Gap(NamedTuple):
    """What is missing for one reason, and where."""

    headers: dict[str, None]
    rows: dict[int, Row]


def _gaps(fine: Sequence[Row], shown: Sequence[Column]) -> list[str]:
    """Why numbers are missing: one line for each reason."""
    gaps: dict[str, Gap] = {}
    for column in shown:
        for place, row in enumerate(fine):
            if column.metrics and applies(row, column) and metric_of(row, column) is None:
                gap = gaps.setdefault(row.reasons.get(column.metrics[0], UNDECLARED), Gap({}, {}))
                gap.headers[column.title] = None
                gap.rows[place] = row
    return [
        f"{MISSING} {', '.join(gap.headers)}{_where(list(gap.rows.values()), fine)}: {reason}"
        for reason, gap in gaps.items()
    ]


def _where(where: Sequence[Row], fine: Sequence[Row]) -> str:
    """Which rows are meant, if not all: by engine where there are several."""
    if len(where) == len(fine):
        return ""
    several = len({row.engine for row in fine}) > 1
    return f" ({some(list(dict.fromkeys(row.engine if several else row.workload for row in where)))})"
