"""What commands print: nothing does more than be read, and every encoding can show it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from gradmark.commands import terminal
from gradmark.commands.progress import bar
from gradmark.commands.terminal import Styled, say, say_document, say_error
from gradmark.measure.orchestrator import Step
from gradmark.report.escaping.json import document

RUNS = Path(__file__).parents[2] / "data" / "runs"
HOSTILE = "\x1b[38;5;123mevil\u202e [red]x[/red]\r\x07\x1b]8;;http://x\x1b\\"


def test_a_line_is_one_line(capsys):
    say("a\nb", Styled("\x1b[1mc\n", "red"))
    say()
    say("err", err=True)
    assert capsys.readouterr() == ("a bc \n\n", "err\n")


@pytest.fixture
def width(monkeypatch):
    """Says how many columns standard output has; None where it is no terminal."""

    def set_to(columns):
        monkeypatch.delenv("COLUMNS", raising=False)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: columns is not None)
        if columns is not None:
            monkeypatch.setenv("COLUMNS", str(columns))

    return set_to


LONG = "new          30 cells are not in the baseline; `gradmark baseline update` adds them: poly/n=10@tapegrad"


def test_a_long_line_goes_on_between_words_in_a_terminal_and_stays_whole_in_a_log(capsys, width):
    """Seen: a terminal broke names and commands in two."""
    width(60)
    say(LONG)
    assert capsys.readouterr().out.splitlines() == [
        "new          30 cells are not in the baseline;",
        "             `gradmark baseline update` adds them:",
        "             poly/n=10@tapegrad",
    ]
    width(None)
    say(LONG)
    assert capsys.readouterr().out == f"{LONG}\n"


def test_tables_in_a_log_have_room(width):
    """Seen: columns hidden from the log of a CI job, as if it were a narrow terminal."""
    width(None)
    assert (terminal.columns(), terminal.console().width) == (120, 120)
    width(80)
    assert (terminal.columns(), terminal.console().width) == (80, 80)


def test_further_lines_of_an_error_are_indented(capsys):
    say_error("gradmark: it said:\nall is well\n\x1b[2J")
    assert capsys.readouterr().err == "gradmark: it said:\n    all is well\n    \n"


def test_a_console_of_rich_prints_no_escape_but_its_own(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = terminal.console()
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    with console.capture() as captured:
        console.print(Text(HOSTILE, style="red"))
        console.print(HOSTILE)
        console.print(table)
    shown = captured.get()
    assert shown.count("[red]x[/red]") == 5
    assert "\x1b[31m" in shown
    assert not set("\r\x07\u202e") & set(shown)
    assert "38;5;123" not in shown
    assert "http" not in shown


def test_a_bar_shows_names_as_they_are(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    with bar() as watch:
        watch(Step("sample", 1, 3, HOSTILE, 1, 2))
    shown = capsys.readouterr().err
    assert "round 1 of 2: evil" in shown
    assert "38;5;123" not in shown
    assert not set("\x07\u202e") & set(shown)
    assert "http" not in shown


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("json", document("→ 多 🎉"), '"\\u2192 \\u591a \\ud83c\\udf89"\n'),
        ("markdown", "→ 多\n", "&#8594; &#22810;\n"),
        ("xml", "<a>→</a>\n", "<a>&#8594;</a>\n"),
        ("plain", "→ 多\n", "-> ?\n"),
    ],
)
def test_documents_in_an_encoding_that_lacks_their_characters(kind, text, shown):
    code = f"from gradmark.commands.terminal import *; ready(); say_document({text!r}, {kind!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONIOENCODING": "cp1252"}, capture_output=True, check=True
    )
    assert done.stdout.decode("cp1252") == shown


def test_a_document_stays_as_it_is_where_all_characters_are(capsys):
    say_document("→\n", "plain")
    assert capsys.readouterr().out == "→\n"


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "runs", "--store", RUNS],
        ["history", "--store", RUNS],
        ["compare", RUNS / "format-3.jsonl", RUNS / "format-4.jsonl"],
        ["run", "--resume", RUNS / "format-4.jsonl", "--trust"],
        ["run", "--resume", RUNS / "format-4.jsonl", "--trust", "--format", "markdown"],
        ["doctor", "--seconds", "0"],
    ],
    ids=lambda arguments: " ".join(map(str, arguments[:1])),
)
def test_every_terminal_can_show_every_verb(started, tmp_path, encoding, arguments):
    """Seen: tracebacks on Windows, whose code pages have no arrow."""
    where = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    process = started(*arguments, cwd=tmp_path, env=where, encoding=encoding, errors="replace")
    out, err = process.communicate()
    assert (process.returncode, "Traceback" in err) == (0, False), err
    assert out


def test_a_locale_without_utf8_reads_and_writes_utf8(started, tmp_path):
    (tmp_path / "pyproject.toml").write_text("# é →\n[tool.gradmark.budgets]\ntmie = '5%'\n", encoding="utf-8")
    where = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "latin-1"}
    process = started("check", cwd=tmp_path, env=where)
    _, err = process.communicate()
    assert process.returncode == 2
    assert "'tmie', which is not a metric" in err
