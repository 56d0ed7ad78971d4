"""The note: one sentence or two under the tables.

In: text. Out: a `Note`; commands in it can be pasted.
"""

import shlex
from collections.abc import Iterable, Sequence
from typing import Literal

from gradmark.records import Record
from gradmark.report.model.characters import one_line


class Note(Record, frozen=True, kw_only=True):
    """One sentence or two under the tables."""

    level: Literal["warning", "info"]
    text: str
    in_sides: bool = False  # engines side by side show it in their tables


def beside_sides(every_note: Sequence[Note]) -> list[Note]:
    """What tables of engines side by side do not say already."""
    return [note for note in every_note if not note.in_sides]


def warning(text: str) -> Note:
    """Something is wrong, or in doubt."""
    return Note(level="warning", text=text)


def info(text: str) -> Note:
    """Something to know."""
    return Note(level="info", text=text)


def quoted(words: Iterable[str]) -> str:
    """A command that can be pasted, whatever names are in it."""
    return " ".join(shlex.quote(one_line(word)) for word in words)
