"""HTML for the cell of a notebook: the tables that the terminal prints, without styles that a theme would not know.

In: a run. Out: HTML; every text in it is escaped.
"""

from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from gradmark.analyse.growth import growth
from gradmark.analyse.summary import summarise_run
from gradmark.records import Run
from gradmark.report.escaping.html import shown
from gradmark.report.model import sides
from gradmark.report.model.columns import cells, columns, legend
from gradmark.report.model.note import Note, beside_sides
from gradmark.report.model.notes import notes
from gradmark.report.model.suites import Table, tables

NUMBER = "text-align: right; white-space: nowrap; padding: 0.1em 0.6em"
NAME = "text-align: left; padding: 0.1em 0.6em"
SMALL = "font-size: 85%; opacity: 0.8; margin: 0"


def html(run: Run) -> str:
    """Answers first, then tables with their legends, then notes."""
    summaries = summarise_run(run.measurements)
    all_notes = notes(run, *growth(run), summaries)
    if sides.wanted(run):
        comparison = sides.comparison(run, summaries)
        parts = [*_answers(comparison.answers), *(part for side in comparison.sides for part in _side(side))]
        return "\n".join([*parts, *_lines([*comparison.legend, *comparison.absent]), *_notes(beside_sides(all_notes))])
    answers = sides.answers_of(run) if sides.compares(run) else []
    parts = [*_answers(answers), *(part for table in tables(run, summaries) for part in _table(table))]
    return "\n".join([*parts, *_notes(all_notes)])


def preformatted(text: str) -> str:
    """Text whose columns are made of spaces."""
    return Markup("<pre>{}</pre>").format("\n".join(shown(line) for line in text.splitlines()))


def _table(table: Table) -> Iterator[str]:
    chosen = columns(table.rows)
    head = [column.header for column in chosen]
    styles = [NUMBER if column.metrics else NAME for column in chosen]
    lines = [[texts[column.key] for column in chosen] for texts in (cells(row, chosen) for row in table.rows)]
    yield _grid(table.title, head, lines, styles)
    yield from _lines(legend(table.rows, chosen))


def _side(side: sides.Side) -> Iterator[str]:
    styles = [NAME, *[NUMBER] * len(side.engines)]
    if side.engines:
        yield _grid(side.title, ["", *side.engines], [[label, *texts] for label, texts in side.lines], styles)
    yield from _lines(side.remarks)


def _grid(title: str, head: Sequence[str], lines: Sequence[Sequence[str]], styles: Sequence[str]) -> str:
    def row(kind: str, texts: Sequence[str]) -> Markup:
        cell = Markup('<{0} style="{1}">{2}</{0}>')
        fields = [cell.format(kind, style, shown(text)) for text, style in zip(texts, styles, strict=True)]
        return Markup("<tr>{}</tr>").format(Markup("").join(fields))

    caption = Markup('<caption style="text-align: left; font-weight: bold">{}</caption>').format(shown(title))
    body = Markup("\n").join(row("td", texts) for texts in lines)
    return Markup("<table>{}<thead>{}</thead><tbody>{}</tbody></table>").format(caption, row("th", head), body)


def _answers(answers: Sequence[str]) -> Iterator[str]:
    yield from (Markup("<p><strong>{}</strong></p>").format(shown(text)) for text in answers)


def _lines(lines: Sequence[str]) -> Iterator[str]:
    yield from (Markup('<p style="{}">{}</p>').format(SMALL, shown(text)) for text in lines)


def _notes(notes: Sequence[Note]) -> Iterator[str]:
    yield from (Markup("<p>{}: {}</p>").format(note.level, escape(shown(note.text))) for note in notes)
