from typing import Any

import pytest

from gradmark.analyse.standings import Standing
from gradmark.analyse.tally import Contest, Tally, contest


def standing(engine: str, ratio: float, outcome: Any = "slower", **more: Any) -> Standing:
    defaults: dict[str, Any] = {"total_ns": 1000.0 * ratio, "settled": True, "rounds": 4}
    return Standing(**{**defaults, "engine": engine, "ratio": ratio, "outcome": outcome, **more})


def by_engine(found: Contest) -> dict[str, Tally]:
    return {tally.engine: tally for tally in found.tallies}


def test_outcomes_are_counted_where_there_are_rivals_and_the_best_comes_first() -> None:
    rows = {
        "one": [standing("a", 2.0), standing("b", 1.0, "fastest")],
        "two": [standing("a", 1.01, "tied"), standing("b", 1.0, "tied")],
        "three": [standing("a", 1.2, "tied", settled=False), standing("b", 1.0, "tied", settled=False)],
        "alone": [standing("a", 1.0, "fastest")],
    }
    found = contest(rows, {"a": 4, "b": 5})
    assert (found.rows, found.contested, found.common) == (4, 3, 3)
    assert [tally.engine for tally in found.tallies] == ["b", "a"]
    b, a = found.tallies
    assert (a.timed, a.planned, a.fastest, a.tied, a.unsettled) == (4, 4, 0, 1, 1)
    assert (b.timed, b.planned, b.fastest, b.tied, b.unsettled) == (3, 5, 1, 1, 1)


def test_means_are_geometric_and_over_the_rows_that_all_have() -> None:
    rows = {
        "one": [standing("a", 4.0, peak_bytes=300.0, digits=15.0), standing("b", 1.0, "fastest", peak_bytes=100.0)],
        "two": [standing("a", 9.0, peak_bytes=100.0, digits=6.0), standing("b", 1.0, "fastest", peak_bytes=1200.0)],
        "one engine": [standing("a", 1.0, "fastest")],
    }
    found = contest(rows, {"a": 3, "b": 3})
    a, b = by_engine(found)["a"], by_engine(found)["b"]
    assert found.common == 2
    assert (a.ratio, b.ratio) == (6.0, 1.0)
    assert (a.memory, b.memory) == (pytest.approx(3.0**0.5), pytest.approx(12.0**0.5))
    assert (a.digits, b.digits) == (6.0, None)


def test_an_engine_with_few_rows_has_no_mean_and_takes_nobodys() -> None:
    rows = {f"row {k}": [standing("a", 1.0, "fastest"), standing("b", 2.0)] for k in range(3)}
    rows["row 0"].append(standing("rare", 8.0))
    found = contest(rows, {"a": 3, "b": 3, "rare": 3, "never": 3})
    assert found.common == 3
    assert {tally.engine: tally.ratio for tally in found.tallies} == {"a": 1.0, "b": 2.0, "rare": None, "never": None}


def test_engines_without_a_row_in_common_have_no_mean() -> None:
    rows = {
        "one": [standing("a", 1.0, "fastest"), standing("b", 2.0)],
        "two": [standing("c", 1.0, "fastest"), standing("d", 2.0)],
    }
    found = contest(rows, dict.fromkeys("abcd", 1))
    assert found.common == 0
    assert {tally.ratio for tally in found.tallies} == {None}
