"""The grid: all cells of the page as one table that can be sorted, filtered and copied.

In: material. Out: columns, and for each cell of the table its text, its number for sorting, and what hovering shows.
"""

from typing import Any

import msgspec

from gradmark import units
from gradmark.records import Estimate, Record
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import COLUMNS
from gradmark.report.model.rows import PHASES
from gradmark.report.page.material import Entry, Material

# Shown until the reader chooses others.
USUAL = ("workload", "engine", "forward", "backward", "total", "spread", "gradient_ratio", "allocations", "error")
# Longer names are folded.
WIDEST = 22
# What a column's numbers are, for the header of the copied CSV.
CSV = {
    **{phase: f"{phase}_ns" for phase in (*PHASES, "first_call")},
    "spread": "spread_ratio",
    "ratio": "backward_forward_ratio",
    "gradient_ratio": "gradient_primal_ratio",
    "rate": "flops_or_bytes_per_s",
    "allocations": "allocations_per_iteration",
    "tape": "tape_instructions_or_bytes",
    "instructions": "machine_instructions",
    "error": "error_ulps_or_relative",
}


class Head(Record, frozen=True, kw_only=True):
    """One column."""

    key: str
    title: str
    csv: str
    number: bool
    shown: bool
    width: int = 0  # in letters


class Field(Record, frozen=True, kw_only=True):
    """One cell of the table. `more` is its interval, or why it is missing."""

    text: str
    value: str = ""
    more: str = ""


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


def grid(material: Material) -> Grid:
    """Every column that says something on any row; what fails has words in place of its time."""
    made = [_fields(entry) for entry in material.entries]
    # A dtype or device is needed to tell rows apart only where a workload has several on one engine.
    names = [(fields["workload"].text, fields["engine"].text) for fields in made]
    ambiguous = len(set(names)) < len(names)
    several = {key for key in ("dtype", "device") if ambiguous and len({fields[key].text for fields in made}) > 1}
    said = [
        msgspec.structs.replace(head, width=_width(head, [fields[head.key].text for fields in made]))
        for head in _heads(several)
        if head.key in ("workload", "engine", "suite") or any(fields[head.key].text.strip("n/a") for fields in made)
    ]
    return Grid(
        heads=said,
        lines=[
            Line(
                suite=one_line(entry.row.cell.suite),
                engine=entry.row.engine,
                status=entry.row.status,
                steady=entry.row.steady,
                fields=[fields[head.key] for head in said],
            )
            for entry, fields in zip(material.entries, made, strict=True)
        ],
        suites=list(dict.fromkeys(one_line(entry.row.cell.suite) for entry in material.entries)),
        engines=material.engines,
    )


def _heads(several: set[str]) -> list[Head]:
    columns = [(c.key, c.header.split(" (")[0], bool(c.numbers) or c.key == "spread") for c in COLUMNS]
    columns.insert(1, ("suite", "suite", False))
    columns.insert(len(columns) - 1, ("first_call", "first call", True))
    return [
        Head(key=key, title=title, csv=CSV.get(key, key), number=number, shown=key in USUAL or key in several)
        for key, title, number in columns
    ]


def _width(head: Head, texts: list[str]) -> int:
    """Of the widest number, or of a name that is not too long; the title has room for the mark that it is sorted by."""
    longest = max(map(len, texts), default=0)
    return max(len(head.title) + 1, longest if head.number else min(longest, WIDEST))


def _fields(entry: Entry) -> dict[str, Field]:
    row = entry.row
    texts = entry.texts
    found = {key: Field(text=text) for key, text in texts.items()}
    for column in COLUMNS:
        if column.numbers and row.status == "ok":
            reason = next((row.reasons[name] for name in column.numbers if name in row.reasons), "")
            found[column.key] = _number(texts[column.key], _value(row, column.numbers), reason)
    for phase in PHASES:
        estimate = getattr(row, phase)
        if estimate is not None and row.status == "ok":
            found[phase] = _timed(texts[phase], estimate)
    if row.status != "ok":
        found["total"] = Field(text=texts["total"], more=row.message)
    if row.spread is not None and not row.steady:
        found["spread"] = Field(text=texts["spread"], value=f"{row.spread:.5g}")
    first = entry.summary.once.get("first_call")
    found["first_call"] = _timed(units.time(first.median), first) if first else Field(text="")
    found["suite"] = Field(text=one_line(row.cell.suite))
    return found


def _value(row: Any, names: list[str]) -> float | None:
    """The number that a column shows: the first of its names that the row has."""
    found = [getattr(row, name) for name in names]
    return next((number for number in found if isinstance(number, int | float)), None)


def _number(text: str, value: float | None, reason: str) -> Field:
    return Field(text=text, value="" if value is None else f"{value:.5g}", more=reason if value is None else "")


def _timed(text: str, found: Estimate) -> Field:
    return Field(
        text=text,
        value=f"{found.median:.5g}",
        more=f"{units.time(found.low)} to {units.time(found.high)}, fastest {units.time(found.floor)}",
    )
