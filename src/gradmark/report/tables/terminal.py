"""The terminal: tables and notes for people, printed with rich.

In: tables, notes and a console. Out: text that fits the console's width; the columns that do not are named.
User-given text is always a `Text`, never markup.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import Column, cells, columns, legend
from gradmark.report.model.note import Note
from gradmark.report.model.published import TITLE, BesideAll, listed
from gradmark.report.model.sides import Comparison, Side
from gradmark.report.model.suites import Table
from gradmark.report.tables.wrapping import broken

if TYPE_CHECKING:  # rich takes 50 ms to import; only printing pays for it
    from rich.console import Console  # noqa: TID251  its type: whoever prints makes it
    from rich.table import Table as Grid
    from rich.text import Text

# Wider names are folded, so that one long name does not push the numbers off the screen; shares of the width. Those of
# rows fold between their parts.
WIDEST = {"workload": 2 / 5, "engine": 1 / 5}
NARROWEST = 8
# The parts of a name end with one of these.
OF_ENGINES = ":./-"
BETWEEN = {"workload": "/", "engine": OF_ENGINES}
# Engines and tools that a line of published ratios names, besides the slowest; the page has all.
MOST_HERE, MOST_OTHERS = 8, 4
STYLES = {"warning": "yellow", "info": "none"}


def print_tables(
    tables: Sequence[Table],
    notes: Sequence[Note],
    console: "Console",
    answers: Sequence[str] = (),
    *,
    medians: bool = False,
) -> None:
    """Prints every table with its legend, then the notes, and last the answers."""
    if not tables:
        console.print(_text("Nothing was measured. `gradmark list` shows what there is."))
    for table in tables:
        _print_table(table, console, medians=medians)
    _print_notes(notes, console)
    _print_answers(answers, console)


def print_published(published: BesideAll, console: "Console") -> None:
    """Prints what others report beside what was measured here: two lines for each function, and the sources."""
    if not published.rows:
        return
    console.print()
    console.print(_text(TITLE, "bold"))
    for row in published.rows:
        console.print(_text(f"{row.row}: here {listed(row.here, MOST_HERE)}"))
        for others in row.others:
            console.print(_text(f"· {others.source} ({others.size}): {listed(others.ratios, MOST_OTHERS)}"))
        if row.remark:
            console.print(_text(f"· published is {row.remark}", "dim"))
    for source in published.sources:
        _print(console, source, "dim")


def print_comparison(comparison: Comparison, notes: Sequence[Note], console: "Console") -> None:
    """Prints engines side by side; columns that do not fit go to a second table under the first. Last, the answers."""
    for side in comparison.sides:
        console.print(_text(side.title, "bold"))
        for start, end in _portions(side, console.width):
            console.print(_side_grid(side, start, end, console.width))
        for remark in side.remarks:
            _print(console, remark, "dim")
        console.print()
    for line in [*comparison.legend, *comparison.absent]:
        _print(console, line, "dim")
    if notes:
        console.print()
    _print_notes(notes, console)
    _print_answers(comparison.answers, console)


def _print_notes(notes: Sequence[Note], console: "Console") -> None:
    for note in notes:
        _print(console, f"{note.level}: {note.text}", STYLES[note.level])


def _print_answers(answers: Sequence[str], console: "Console") -> None:
    if answers:
        console.print()
    for answer in answers:
        _print(console, answer, "bold")


def _portions(side: Side, width: int) -> list[tuple[int, int]]:
    """The columns that fit beside each other, one portion after another."""
    names = max((len(line) for label, _ in side.lines for line in folded(label, _most(width))), default=0)
    portions, start, used = [], 0, names
    for place, engine in enumerate(side.engines):
        needed = 2 + max(len(engine), *(len(texts[place]) for _, texts in side.lines))
        if used + needed > width and place > start:
            portions.append((start, place))
            start, used = place, names
        used += needed
    return [*portions, (start, len(side.engines))] if side.engines else []


def _most(width: int) -> int:
    """The room of a row's name."""
    return _room(width, "workload")


def _room(width: int, key: str) -> int:
    return max(NARROWEST, int(width * WIDEST[key]))


def folded(name: str, room: int, after: str = "/") -> list[str]:
    """A name in lines: between its parts where they fit, and what goes on is indented.

    >>> folded("rosenbrock/n=10/derivative=sparse-hessian", 32)
    ['rosenbrock/n=10/', '  derivative=sparse-hessian']
    >>> folded("tapegrad:recording-constants", 16, OF_ENGINES)
    ['tapegrad:', '  recording-', '  constants']
    """
    lines = [""]
    for part in re.sub(f"([{after}])", r"\1\n", name).split("\n"):
        if lines[-1].strip() and len(lines[-1] + part) > room:
            lines.append("  ")
        lines[-1] += part
    return lines


def _name(name: str, room: int, style: str = "none", after: str = "/") -> "Text":
    """A name, safe to print; a part that is wider than all the room is left to rich."""
    from rich.text import Text

    return Text("\n".join(folded(one_line(name), room, after)), style=style)


def _side_grid(side: Side, start: int, end: int, width: int) -> "Grid":
    from rich import box
    from rich.table import Table as Grid

    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    grid.add_column("")
    for engine in side.engines[start:end]:
        grid.add_column(_text(engine), justify="right", no_wrap=True)
    for label, texts in side.lines:
        best = side.best.get(label, [False] * len(texts))
        grid.add_row(
            _name(label, _most(width)),
            *(_text(t, "bold" if b else "none") for t, b in zip(texts[start:end], best[start:end], strict=True)),
        )
    return grid


def _print_table(table: Table, console: "Console", *, medians: bool) -> None:
    shown, dropped = _fitting(table, console, medians)
    console.print(_text(table.title, "bold"))
    console.print(_grid(table, shown, console))
    for line in legend(table.rows, shown):
        _print(console, line, "dim")
    if dropped:
        names = ", ".join(column.title for column in dropped)
        _print(console, f"hidden columns (narrow terminal): {names}; `--format csv` has all", "dim")
    console.print()


def _fitting(table: Table, console: "Console", medians: bool) -> tuple[list[Column], list[Column]]:
    """The columns that fit, and those that gave way, the least important first."""
    shown, dropped = columns(table.rows, medians=medians), list[Column]()
    boundless = console.options.update(max_width=1 << 20)
    while console.measure(_grid(table, shown, console), options=boundless).maximum > console.width:
        least = max(shown, key=lambda column: column.rank)
        if least.rank == 0:  # what is left folds
            break
        shown.remove(least)
        dropped.append(least)
    return shown, dropped


def _grid(table: Table, shown: Sequence[Column], console: "Console") -> "Grid":
    from rich import box
    from rich.table import Table as Grid

    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in shown:
        header = _text(column.title)
        if column.remark:  # on a line of its own: it is wider than the numbers
            header.append(f"\n({column.remark})", "dim")
        share = WIDEST.get(column.key)
        if share:
            grid.add_column(header, overflow="fold", max_width=_room(console.width, column.key), vertical="top")
        else:
            grid.add_column(header, justify="right", no_wrap=True)
    for row in table.rows:
        texts = cells(row, shown)
        # What is wrong or in doubt is coloured; the marks say the same without colour.
        style = (
            "red"
            if row.status not in ("ok", "unsupported", "skipped")
            else "none"
            if row.steady and row.calm
            else "yellow"
        )
        grid.add_row(
            *(
                _name(texts[column.key], _room(console.width, column.key), style, BETWEEN[column.key])
                if column.key in BETWEEN
                else _text(texts[column.key], style)
                for column in shown
            )
        )
    return grid


def _print(console: "Console", text: str, style: str) -> None:
    """A sentence, in as many lines as it needs."""
    for line in broken(one_line(text), console.width):
        console.print(_text(line, style, indented=True))


def _text(text: str, style: str = "none", *, indented: bool = False) -> "Text":
    from rich.text import Text

    shown = one_line(text)
    return Text(" " * (len(text) - len(text.lstrip())) + shown if indented else shown, style=style)
