"""Terminals and logs: text that moves no cursor, and that every encoding can show.

In: a line of text, with its columns. Out: the same columns without escape sequences and control characters.
"""

import codecs
import re

from gradmark.report.model.characters import printable

# GitHub's runner obeys lines of a log that begin with `::`, and `##[…]` anywhere in one.
WORKFLOW_COMMANDS = re.compile(r"^(\s*):(?=:)|##(?=\[)")
# What stands for a character that an encoding lacks: a code page of Windows, or ASCII.
STAND_INS = {
    "→": "->", "µ": "u", "±": "+-", "−": "-", "–": "-", "×": "x", "·": ".", "≤": "<=", "≥": ">=", "…": "...",
    "│": "|", "─": "-", "━": "-", "└": "+", "╺": "-", "╸": "-", "╶": "-", "²": "2", "³": "3", "✅": "ok", "❌": "fail",
}  # fmt: skip
LACKING = "gradmark.stand-ins"  # the name of the error handler below


def line(text: str) -> str:
    r"""The text as one line of a terminal or a log.

    >>> line("  \x1b[31mbad\x1b[0m\n name"), line("::error::owned")
    ('  bad  name', ': :error::owned')
    """
    return WORKFLOW_COMMANDS.sub(_broken, printable(text))


def _broken(command: re.Match[str]) -> str:
    return f"{command[0]} "


def _stand_ins(error: UnicodeError) -> tuple[str, int]:
    """What is written in place of characters that cannot be."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(STAND_INS.get(letter, "?") for letter in missing), error.end


codecs.register_error(LACKING, _stand_ins)


def encodable(text: str, encoding: str, errors: str = LACKING) -> str:
    """The text in the characters that an encoding has.

    >>> encodable("1 µs → 2 µs", "ascii"), encodable("→", "ascii", "xmlcharrefreplace")
    ('1 us -> 2 us', '&#8594;')
    """
    return text.encode(encoding, errors).decode(encoding)
