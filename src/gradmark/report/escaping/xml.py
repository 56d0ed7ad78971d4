"""XML: text in the characters that XML has. What has a meaning in it is escaped by the library that writes it.

In: any text. Out: text for an attribute or an element.
"""

import re

from gradmark.report.model.characters import one_line

# XML has no such characters, not even as references.
NO_CHARACTERS = re.compile("[\ufffe\uffff]")


def text(given: str) -> str:
    r"""Text on one line.

    >>> text("\x1b[1m<b>\ufffe")
    '<b>'
    """
    return NO_CHARACTERS.sub("", one_line(given))
