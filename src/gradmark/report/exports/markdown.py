"""Markdown, as GitHub renders it: tables for pull requests and issues.

In: tables, engines side by side, or multiples, with notes and answers. Out: one string that ends with a newline.
"""

from collections.abc import Iterator, Sequence

from gradmark.report.escaping.markdown import text
from gradmark.report.model.columns import cells, columns, legend
from gradmark.report.model.multiples import HEADS, Multiples
from gradmark.report.model.note import Note
from gradmark.report.model.published import TITLE, BesideAll, listed
from gradmark.report.model.sides import Comparison
from gradmark.report.model.suites import Table


def suites(tables: Sequence[Table], notes: Sequence[Note], *, medians: bool = False) -> str:
    """A table for each suite with its legend, then the notes as a list."""
    blocks = [block for table in tables for block in _table(table, medians=medians)]
    return "\n\n".join([*(blocks or ["Nothing was measured."]), *_notes(notes)]) + "\n"


def multiples(table: Multiples, answers: Sequence[str], details: str) -> str:
    """The answers; function first, then derivative / function of each engine; all other tables are folded below."""
    head = [*HEADS, *map(text, table.engines)]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for (row, function, texts), best in zip(table.lines, table.best, strict=True):
        shown = [f"**{text(cell)}**" if is_best else text(cell) for cell, is_best in zip(texts, best, strict=True)]
        lines.append([text(row), function, *shown])
    blocks = [*_list(answers), "\n".join(f"| {' | '.join(line)} |" for line in lines), *_list(table.legend)]
    folded = f"<details>\n<summary>All numbers</summary>\n\n{details}\n</details>"
    return "\n\n".join([*blocks, folded]) + "\n"


def published(beside: BesideAll) -> str:
    """What others report beside what was measured here; nothing if there is nothing to compare."""
    if not beside.rows:
        return ""
    lines = [f"### {text(TITLE)}"]
    for row in beside.rows:
        others = [f"  - {text(o.source)} ({text(o.size)}): {text(listed(o.ratios, len(o.ratios)))}" for o in row.others]
        remark = [f"  - published is {text(row.remark)}"] if row.remark else []
        lines.append("\n".join([f"- {text(row.row)}: here {text(listed(row.here, len(row.here)))}", *others, *remark]))
    return "\n\n".join([*lines, *_list(beside.sources)]) + "\n"


def _list(lines: Sequence[str]) -> list[str]:
    return ["\n".join(f"- {text(line)}" for line in lines)] if lines else []


def _notes(notes: Sequence[Note]) -> list[str]:
    return ["\n".join(f"- **{note.level}**: {text(note.text)}" for note in notes)] if notes else []


def _table(table: Table, *, medians: bool) -> Iterator[str]:
    shown = columns(table.rows, medians=medians)
    yield f"### {text(table.title)}"
    lines = [[column.header for column in shown], ["---:" if column.metrics else "---" for column in shown]]
    for member in table.rows:
        texts = cells(member, shown)
        lines.append([texts[c.key] if c.metrics else text(texts[c.key]) for c in shown])
    yield "\n".join(f"| {' | '.join(line)} |" for line in lines)
    yield from _list(legend(table.rows, shown))


def side_by_side(comparison: Comparison, notes: Sequence[Note]) -> str:
    """A table for each workload with engines as columns, then the notes."""
    blocks: list[str] = []
    for side in comparison.sides:
        blocks.append(f"### {text(side.title)}")
        head = ["", *map(text, side.engines)]
        lines = [head, ["---", *["---:"] * len(side.engines)], *([text(label), *texts] for label, texts in side.lines)]
        if side.engines:
            blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
        blocks += _list(side.remarks)
    return "\n\n".join([*blocks, *_list([*comparison.legend, *comparison.absent]), *_notes(notes)]) + "\n"
