"""The terminal: all that commands print goes through here, and nothing that they print can do more than be read.

In: lines, with the parts of them that have a colour; documents in a format of their own. Out: text on standard output
or standard error, in the characters that its encoding has.
"""

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from gradmark.errors import OutputError
from gradmark.report.escaping.terminal import LACKING, encodable, line
from gradmark.report.tables.wrapping import broken

if TYPE_CHECKING:  # rich takes 50 ms to import; only what it prints pays for it
    from rich.console import Console

# A log is no terminal: it scrolls sideways, and a column that is hidden there is lost. Guides and CI pages show this.
LOG_COLUMNS = 120

Kind = Literal["json", "markdown", "xml", "plain"]


class Styled(NamedTuple):
    """A part of a line in a colour, where the terminal has colours."""

    text: str
    colour: str | None = None
    bold: bool = False


Part = str | Styled


class Captured(io.StringIO):
    """What would have been printed, in lines of this width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width


_captured: ContextVar[Captured | None] = ContextVar("captured", default=None)


@contextlib.contextmanager
def captured(width: int) -> Iterator[Captured]:
    """Keeps what is printed on standard output, without colours, while it lasts: Python shows what a verb prints."""
    into = Captured(width)
    before = _captured.set(into)
    try:
        yield into
    finally:
        _captured.reset(before)


def ready() -> None:
    """Lets a terminal without some character show another in its place, whoever prints it.

    What was closed when we were started (`>&-`, a daemon) leads nowhere. Else the next file that is opened, such as a
    pipe to a worker, would have the number of standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: those below are open by now
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what a test or a notebook puts there may not have it
            stream.reconfigure(errors=LACKING)


def silence() -> None:
    """Lets what is still to be printed lead nowhere: nobody reads it, and Python would complain when it ends."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # what a test or a notebook puts there has no number
            os.dup2(nothing, stream.fileno())
    os.close(nothing)


def columns() -> int:
    """How wide what is printed may be: as the terminal, or as a reader of a log sees at once."""
    if (into := _captured.get()) is not None:
        return into.width
    return shutil.get_terminal_size((LOG_COLUMNS, 24)).columns


def say(*parts: Part, err: bool = False) -> None:
    """Prints one line. Names and messages in it cannot end it, nor change what came before.

    In a terminal a line that is too long goes on below, between words; logs keep it whole, to be searched.
    """
    lines = ["".join(map(_shown, parts))]
    if not err and _captured.get() is None and sys.stdout.isatty() and all(isinstance(part, str) for part in parts):
        lines = broken(lines[0], columns())
    with _printing(err=err):
        for text in lines:
            click.echo(text, file=None if err else _captured.get(), err=err)


@contextlib.contextmanager
def _printing(*, err: bool = False) -> Iterator[None]:
    """Says why standard output cannot be written. Where standard error cannot be, nobody can be told."""
    try:
        yield
    except BrokenPipeError:  # whoever read it has seen enough
        raise
    except OSError as error:
        if not err:
            raise OutputError(
                f"standard output cannot be written: {error.strerror}; what was measured is kept, "
                "`gradmark list runs` shows it"
            ) from error


def _shown(part: Part) -> str:
    if isinstance(part, Styled):
        return click.style(line(part.text), fg=part.colour, bold=part.bold or None)
    return line(part)


def say_error(message: str) -> None:
    """Prints an error. Further lines of it are indented: none can be taken for a line of somebody else."""
    first, *rest = message.splitlines() or [""]
    say(first, err=True)
    for more in rest:
        say(f"    {more}", err=True)


def say_document(text: str, kind: Kind) -> None:
    """Prints a document that is escaped already, in the characters that standard output has.

    Formats that have a way to write any character in ASCII do; in the others a stand-in is read.
    """
    errors = LACKING
    if kind == "json":
        from gradmark.report.escaping import json  # it registers what it names

        errors = json.LACKING
    elif kind in ("markdown", "xml"):
        errors = "xmlcharrefreplace"
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    with _printing():
        click.echo(encodable(text, encoding, errors), file=_captured.get(), nl=False)


def console(*, err: bool = False) -> "Console":
    """A console of rich that prints no escape sequence but its own."""
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def print(self, *arguments: Any, **named: Any) -> None:
            with _printing(err=err):
                super().print(*arguments, **named)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would end with 1

        def render(self, *arguments: Any, **named: Any) -> Any:
            for segment in super().render(*arguments, **named):
                yield segment if segment.control else Segment(_lines(segment.text), segment.style)

    into = None if err else _captured.get()
    if into is not None:
        return SafeConsole(file=into, width=into.width, markup=False, emoji=False, highlight=False)
    width = None if err or sys.stdout.isatty() else columns()
    return SafeConsole(stderr=err, width=width, markup=False, emoji=False, highlight=False)


def _lines(text: str) -> str:
    """Text that rich has laid out on several lines."""
    return "\n".join(map(line, text.split("\n")))
