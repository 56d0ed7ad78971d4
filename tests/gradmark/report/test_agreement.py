"""One truth: every number that is shown of a noisy run agrees, wherever it is shown."""

from pathlib import Path

import msgspec
import pytest
from oracles import walk
from oracles.noisy import noisy_run
from oracles.shown import is_quotient, markdown_tables, span

from gradmark import units
from gradmark.analyse.standings import Standing, rows_of, standings
from gradmark.records import Run, metric
from gradmark.report.exports import markdown
from gradmark.report.exports.csv import csv
from gradmark.report.exports.json import json
from gradmark.report.model.sides import comparison
from gradmark.report.model.suites import tables
from gradmark.store.runs import load

# Eight engines on a machine on which other work kept both cores busy.
RECORDED = Path(__file__).parents[2] / "data" / "runs" / "under-load.jsonl"
RUNS = [noisy_run(seed) for seed in (0, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("run", [*RUNS, load(RECORDED)], ids=lambda run: run.id)
def test_every_number_agrees(run: Run) -> None:
    assert walk.walk(run) > 2000


def test_two_engines_agree_too() -> None:
    assert walk.walk(noisy_run(0, engines=2)) > 500


def test_the_noise_is_worth_walking() -> None:
    """The runs have what used to disagree: parts beyond the whole, computed parts, ties, unsettled rows, failures."""
    numbers = [metric.numbers(m) for run in RUNS for m in run.measurements]
    assert any(n["forward"].how == "derived" for n in numbers if "forward" in n)
    assert any(n["backward"].how == "derived" for n in numbers if "backward" in n)
    assert {m.status for run in RUNS for m in run.measurements} >= {"ok", "unsupported", "timeout", "wrong-gradient"}
    placed = [standing for run in RUNS for standing in standings_of(run)]
    assert {standing.outcome for standing in placed} == {"fastest", "tied", "slower"}
    assert {standing.settled for standing in placed} == {True, False}


def standings_of(run: Run) -> list[Standing]:
    return [standing for members in rows_of(run.measurements).values() for standing in standings(members)]


# --- the walk itself fails where it should


def rows_text(run: Run) -> str:
    return markdown.suites(tables(run), [])


def sides_text(run: Run) -> str:
    return markdown.side_by_side(comparison(run), [])


def test_a_number_that_differs_is_found() -> None:
    run = RUNS[0]
    number = next(numbers["total"] for m in run.measurements if "total" in (numbers := metric.numbers(m)))
    text, value = units.time(number.value), str(number.value)
    assert text in rows_text(run)
    with pytest.raises(AssertionError):
        walk.check_rows(run, markdown_tables(rows_text(run).replace(text, "9.87 ms")))
    with pytest.raises(AssertionError):
        walk.check_sides(run, markdown_tables(sides_text(run).replace(text, "9.87 ms")), comparison(run).answers)
    with pytest.raises(AssertionError):
        walk.check_csv(run, csv(run).replace(value, "1.5"))
    with pytest.raises(AssertionError):
        walk.check_json(run, json(run).replace(value, "1.5"))


def test_numbers_of_other_samples_are_found() -> None:
    run, other = RUNS[0], noisy_run(0, noise=0.5)
    with pytest.raises(AssertionError):
        walk.check_rows(run, markdown_tables(rows_text(other)))
    with pytest.raises(AssertionError):
        walk.check_csv(run, csv(other))
    with pytest.raises(AssertionError):
        walk.check_json(run, json(other))


def test_another_winner_is_found() -> None:
    run = RUNS[0]
    answers = comparison(run).answers
    for engine, other in (("manual", "torch"), ("tapegrad", "jax")):
        changed = [answer.replace(engine, "X").replace(other, engine).replace("X", other) for answer in answers]
        assert changed != answers
        with pytest.raises(AssertionError):
            walk.check_sides(run, markdown_tables(sides_text(run)), changed)
    with pytest.raises(AssertionError):
        walk.check_sides(run, markdown_tables(sides_text(run).replace("◀", "")), answers)


def test_a_row_that_is_not_shown_is_found() -> None:
    run = RUNS[0]
    less = msgspec.structs.replace(run, measurements=run.measurements[1:])
    with pytest.raises(AssertionError):
        walk.check_rows(run, markdown_tables(rows_text(less)))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("2.50 µs", 2495.0, 2505.0),
        ("~500 ns", 499.5, 500.5),
        ("4.00 GFLOP/s", 3.995e9, 4.005e9),
        ("39.6 GB/s", 39.55e9, 39.65e9),
        ("5 B/s", 4.5, 5.5),
        ("+3 %", 0.025, 0.035),
        ("2.0e-07", 1.95e-7, 2.05e-7),
        ("1,880", 1875.0, 1885.0),
        ("4.00 KiB", 4090.88, 4101.12),
    ],
)
def test_what_a_text_stands_for(text: str, low: float, high: float) -> None:
    assert span(text) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("ratio", "above", "below", "holds"),
    [
        ("1.04", "181 µs", "174 µs", True),
        ("1.04=", "48.1 µs", "181 µs", False),
        ("3.00", "~3.00 µs", "1.00 µs", True),
        ("1,880", "90.2 ms", "48.0 µs", True),
        ("1,900", "90.2 ms", "48.0 µs", False),
        ("1.12", "1.00 µs", "3.00 µs", False),
    ],
)
def test_quotients(ratio: str, above: str, below: str, holds: bool) -> None:
    assert is_quotient(ratio, above, below) == holds
