"""Markdown, as GitHub renders it: text in which nothing is a link, an image, a mention, a tag or the end of a cell.

In: any text. Out: markdown that shows that text.
"""

import re

from gradmark.report.model.characters import one_line

# GitHub looks for mentions, addresses, numbers of issues and URLs in what is left once markdown has been read, so that
# no backslash helps: a space of no width parts them. The row `poly/n=10@tapegrad` mentions nobody.
REFERENCES = (
    r"(?<![A-Za-z0-9])@(?=\w)", r"@(?=[\w-]+\.\w)", r"\#(?=\d)", r"\bGH-(?=\d)", ":(?=//)", r"\bwww(?=\.)",
    r"\b(?:mailto|xmpp):",
)  # fmt: skip
APART = "&#8203;"
# What would begin or end a cell, code, emphasis, a link, an image, a tag, an entity, a formula or a struck-out word. An
# underscore inside a word is only an underscore, and most names have some.
MARKS = re.compile(r"[\\`|*\[\]<>&~#$]|(?<![^\W_])_|_(?![^\W_])")
SPECIAL = re.compile(rf"(?P<reference>{'|'.join(REFERENCES)})|{MARKS.pattern}", re.IGNORECASE)
# What would begin a list, or draw a line, where a text begins.
FIRST = re.compile(r"^(\d*)([-+.)])(?=[-+\s]|$)")
CODE = re.compile(r"`([^`]*[^`\s][^`]*)`")


def text(given: str) -> str:
    r"""Text on one line, as it is.

    >>> text("![x](http://y) @someone #12 a|b"), text("poly/n=10@tapegrad")
    ('!\\[x\\](http:&#8203;//y) @&#8203;someone \\#&#8203;12 a\\|b', 'poly/n=10@tapegrad')
    """
    return FIRST.sub(r"\1\\\2", _escaped(one_line(given)))


def prose(given: str, *, in_table: bool = False) -> str:
    r"""A sentence in which what stands between backticks is code, as in all sentences of gradmark.

    >>> prose("new; `gradmark baseline update` adds it"), prose("[x](y) `@someone`")
    ('new; `gradmark baseline update` adds it', '\\[x\\](y) `@someone`')
    """
    parts = CODE.split(one_line(given))  # every second one is code
    shown = [code(part, in_table=in_table) if place % 2 else _escaped(part) for place, part in enumerate(parts)]
    return FIRST.sub(r"\1\\\2", "".join(shown))


def code(given: str, *, in_table: bool = False) -> str:
    r"""Code, in which GitHub looks for nothing; its fence is longer than any in it.

    >>> code("a|b", in_table=True), code("a`b"), code("`")
    ('`a\\|b`', '``a`b``', '`` ` ``')
    """
    line = one_line(given)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    gap = " " if line.startswith("`") or line.endswith("`") else ""
    shown = f"{fence}{gap}{line}{gap}{fence}" if line else ""
    return shown.replace("|", "\\|") if in_table else shown


def _escaped(line: str) -> str:
    return SPECIAL.sub(_apart, line)


def _apart(special: re.Match[str]) -> str:
    if special["reference"] is None:
        return f"\\{special[0]}"
    return MARKS.sub(r"\\\g<0>", special[0]) + APART
