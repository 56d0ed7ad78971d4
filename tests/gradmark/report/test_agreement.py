"""One truth: every number that is shown of a noisy run agrees, wherever it is shown."""

import io

import msgspec
import pytest
from oracles import shown
from oracles.noisy import noisy_run
from rich.console import Console

from gradmark.analyse.standings import Standing, rows_of, standings
from gradmark.records import Run, metric
from gradmark.report.exports import markdown
from gradmark.report.exports.csv import csv
from gradmark.report.exports.json import json
from gradmark.report.model.sides import answers_of, comparison
from gradmark.report.model.suites import tables
from gradmark.report.tables import terminal

RUNS = [noisy_run(seed) for seed in range(4)]
LABELS = {*(shown.plain_title(entry.title) for entry in metric.REGISTRY), "replay", "× fastest", "× by hand", "Pareto"}


def printed(run: Run, *, sides: bool, medians: bool = False) -> str:
    out = io.StringIO()
    console = Console(width=1000, file=out, color_system=None)
    if sides:
        terminal.print_comparison(comparison(run), [], console)
    else:
        terminal.print_tables(tables(run), [], console, medians=medians)
    return out.getvalue()


def written(run: Run, *, sides: bool, medians: bool = False) -> str:
    if sides:
        return markdown.side_by_side(comparison(run), [])
    return markdown.suites(tables(run), [], medians=medians)


def side_names(run: Run) -> set[str]:
    return LABELS | set(shown.SUMMARY) | {m.cell.task for m in run.measurements}


@pytest.mark.parametrize("medians", [False, True])
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.id)
def test_rows(run: Run, medians: bool) -> None:
    names = {m.cell.row for m in run.measurements}
    on_terminal = shown.check_rows(run, shown.terminal_tables(printed(run, sides=False, medians=medians), names))
    in_markdown = shown.check_rows(run, shown.markdown_tables(written(run, sides=False, medians=medians)))
    assert on_terminal == in_markdown
    assert on_terminal > 200


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.id)
def test_sides(run: Run) -> None:
    answers = comparison(run).answers
    on_terminal = shown.check_sides(run, shown.terminal_tables(printed(run, sides=True), side_names(run)), answers)
    in_markdown = shown.check_sides(run, shown.markdown_tables(written(run, sides=True)), answers)
    assert on_terminal == in_markdown
    assert on_terminal > 200
    assert answers_of(run) == answers


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.id)
def test_files(run: Run) -> None:
    assert shown.check_csv(run, csv(run)) == shown.check_json(run, json(run)) > 300


def test_the_noise_is_worth_walking() -> None:
    """The runs have what used to disagree: parts beyond the whole, computed parts, ties, unsettled rows, failures."""
    numbers = [metric.numbers(m) for run in RUNS for m in run.measurements]
    assert any(n["forward"].how == "derived" for n in numbers if "forward" in n)
    assert any(n["backward"].how == "derived" for n in numbers if "backward" in n)
    assert {m.status for run in RUNS for m in run.measurements} >= {"ok", "unsupported", "timeout", "wrong-gradient"}
    assert {"fastest", "tied", "slower"} == {standing.outcome for run in RUNS for standing in standings_of(run)}
    assert {standing.settled for run in RUNS for standing in standings_of(run)} == {True, False}


def standings_of(run: Run) -> list[Standing]:
    return [standing for members in rows_of(run.measurements).values() for standing in standings(members)]


# --- the walk itself fails where it should


def test_a_number_that_differs_is_found() -> None:
    run = RUNS[0]
    total = next(m for m in run.measurements if "total" in metric.numbers(m))
    text = shown.units.time(metric.numbers(total)["total"].value)
    assert text in written(run, sides=False)
    with pytest.raises(AssertionError):
        shown.check_rows(run, shown.markdown_tables(written(run, sides=False).replace(text, "9.87 ms")))
    with pytest.raises(AssertionError):
        shown.check_sides(run, shown.markdown_tables(written(run, sides=True).replace(text, "9.87 ms")), [])
    value = metric.numbers(total)["total"].value
    with pytest.raises(AssertionError):
        shown.check_csv(run, csv(run).replace(str(value), str(value + 1)))
    with pytest.raises(AssertionError):
        shown.check_json(run, json(run).replace(str(value), str(value + 1)))


def test_numbers_of_other_samples_are_found() -> None:
    run, other = RUNS[0], noisy_run(0, noise=0.5)
    for check in (
        lambda: shown.check_rows(run, shown.markdown_tables(written(other, sides=False))),
        lambda: shown.check_csv(run, csv(other)),
        lambda: shown.check_json(run, json(other)),
    ):
        with pytest.raises(AssertionError):
            check()


def test_another_winner_is_found() -> None:
    run = RUNS[0]
    answers = comparison(run).answers
    for engine, other in (("manual", "torch"), ("tapegrad", "jax")):
        changed = [answer.replace(engine, "X").replace(other, engine).replace("X", other) for answer in answers]
        assert changed != answers
        with pytest.raises(AssertionError):
            shown.check_sides(run, shown.markdown_tables(written(run, sides=True)), changed)
    moved = written(run, sides=True).replace("◀", "")
    with pytest.raises((AssertionError, IndexError)):
        shown.check_sides(run, shown.markdown_tables(moved), answers)


def test_a_row_that_is_not_shown_is_found() -> None:
    run = RUNS[0]
    less = msgspec.structs.replace(run, measurements=run.measurements[1:])
    with pytest.raises(AssertionError):
        shown.check_rows(run, shown.markdown_tables(written(less, sides=False)))


@pytest.mark.parametrize(
    ("ratio", "above", "below", "holds"),
    [
        ("1.04", "181 µs", "174 µs", True),
        ("1.04=", "48.1 µs", "181 µs", False),
        ("3.00", "~3.00 µs", "1.00 µs", True),
        ("1,880", "90.2 ms", "48.0 µs", True),
        ("1,890", "90.2 ms", "48.0 µs", False),
        ("1.12", "1.00 µs", "3.00 µs", False),
        ("inf", "1.00 µs", "0 ns", True),
    ],
)
def test_quotients(ratio: str, above: str, below: str, holds: bool) -> None:
    assert shown.is_quotient(ratio, above, below) == holds
