import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradmark.report.model.characters import one_line, some


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("poly", "poly"),
        ("", ""),
        ("  two\n\tlines\r\n", "two lines"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07name", "name"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bcreset", "reset"),
        ("name\x1b]8;;x: failed", "name]8;;x: failed"),
        ("name\x1b[: failed", "name[: failed"),
        ("name\x1b@engine", "name@engine"),
        ("first\x1b]0; fails, second\x07 passes", "first]0; fails, second passes"),
        ("bell\x07 back\x08space", "bell backspace"),
        ("evil\u202etxt", "eviltxt"),
        ("a \u200b b", "a b"),
        ("half \ud800 pair", "half pair"),
        ("line\u2028separator", "line separator"),
        ("[red]x[/red]", "[red]x[/red]"),
        ("µs ± 多", "µs ± 多"),
    ],
)
def test_one_line(text: str, expected: str) -> None:
    assert one_line(text) == expected


@given(st.text(st.characters()))
def test_whatever_comes_is_printable_and_stays_as_it_is(text: str) -> None:
    line = one_line(text)
    line.encode()
    assert one_line(line) == line
    assert not {unicodedata.category(c) for c in line} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("names", "expected"),
    [([], ""), (["a"], "a"), (["a", "b", "c"], "a, b, c"), (["a", "b", "c", "d"], "a, b, c and 1 more")],
)
def test_some(names: list[str], expected: str) -> None:
    assert some(names) == expected
