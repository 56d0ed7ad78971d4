"""Bars: forward and backward, and memory, of every row; lengths compare the engines on one workload.

In: material. Out: plain rows with the lengths of their bars in percent and the numbers beside them.
"""

from collections.abc import Callable

from gradmark import units
from gradmark.records import Record
from gradmark.report.model.rows import Row
from gradmark.report.page.material import Entry, Material


class Bar(Record, frozen=True, kw_only=True):
    """One row: two parts of a bar, in percent of the longest on the same workload, and its numbers as text."""

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
    shown = [e for e in material.fine if e.row.forward and e.row.backward]
    lengths = _longest(shown, lambda row: sum(part.median for part in (row.forward, row.backward) if part))
    bars = []
    for entry in shown:
        row, texts = entry.row, entry.texts
        assert row.forward is not None
        assert row.backward is not None
        whole = lengths[row.workload]
        first, second = (_percent(part.median, whole) for part in (row.forward, row.backward))
        bars.append(
            Bar(
                workload=row.workload,
                engine=row.engine,
                first=first,
                second=second,
                numbers=[texts["forward"], texts["backward"], texts["ratio"]],
            )
        )
    return Bars(heads=["forward", "backward", "bwd/fwd"], bars=bars, gaps=_gaps(material, shown, "backward"))


def memory(material: Material) -> Bars:
    """Peak, and how much of it is retained after forward; allocations; the tape."""
    shown = [e for e in material.fine if e.row.peak_bytes is not None]
    lengths = _longest(shown, lambda row: row.peak_bytes or 0)
    bars = []
    for entry in shown:
        row, texts, whole = entry.row, entry.texts, lengths[entry.row.workload]
        peak, retained = row.peak_bytes or 0, row.retained_bytes
        held = min(retained or 0, peak)
        bars.append(
            Bar(
                workload=row.workload,
                engine=row.engine,
                first=_percent(held, whole),
                second=_percent(peak - held, whole),
                numbers=[
                    texts["peak_bytes"],
                    "n/a" if retained is None else units.size(retained),
                    texts["allocations"],
                    texts["tape"],
                ],
            )
        )
    return Bars(heads=["peak", "retained", "allocs", "tape"], bars=bars, gaps=_gaps(material, shown, "peak_bytes"))


def _longest(entries: list[Entry], length: Callable[[Row], float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in (entry.row for entry in entries):
        found[row.workload] = max(found.get(row.workload, 0.0), length(row))
    return found


def _percent(part: float, whole: float) -> float:
    return round(100.0 * max(part, 0.0) / whole, 1) if whole > 0 else 0.0


def _gaps(material: Material, shown: list[Entry], number: str) -> list[str]:
    """Why rows are not among the bars, each reason once for each engine."""
    there = {id(entry) for entry in shown}
    counted: dict[tuple[str, str], int] = {}
    for entry in material.fine:
        if id(entry) not in there:
            key = (entry.row.engine, entry.row.reasons.get(number, "it was not measured"))
            counted[key] = counted.get(key, 0) + 1
    return [f"{count} rows of {engine}: {reason}." for (engine, reason), count in counted.items()]
