"""HTML: text for a page. The template engine escapes what has a meaning in HTML; here goes what cannot be seen.

In: what a template is about to write, or the data of the plots. Out: the same without control characters.
"""

import json
import re
from typing import Any

import markupsafe

from gradmark.report.model.characters import printable

CODE = re.compile("`([^`]+)`")
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')  # of JSON


def shown(value: Any) -> Any:
    """What a template writes: text on one line. What is declared to be HTML stays."""
    return printable(value) if isinstance(value, str) and not isinstance(value, markupsafe.Markup) else value


def with_code(text: str) -> markupsafe.Markup:
    """Escaped text in which what stands between backticks is code."""
    return markupsafe.Markup(CODE.sub(r"<code>\1</code>", str(markupsafe.escape(printable(text)))))


def printable_json(text: str) -> str:
    r"""JSON whose strings are shown by a page.

    >>> printable_json('{"name": "\\u001b[31mred\u202e"}')
    '{"name": "red"}'
    """
    return text if _is_printable(text) else STRINGS.sub(lambda string: _cleaned(string[0]), text)


def _cleaned(string: str) -> str:
    if _is_printable(string):
        return string
    return json.dumps(printable(json.loads(string)), ensure_ascii=False)


def _is_printable(text: str) -> bool:
    """Whether nothing in it is unseen; what JSON writes with a backslash may be."""
    return "\\" not in text and text.isprintable()
