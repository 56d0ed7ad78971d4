"""Bars: forward and backward, and memory, of every row; lengths compare the engines on one workload.

In: material. Out: plain rows with the lengths of their bars in percent and the numbers beside them.
"""

from collections.abc import Callable, Sequence

from gradmark.records import Record
from gradmark.records.metric import metric
from gradmark.records.times import PARTS
from gradmark.report.model.characters import plural
from gradmark.report.model.columns import MISSING, Column, all_columns, metric_of, number_text
from gradmark.report.model.rows import Row
from gradmark.report.page.material import Entry, Material

RATIO = "backward_forward"
PEAK, RETAINED = "peak_bytes", "retained_bytes"


class Bar(Record, frozen=True, kw_only=True):
    """One row: two parts of a bar, in percent of the longest on the same workload, and its numbers as text."""

    cell: int
    workload: str
    engine: str
    first: float
    second: float
    numbers: list[str]


class Bars(Record, frozen=True, kw_only=True):
    """The bars of a section; `gaps` says what has none, and why."""

    heads: list[str]
    bars: list[Bar]
    gaps: list[str]


def phases(material: Material) -> Bars:
    """Forward and backward, stacked, with their ratio."""
    shown = [e for e in material.fine if all(part in e.row.numbers for part in PARTS)]
    longest = _longest(shown, lambda row: sum(row.numbers[part].value for part in PARTS))
    bars = []
    for entry in shown:
        row = entry.row
        whole = longest[row.cell.task]
        first, second = (_percent(row.numbers[part].value, whole) for part in PARTS)
        texts = [_text(row, name) for name in (*PARTS, RATIO)]
        bars.append(Bar(cell=entry.place, workload=row.workload, engine=row.engine, first=first, second=second, numbers=texts))
    heads = [metric(name).title for name in (*PARTS, RATIO)]
    return Bars(heads=heads, bars=bars, gaps=_gaps(material, shown, PARTS))


def memory(material: Material) -> Bars:
    """Peak, and how much of it is retained after forward; beside them all counts and sizes that some row has."""
    shown = [e for e in material.fine if PEAK in e.row.numbers]
    longest = _longest(shown, lambda row: row.numbers[PEAK].value)
    counted = [
        column
        for column in all_columns()
        if column.metrics and metric(column.metrics[0]).unit in ("bytes", "count")
        and any(metric_of(entry.row, column) for entry in shown)
    ]  # fmt: skip
    bars = []
    for entry in shown:
        row = entry.row
        peak, whole = row.numbers[PEAK].value, longest[row.cell.task]
        held = min(row.value(RETAINED) or 0.0, peak)
        bars.append(
            Bar(
                cell=entry.place,
                workload=row.workload,
                engine=row.engine,
                first=_percent(held, whole),
                second=_percent(peak - held, whole),
                numbers=[_column_text(row, column) for column in counted],
            )
        )
    return Bars(heads=[column.header for column in counted], bars=bars, gaps=_gaps(material, shown, [PEAK]))


def _text(row: Row, name: str) -> str:
    return number_text(metric(name), row.numbers[name]) if name in row.numbers else MISSING


def _column_text(row: Row, column: Column) -> str:
    entry = metric_of(row, column)
    return MISSING if entry is None else _text(row, entry.name)


def _longest(entries: Sequence[Entry], length: Callable[[Row], float]) -> dict[str, float]:
    longest: dict[str, float] = {}
    for row in (entry.row for entry in entries):
        longest[row.cell.task] = max(longest.get(row.cell.task, 0.0), length(row))
    return longest


def _percent(part: float, whole: float) -> float:
    """Three decimals, so that lengths are as proportional as the numbers beside them."""
    return round(100.0 * max(part, 0.0) / whole, 3) if whole > 0 else 0.0


def _gaps(material: Material, shown: Sequence[Entry], names: Sequence[str]) -> list[str]:
    """Why rows are not among the bars, each reason once for each engine."""
    drawn = {id(entry) for entry in shown}
    counted: dict[tuple[str, str], int] = {}
    for row in (entry.row for entry in material.fine if id(entry) not in drawn):
        missing = next(name for name in names if name not in row.numbers)
        key = (row.engine, row.reasons.get(missing, "not measured"))
        counted[key] = counted.get(key, 0) + 1
    return [f"{plural(count, 'row')} of {engine}: {reason}." for (engine, reason), count in counted.items()]
