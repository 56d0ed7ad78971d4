"""Where a line that is too long is broken."""

import pytest

from gradmark.report.tables.wrapping import broken


@pytest.mark.parametrize(
    "lines",
    [
        ["operator/operation=nothing@tapegrad  7.32 µs", "  (-3.2 %)"],
        ["    it takes 12 µs in all moments that are", "      calm, 3.5 KiB"],
        ["an_extremely_long_name_that_fits_nowhere/at=all@engine"],
        ["pass  short"],
    ],
)
def test_where_a_line_is_broken(lines):
    text = " ".join([lines[0], *(line.strip() for line in lines[1:])])
    assert broken(text, 45) == lines
