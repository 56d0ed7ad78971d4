"""Characters: names and messages come from users, engines and crashed processes, and end up on terminals.

In: any text. Out: one line that moves no cursor, changes no colour, reverses no reading direction and can be encoded.
"""

import re
import unicodedata

# Whole escape sequences go, so that a coloured message does not leave "[31m" behind: OSC (titles, links), CSI, others.
# One that does not end in the text, or has a space in it, only loses its escape character: it may be the end of a name,
# and must not take with it what is said after the name.
ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b\s]*(?:\x07|\x1b\\)|(?:\x1b\[|\x9b)[0-9;:<=>?]*[A-Za-z~]|\x1b[()][0-9AB]|\x1b[78=>A-Zc]"
)
# Control, format (bidirectional overrides, zero widths), surrogates (cannot be encoded).
UNSAFE = {"Cc", "Cf", "Cs"}


def printable(text: str) -> str:
    r"""The text in printable characters, on one line; its spaces stay, so that columns do.

    >>> printable("  \x1b[31mbad\x1b[0m\n name\x07")
    '  bad  name'
    """
    if text.isprintable():  # most texts are; the check below takes a while for each letter
        return text
    kept = (" " if c.isspace() else c for c in ESCAPES.sub("", text) if c.isspace() or _is_safe(c))
    return "".join(kept)


def _is_safe(character: str) -> bool:
    return unicodedata.category(character) not in UNSAFE


def one_line(text: str) -> str:
    r"""The text as one line of printable characters; every run of white space is one space.

    >>> one_line("\x1b[31mbad\x1b[0m\n name\x07")
    'bad name'
    """
    return " ".join(printable(text).split())


def some(names: list[str], most: int = 3) -> str:
    """The first names, and how many more there are.

    >>> some(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def listed(parts: list[str]) -> str:
    """Parts of a sentence, one after another.

    >>> listed(["a", "b", "c"]), listed(["a", "b"]), listed(["a"])
    ('a, b and c', 'a and b', 'a')
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "row"), plural(3, "process"), plural(0, "row")
    ('1 row', '3 processes', '0 rows')
    """
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{ending}"
