"""Bars: forward and backward, and memory, of every row; lengths compare the engines on one workload.

In: material. Out: plain rows with the lengths of their bars in percent and the numbers beside them.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from gradmark.records import Record
from gradmark.records.metric import REGISTRY, Metric, metric
from gradmark.records.times import PARTS
from gradmark.report.model.characters import plural
from gradmark.report.model.columns import MISSING, number_text
from gradmark.report.model.rows import Row
from gradmark.report.page.material import Entry, Material

# A bar that is a thirtieth of another is a few pixels long: beyond that the scale is logarithmic.
SPAN = 30.0
RATIO = "backward_forward"
PEAK, RETAINED = "peak_bytes", "retained_bytes"


class Bar(Record, frozen=True, kw_only=True):
    """One row: two lengths in percent of the column, and its numbers as text.

    Linear, the lengths are parts of one bar. On a logarithm parts do not add up: there they are two places on one axis.
    """

    cell: int
    workload: str
    engine: str
    first: float
    second: float
    log: bool = False
    decade: float = 0.0  # how wide a power of ten is on a logarithm
    numbers: list[str]


class Bars(Record, frozen=True, kw_only=True):
    """The bars of a section; `gaps` says what has none, and why."""

    heads: list[str]
    bars: list[Bar]
    gaps: list[str]


def phases(material: Material) -> Bars:
    """Forward and backward, stacked, with their ratio."""
    shown = [e for e in material.fine if all(part in e.row.numbers for part in PARTS)]
    parts = [(e.row.numbers[PARTS[0]].value, e.row.numbers[PARTS[1]].value) for e in shown]
    scales = _scales(shown, parts)
    bars = []
    for entry, (first, second) in zip(shown, parts, strict=True):
        texts = [_text(entry.row, name) for name in (*PARTS, RATIO)]
        bars.append(_bar(entry, scales[entry.row.cell.task], first, second, second, texts))
    heads = [metric(name).title for name in (*PARTS, RATIO)]
    return Bars(heads=heads, bars=bars, gaps=_gaps(material, shown, PARTS))


def memory(material: Material) -> Bars:
    """Peak, and how much of it is retained after forward; beside them all counts and sizes that some row has."""
    shown = [e for e in material.fine if PEAK in e.row.numbers]
    peaks = [entry.row.numbers[PEAK].value for entry in shown]
    held = [min(entry.row.value(RETAINED) or 0.0, peak) for entry, peak in zip(shown, peaks, strict=True)]
    scales = _scales(shown, [(kept, peak - kept) for kept, peak in zip(held, peaks, strict=True)])
    counted = [
        entry
        for entry in REGISTRY
        if entry.rank is not None
        and entry.unit in ("bytes", "count")
        and any(entry.name in e.row.numbers for e in shown)
    ]
    bars = []
    for entry, kept, peak in zip(shown, held, peaks, strict=True):
        texts = [_text(entry.row, one.name) for one in counted]
        bars.append(_bar(entry, scales[entry.row.cell.task], kept, peak - kept, peak, texts))
    return Bars(heads=[_head(one, counted) for one in counted], bars=bars, gaps=_gaps(material, shown, [PEAK]))


def _head(entry: Metric, shown: Sequence[Metric]) -> str:
    """The title; the name where another has the same title: instructions and bytes of a tape are two things."""
    return entry.title if [one.title for one in shown].count(entry.title) == 1 else entry.name.replace("_", " ")


class Scale(NamedTuple):
    """The column of one workload: what its ends stand for."""

    low: float
    high: float
    log: bool


def _scales(shown: Sequence[Entry], parts: Sequence[tuple[float, float]]) -> dict[str, Scale]:
    """A scale for each workload: linear from zero, or logarithmic from the power of ten below the least part."""
    pairs_of_task: dict[str, list[tuple[float, float]]] = {}
    for entry, pair in zip(shown, parts, strict=True):
        pairs_of_task.setdefault(entry.row.cell.task, []).append(pair)
    return {task: _scale(pairs) for task, pairs in pairs_of_task.items()}


def _scale(pairs: Sequence[tuple[float, float]]) -> Scale:
    wholes = [first + second for first, second in pairs]
    high, least = max(wholes), min((whole for whole in wholes if whole > 0), default=0.0)
    if not least or high <= SPAN * least:
        return Scale(0.0, high, log=False)
    smallest = min(part for pair in pairs for part in pair if part > 0)
    # A part that is next to nothing would squeeze all others.
    return Scale(10.0 ** math.floor(math.log10(max(smallest, least / SPAN))), high, log=True)


def _bar(entry: Entry, scale: Scale, first: float, second: float, beyond: float, texts: list[str]) -> Bar:
    """`beyond` is what the second place on a logarithm stands for: the part, or the whole."""
    row = entry.row
    if scale.log:
        places = (_on_log(first, scale), _on_log(beyond, scale))
    else:
        places = (_percent(first, scale.high), _percent(second, scale.high))
    return Bar(
        cell=entry.place, workload=row.workload, engine=row.engine, first=places[0], second=places[1], log=scale.log,
        decade=round(100.0 / math.log10(scale.high / scale.low), 2) if scale.log else 0.0, numbers=texts,
    )  # fmt: skip


def _on_log(part: float, scale: Scale) -> float:
    if part <= scale.low:
        return 0.0
    return round(100.0 * math.log(part / scale.low) / math.log(scale.high / scale.low), 3)


def _text(row: Row, name: str) -> str:
    return number_text(metric(name), row.numbers[name]) if name in row.numbers else MISSING


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
