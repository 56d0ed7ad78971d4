"""Terminals and logs. tests/fuzz/test_escaping.py tries any text."""

import pytest

from gradmark.report.escaping.terminal import LACKING, encodable, line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  two  columns", "  two  columns"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("back\rto the start", "back to the start"),
        ("a\nb\tc", "a b c"),
        ("\u202eright to left", "right to left"),
        ("::error::owned", ": :error::owned"),
        ("  ::add-mask::x", "  : :add-mask::x"),
        ("a ::b", "a ::b"),
        ("a##[group]b", "a## [group]b"),
    ],
)
def test_a_line(text, shown):
    assert line(text) == shown


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "1.00 µs → ±2 % │ ≤ 多"),
        ("cp1252", "1.00 µs -> ±2 % | <= ?"),
        ("ascii", "1.00 us -> +-2 % | <= ?"),
    ],
)
def test_characters_that_an_encoding_lacks(encoding, shown):
    assert encodable("1.00 µs → ±2 % │ ≤ 多", encoding) == shown


def test_the_handler_is_for_writing_only():
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", LACKING)
