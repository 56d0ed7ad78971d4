"""CSV: fields that no spreadsheet takes for a formula.

In: any value. Out: one that `csv.writer` quotes: text on one line, numbers in full, nothing for what is missing.
"""

from gradmark.report.model.characters import one_line

# With what a formula begins, the wide ones too, which some spreadsheets read as the narrow ones; and a command, where
# the log of a GitHub workflow shows the table.
COMMANDS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "::")


def field(value: object) -> object:
    """A field.

    >>> field("=1+1"), field(-1.5), field(True), field(None)
    ("'=1+1", -1.5, 'true', None)
    """
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    text = one_line(value)
    return f"'{text}" if text.startswith(COMMANDS) else text
