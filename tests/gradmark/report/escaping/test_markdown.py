"""Markdown. tests/fuzz/test_escaping.py tries any text with a parser of markdown."""

import pytest

from gradmark.report.escaping.markdown import code, prose, text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("poly/n=1000@tapegrad, no_memray", "poly/n=1000@tapegrad, no_memray"),
        ("@someone", "@&#8203;someone"),
        ("a (@team/x)", "a (@&#8203;team/x)"),
        ("mail a@b.com", "mail a@&#8203;b.com"),
        ("see #12 and GH-12", "see \\#&#8203;12 and GH-&#8203;12"),
        ("https://x.y and www.x.y", "https:&#8203;//x.y and www&#8203;.x.y"),
        ("[x](y) ![x](y)", "\\[x\\](y) !\\[x\\](y)"),
        ("<img src=x> &lt;", "\\<img src=x\\> \\&lt;"),
        ("a|b `c` *d* _e_ ~~f~~ $g$", "a\\|b \\`c\\` \\*d\\* \\_e\\_ \\~\\~f\\~\\~ \\$g\\$"),
        ("two\nlines", "two lines"),
        ("- x", "\\- x"),
        ("---", "\\---"),
        ("12. x", "12\\. x"),
        ("1.50 µs", "1.50 µs"),
        ("-3.5 %", "-3.5 %"),
    ],
)
def test_text(given, shown):
    assert text(given) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("new; `gradmark baseline update` adds it", "new; `gradmark baseline update` adds it"),
        ("one ` alone @x", "one \\` alone @&#8203;x"),
        ("`a|b` c|d", "`a\\|b` c\\|d"),
        ("`@x`[y](z)", "`@x`\\[y\\](z)"),
    ],
)
def test_prose(given, shown):
    assert prose(given, in_table=True) == shown


@pytest.mark.parametrize(
    ("given", "shown"), [("a", "`a`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("", ""), ("a\n|b", "`a |b`")]
)
def test_code(given, shown):
    assert code(given) == shown
