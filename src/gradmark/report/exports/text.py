"""Text: markdown for pull requests, CSV for spreadsheets, JSON for programs.

In: tables and notes, or a run. Out: one string that ends with a newline.
"""

import csv as csv_module
import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from gradmark.analyse.estimates import summarise
from gradmark.records import Measurement, Run, Summary
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import cells, columns, legend
from gradmark.report.model.notes import Note
from gradmark.report.model.rows import PHASES, Row, reading_order, row, shape_text
from gradmark.report.model.sides import Side
from gradmark.report.model.tables import Table

# What would begin or end a cell, code, emphasis, a link, a tag, an entity or a struck-out word. An underscore inside a
# word is only an underscore, and most names have some.
MARKDOWN = re.compile(r"[\\`|*\[\]<>&~#]|(?<![^\W_])_|_(?![^\W_])")


def markdown(tables: Sequence[Table], notes: Sequence[Note]) -> str:
    """GitHub's markdown: a table for each suite with its legend, then the notes as a list."""
    blocks = ["\n".join(block) for table in tables for block in _markdown_table(table)]
    if notes:
        blocks.append("\n".join(f"- **{note.level}**: {_escaped(note.text)}" for note in notes))
    return "\n\n".join(blocks or ["Nothing was measured."]) + "\n"


def _markdown_table(table: Table) -> Iterator[list[str]]:
    shown = columns(table.rows)
    yield [f"### {_escaped(table.title)}"]
    lines = [[column.header for column in shown], ["---:" if column.numbers else "---" for column in shown]]
    for member in table.rows:
        texts = cells(member)
        lines.append([texts[c.key] if c.numbers else _escaped(texts[c.key]) for c in shown])
    yield [f"| {' | '.join(line)} |" for line in lines]
    explained = legend(table.rows, shown)
    if explained:
        yield [f"- {_escaped(line)}" for line in explained]


def markdown_sides(sides: Sequence[Side], notes: Sequence[Note]) -> str:
    """Engines side by side: a table for each workload, then the notes."""
    blocks = []
    for side in sides:
        blocks.append(f"### {_escaped(side.title)}")
        head = ["", *map(_escaped, side.engines)]
        lines = [head, ["---", *["---:"] * len(side.engines)], *([label, *texts] for label, texts in side.lines)]
        if side.engines:
            blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
        if side.remarks:
            blocks.append("\n".join(f"- {_escaped(remark)}" for remark in side.remarks))
    blocks += ["\n".join(f"- **{note.level}**: {_escaped(note.text)}" for note in notes)] if notes else []
    return "\n\n".join(blocks) + "\n"


def _escaped(text: str) -> str:
    return MARKDOWN.sub(r"\\\g<0>", one_line(text))


class Entry(NamedTuple):
    """One row of the CSV file, in the three forms that its fields are taken from."""

    measurement: Measurement
    summary: Summary
    row: Row


def csv(run: Run, summaries: Sequence[Summary] | None = None) -> str:
    """One row for each cell with all its numbers; an empty field is a number that is missing, `reasons` says why."""
    made = summaries if summaries is not None else [summarise(m) for m in run.measurements]
    out = io.StringIO()
    writer = csv_module.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    for place in reading_order(run):
        measurement, summary = run.measurements[place], made[place]
        entry = Entry(measurement, summary, row(measurement, summary, run.settings))
        writer.writerow(_safe(field(entry)) for field in FIELDS.values())
    return out.getvalue()


def _safe(value: object) -> object:
    """Text on one line that no spreadsheet takes for a formula; numbers in full; nothing for what is missing."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    text = one_line(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _estimate(phase: str, field: str) -> Callable[[Entry], object]:
    return lambda entry: getattr(entry.summary.phases.get(phase), field, None)


def _once(name: str) -> Callable[[Entry], object]:
    return lambda entry: getattr(entry.summary.once.get(name), "median", None)


def _of(part: str, field: str) -> Callable[[Entry], object]:
    return lambda entry: getattr(getattr(entry, part), field)


def _inside(part: str, field: str) -> Callable[[Entry], object]:
    return lambda entry: getattr(getattr(entry.measurement, part), field, None)


FIELDS: dict[str, Callable[[Entry], object]] = {
    "suite": lambda entry: entry.measurement.cell.suite,
    "workload": lambda entry: entry.measurement.cell.workload,
    "size": lambda entry: entry.measurement.cell.size,
    "dtype": lambda entry: entry.measurement.cell.dtype,
    "device": lambda entry: entry.measurement.cell.device,
    "shape": _of("row", "shape"),
    "batch": lambda entry: entry.measurement.cell.params.get("batch") if entry.row.shape else None,
    "engine": lambda entry: entry.measurement.cell.engine,
    "status": _of("measurement", "status"),
    "message": _of("measurement", "message"),
    "processes": lambda entry: len(entry.measurement.samples),
    **{
        f"{phase}{name}": _estimate(phase, field)
        for phase in PHASES
        for name, field in {
            "_ns": "median",
            "_low_ns": "low",
            "_high_ns": "high",
            "_floor_ns": "floor",
            "_how": "how",
        }.items()
    },
    **{f"{name}_ns": _once(name) for name in ("import", "prepare", "first_call", "warm_up")},
    "harness_ns": _of("summary", "harness_ns"),
    "steady": _of("summary", "steady"),
    "spread_ratio": _of("row", "spread"),
    "backward_forward_ratio": _of("summary", "ratio"),
    "gradient_primal_ratio": _of("summary", "gradient_ratio"),
    "operations": _of("measurement", "operations"),
    "operations_per_s": _of("summary", "operations_per_s"),
    "flops": _of("measurement", "flops"),
    "flops_per_s": _of("summary", "flops_per_s"),
    "bytes": _of("measurement", "bytes"),
    "bytes_per_s": _of("summary", "bytes_per_s"),
    "allocations_per_iteration": _inside("memory", "allocations"),
    "gross_allocations_per_iteration": _inside("memory", "gross_allocations"),
    "plain_allocations_per_iteration": _inside("memory", "plain_allocations"),
    "leaked_bytes_per_iteration": _inside("memory", "leaked_bytes"),
    "retained_bytes": _inside("memory", "retained_bytes"),
    "peak_bytes": _inside("memory", "peak_bytes"),
    "tape_instructions": _inside("tape", "instructions"),
    "tape_values": _inside("tape", "values"),
    "tape_adjoints": _inside("tape", "adjoints"),
    "tape_bytes": _inside("tape", "saved_bytes"),
    "error_ulps": _inside("accuracy", "ulps"),
    "relative_error": _inside("accuracy", "relative_error"),
    "tolerance": _inside("accuracy", "tolerance"),
    "reference": _inside("accuracy", "reference"),
    "machine_instructions_per_iteration": _inside("instructions", "total"),
    "shapes": lambda entry: "; ".join(f"{name} {shape_text(s)}" for name, s in entry.measurement.shapes.items()),
    "warnings": lambda entry: "; ".join(entry.row.warnings),
    "reasons": lambda entry: "; ".join(f"{name}: {reason}" for name, reason in entry.row.reasons.items()),
}


def json(run: Run) -> str:
    """The run as its file has it, indented."""
    return msgspec.json.format(msgspec.json.encode(run), indent=2).decode() + "\n"
