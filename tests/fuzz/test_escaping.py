"""Any text in every kind of output: it is shown, and does nothing else."""

import csv
import io
import json
import re
import unicodedata
from xml.etree import ElementTree

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fuzz.budget import inputs
from fuzz.mutations import HOSTILE
from gradmark.report.escaping import csv as csv_escaping
from gradmark.report.escaping import html as html_escaping
from gradmark.report.escaping import json as json_escaping
from gradmark.report.escaping import markdown, terminal, xml
from gradmark.report.model.characters import one_line

PIECES = st.sampled_from(
    ["\x1b[31m", "\x1b]8;;http://x\x07", "\x9b2J", "\r", "\n", "\u202e", "`", "``", "|", "\\", "[x](y)", "![", "<img>",
     "@someone", "#12", "http://x.y", "www.x.y", "a@b.c", "GH-1", "&amp;", "*", "_", "~~", "$", "- ", "1. ", "=1+1",
     " ", "::error::", "##[", "[red]", "</script>", "]]>", "\ufffe", "\ud800", "word", "é", "多"]
)  # fmt: skip
TEXT = st.one_of(st.lists(PIECES, max_size=8).map("".join), st.text(st.characters(), max_size=12))
GITHUB = MarkdownIt("commonmark").enable(["table", "strikethrough"])
# What GitHub looks for in what markdown left.
REFERENCE = re.compile(r"(?:^|[^A-Za-z0-9])@\w|@[\w-]+\.\w|#\d|\bGH-\d|://|\bwww\.", re.IGNORECASE)


def shown(inline):
    """The text of an inline token, and the kinds of things in it."""
    kinds = {child.type for child in inline.children}
    return "".join(child.content for child in inline.children), kinds


@inputs(few=150, share=0.02)
@example(given=HOSTILE)
@given(given=TEXT)
def test_a_terminal_shows_one_line(given):
    line = terminal.line(given)
    assert not {unicodedata.category(c) for c in line} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert not line.lstrip().startswith("::")
    assert "##[" not in line
    for encoding in ("cp1252", "ascii", "utf-8"):
        terminal.encodable(given, encoding).encode(encoding)


@inputs(few=150, share=0.02)
@example(given=HOSTILE)
@given(given=TEXT)
def test_markdown_shows_text_and_nothing_else(given):
    tokens = GITHUB.parse(f"- {markdown.text(given)}\n")
    inlines = [token for token in tokens if token.type == "inline"]
    if not one_line(given):
        return
    (inline,) = inlines
    text, kinds = shown(inline)
    assert kinds <= {"text", "text_special"}
    assert text.replace("\u200b", "") == one_line(given)
    assert not REFERENCE.search(text)


@inputs(few=150, share=0.02)
@example(given=HOSTILE)
@given(given=TEXT)
def test_a_sentence_in_markdown_has_code_and_nothing_else(given):
    table = (
        f"| a | b |\n|---|---|\n| {markdown.prose(given, in_table=True)} | {markdown.code(given, in_table=True)} |\n"
    )
    tokens = GITHUB.parse(table)
    inlines = [token for token in tokens if token.type == "inline"]
    assert len(inlines) == 4
    text, kinds = shown(inlines[2])
    assert kinds <= {"text", "text_special", "code_inline"}
    assert not REFERENCE.search("".join(c.content for c in inlines[2].children if c.type != "code_inline"))
    assert re.sub("[\u200b` ]", "", text) == re.sub("[` ]", "", one_line(given))  # code has no spaces at its ends
    text, kinds = shown(inlines[3])
    assert kinds <= {"code_inline"}
    assert text == one_line(given)


@inputs(few=100, share=0.01)
@example(given=HOSTILE)
@given(given=TEXT)
def test_a_spreadsheet_gets_no_formula(given):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([csv_escaping.field(given), 1])
    ((field, one),) = csv.reader(io.StringIO(out.getvalue()))
    assert one == "1"
    assert not field.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert field in (one_line(given), f"'{one_line(given)}")


@inputs(few=100, share=0.01)
@example(given=HOSTILE)
@given(given=TEXT)
def test_xml_is_well_formed(given):
    element = ElementTree.Element("a", b=xml.text(given))
    element.text = xml.text(given)
    for encoding in ("utf-8", "us-ascii"):
        again = ElementTree.fromstring(ElementTree.tostring(element, encoding=encoding))
        assert again.get("b") == (again.text or "") == xml.text(given)


@inputs(few=100, share=0.01)
@example(given=HOSTILE)
@example(given="\x7f")  # of ASCII, and a control character
@given(given=TEXT)
def test_json_keeps_every_character_and_shows_only_what_can_be_seen(given):
    text = json_escaping.document({given: given})
    assert not {unicodedata.category(c) for c in text.replace("\n", "")} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert json.loads(text) == {given: given}
    assert json.loads(terminal.encodable(text, "cp1252", json_escaping.LACKING)) == {given: given}


@inputs(few=100, share=0.01)
@example(given=HOSTILE)
@given(given=TEXT.filter(lambda text: "\ud800" not in text and not any("\ud800" <= c <= "\udfff" for c in text)))
def test_a_page_shows_text(given):
    code = html_escaping.with_code(given)
    assert not set(re.sub("</?code>", "", code)) & set("<>\"'\x1b\u202e")
    (again,) = msgspec.json.decode(html_escaping.printable_json(msgspec.json.encode([given]).decode()))
    assert again == html_escaping.shown(given)
    assert not {unicodedata.category(c) for c in again} & {"Cc", "Cf", "Zl", "Zp"}
