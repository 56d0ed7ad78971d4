"""Tools of GradBench beside engines, end to end: what is printed and kept, and what a broken one leaves alone."""

import csv
import io
import re
import sys
from pathlib import Path

import pytest

from gradmark.store import runs

TOOL = Path(__file__).parents[2] / "faults" / "tool.py"
MARKED = "* self-timed: as reported by the tool itself, without the first run of each message"


def tool(fault=""):
    return f"gradbench:{sys.executable} {TOOL} '{fault}'"


@pytest.fixture
def measured(gradmark, quick, tmp_path):
    """Runs lse on tapegrad and a tool; gives what was called and the run that was kept."""

    def measure(*arguments, fault=""):
        called = gradmark("run", "lse/n=100", "-e", "tapegrad", "-e", tool(fault), *quick, *arguments)
        (path,) = (tmp_path / ".gradmark" / "runs").glob("*.jsonl")
        return called, runs.load(path)

    return measure


def by_engine(run):
    return {m.cell.engine.partition(":")[0]: m for m in run.measurements}


@pytest.mark.slow
def test_a_tool_beside_an_engine(measured):
    called, run = measured()
    assert called.code == 0, called.err
    kept = by_engine(run)
    assert {name: m.status for name, m in kept.items()} == {"tapegrad": "ok", "gradbench": "ok"}
    assert kept["gradbench"].samples[0].phases["total"].how == "self-timed"
    assert kept["tapegrad"].samples[0].phases["total"].how == "measured"
    assert re.search(r"\d [nµ]s\* ", called.out)
    assert MARKED in called.out
    assert "info: self-timed: the times of gradbench:" in called.out
    assert "published beside measured: time of the derivative ÷ time of the function" in called.out
    assert "· GradBench 2026-03-14 (n=2500, the nearest): mooncake-jl 1.06, " in called.out


@pytest.mark.slow
def test_formats_have_the_mark(measured):
    called, run = measured("--format", "csv")
    rows = {row["engine"].partition(":")[0]: row for row in csv.DictReader(io.StringIO(called.out))}
    assert {name: row["total_how"] for name, row in rows.items()} == {"tapegrad": "measured", "gradbench": "self-timed"}
    assert set(by_engine(run)["gradbench"].samples[0].phases["total"].block_ns) == {1000.0}


@pytest.mark.slow
def test_a_tool_that_crashes_loses_nothing_else(measured, gradmark, tmp_path):
    called, run = measured("--format", "markdown", fault="crash")
    assert called.code == 1
    kept = by_engine(run)
    assert {name: m.status for name, m in kept.items()} == {"tapegrad": "ok", "gradbench": "crash"}
    message = "asked to evaluate lse.gradient, the tool ended with exit code 3: no memory for the tape"
    assert kept["gradbench"].message == message
    assert ['"message": ' in line for line in kept["gradbench"].transcript] == [True, False, True, False, True]
    assert "transcript: the messages exchanged before" in called.out
    assert run.finished
    page = tmp_path / "page.html"
    assert gradmark("report", run.id, "-o", page).code == 0
    text = page.read_text()
    assert "What was said before lse/n=100 on gradbench:" in text
    assert "&#34;function&#34;: &#34;gradient&#34;" in text


@pytest.mark.slow
def test_a_tool_that_hangs_has_its_time(measured):
    called, run = measured("--timeout", "4", fault="hang")
    kept = by_engine(run)
    assert {name: m.status for name, m in kept.items()} == {"tapegrad": "ok", "gradbench": "timeout"}
    assert kept["gradbench"].message == "asked to evaluate lse.gradient, the tool gave no answer in time"
    assert len(kept["gradbench"].transcript) == 5
    assert called.code == 1


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("gradbench:", "names no program; give its command, as in -e 'gradbench:python run.py'"),
        ("gradbench:no-such-program", "there is no program 'no-such-program' that can be run"),
        ("gradbench:sh -c 'x", "cannot be split into words (No closing quotation)"),
    ],
)
def test_a_command_that_cannot_be_run_is_said_at_once(command, message, gradmark, quick, tmp_path):
    called = gradmark("run", "lse/n=100", "-e", command, *quick)
    assert called.code == 2
    assert message in called.err
    assert list(tmp_path.iterdir()) == []


def test_a_hostile_command_is_printed_safely(gradmark, quick):
    called = gradmark("run", "poly/n=10", "-e", f"gradbench:{sys.executable} '\x1b[31m<script>'", *quick)
    assert "\x1b" not in called.out
    assert called.code == 1  # nothing ran: it has no eval that is poly


def test_the_published_table(gradmark):
    called = gradmark("list", "published")
    lines = called.out.splitlines()
    assert called.code == 0
    assert lines[0].startswith("Šrajer, Kukelova, Fitzgibbon: A Benchmark")
    sized = lines.index("  lstm/l=2,c=1024")
    assert lines[sized + 1].startswith("      codipack 2.15, pytorch 2.2, ")
