"""JSON: documents that may be printed. What a terminal would obey is written as `\\u…`, which readers undo.

In: plain data or records. Out: text.
"""

import codecs
import json
import re
import unicodedata
from typing import Any

import msgspec

LACKING = "gradmark.json"  # the name of the error handler below
NOT_SEEN = re.compile("[^\x00-\x7e]")  # DEL is in ASCII, and the encoder leaves it as it is


def document(plain: Any) -> str:
    r"""The data as text that ends with a newline; no control character of any kind stands in it as itself.

    >>> document(["\x9b31m\u202e→"])
    '[\n  "\\u009b31m\\u202e→"\n]\n'
    """
    try:
        text = msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()
    except UnicodeEncodeError:  # the name of a file may have bytes that are no text; JSON can say so, UTF-8 cannot
        text = json.dumps(msgspec.to_builtins(plain), indent=2)
    return printable(text) + "\n"


def printable(text: str) -> str:
    """JSON with what cannot be seen as `\\u…`. In ASCII the encoder has done that already, but for DEL."""
    return NOT_SEEN.sub(lambda letter: _shown(letter[0]), text)


def _shown(letter: str) -> str:
    return _reference(letter) if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") else letter


def _reference(text: str) -> str:
    """Characters as JSON writes them in ASCII; those beyond 16 bits are two."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))


def _references(error: UnicodeError) -> tuple[str, int]:
    """What is written in place of characters that an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _reference(error.object[error.start : error.end]), error.end


codecs.register_error(LACKING, _references)
