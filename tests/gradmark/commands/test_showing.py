"""Showing a run in each format: what is chosen, and that standard output can be piped."""

import csv
import io

import msgspec
import pytest
from oracles.noisy import noisy_run
from oracles.watched import all_watched

from gradmark.commands.showing import FORMATS, show
from gradmark.records import Run

MANY = noisy_run(0)
TWO = noisy_run(0, engines=2)


@pytest.fixture
def shown(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def call(run, form, **options):
        show(run, form, **options)
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return call


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_ends_its_last_line(shown, form):
    assert shown(MANY, form).endswith("\n")


def test_many_engines_are_side_by_side_with_the_answers_last(shown):
    text = shown(MANY, "table")
    assert text.startswith("poly/n=1\n")
    answers = text.rstrip().rpartition("\n\n")[2]
    assert [line.split(":")[0] for line in answers.splitlines() if "times as fast" in line][:1] == ["poly/n=1"]
    assert "× fastest" in text
    assert "null was not ranked: it computes no gradient" in text


def test_many_engines_have_the_notes_that_their_tables_do_not_show(shown):
    text = shown(MANY, "table")
    assert "info: allocations per iteration, at worst: torch 92 (matmul/n=8/dtype=float64), manual 87 " in text
    assert "info: harness: an empty call takes " in text
    assert "not available or not reported" in text
    assert "by hand" not in shown(TWO, "table")


def test_two_engines_are_rows_with_the_answers_last(shown):
    text = shown(TWO, "table")
    assert text.startswith("scalar\n")
    assert "poly/n=10000: tapegrad (901 µs) and casadi" in text.rstrip().rpartition("\n\n")[2]
    assert "× fastest" not in text


def test_medians_are_rows(shown):
    assert "range" not in shown(MANY, "table")
    text = shown(MANY, "table", medians=True)
    assert text.startswith("scalar\n")
    assert "median: over processes, with its interval; a range if there are too few processes for 95 %" in text
    assert "(range " in text


def test_markdown_has_the_answers_first(shown):
    assert shown(MANY, "markdown").startswith("- poly/n=1: ")
    assert shown(TWO, "markdown").startswith("- poly/n=10000: ")


def test_what_programs_read(shown):
    assert msgspec.json.decode(shown(MANY, "json"), type=Run) == MANY
    rows = list(csv.DictReader(io.StringIO(shown(MANY, "csv"))))
    assert len(rows) == len(MANY.measurements)
    assert shown(MANY, "go").startswith("goos: linux\n")


@pytest.mark.parametrize("form", ["table", "markdown"])
@pytest.mark.parametrize("run", [MANY, TWO])
def test_how_calm_the_machine_was_is_said_once(shown, run, form):
    rows = [all_watched(m, calm=3) for m in run.measurements]
    text = shown(msgspec.structs.replace(run, measurements=rows), form)
    assert text.count("machine: ") == text.count("calm for 75 % of the measuring time") == 1
