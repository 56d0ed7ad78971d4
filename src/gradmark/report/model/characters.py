"""Characters: names and messages come from users, engines and crashed processes, and end up on terminals.

In: any text. Out: one line that moves no cursor, changes no colour, reverses no reading direction and can be encoded.
"""

import re
import unicodedata

# Whole escape sequences go, so that a coloured message does not leave "[31m" behind: OSC (titles, links), CSI, others.
ESCAPES = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]")
# Control, format (bidirectional overrides, zero widths), surrogates (cannot be encoded).
UNSAFE = {"Cc", "Cf", "Cs"}


def one_line(text: str) -> str:
    r"""The text as one line of printable characters; every run of white space is one space.

    >>> one_line("\x1b[31mbad\x1b[0m\n name\x07")
    'bad name'
    """
    if text.isprintable():  # most names are; the check below takes a while for each letter
        return " ".join(text.split())
    kept = (c for c in ESCAPES.sub("", text) if c.isspace() or unicodedata.category(c) not in UNSAFE)
    return " ".join("".join(kept).split())


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
