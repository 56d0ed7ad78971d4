"""Wrapping: a sentence in as many lines as a terminal needs.

In: a line and a width. Out: lines that end between words, and never inside a command or between a number and its unit.
"""

import re
import textwrap

# A word at the start of a line with its text in a column beside it.
LABEL = re.compile(r"\s{,4}\S{1,13} {2,}")
# What no line is broken in: a command to type, a number and its unit.
WHOLE = re.compile(r"`[^`]*`|\d (?=(?:%|×|[nµm]?s|[KMGT]?i?B|[kMG]|ulp)(?!\w))")


def broken(text: str, width: int) -> list[str]:
    """A line as lines of a width, further ones indented below its label; commands and numbers stay together.

    >>> broken("new    3 cells are new; `gradmark baseline update` adds them", 40)
    ['new    3 cells are new;', '       `gradmark baseline update` adds', '       them']
    """
    if len(text) <= width:
        return [text]
    label = LABEL.match(text)
    indent = label.end() if label else len(text) - len(text.lstrip()) + 2
    kept = WHOLE.sub(lambda part: part[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(
        kept, width, subsequent_indent=" " * min(indent, width // 2), break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]
