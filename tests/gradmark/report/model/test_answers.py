"""Answers: what to take and by how much, ties called ties."""

from typing import Any

import pytest

from gradmark.analyse.standings import Standing
from gradmark.report.model.answers import answers


def standing(
    engine: str, total_ns: float, outcome: Any = "slower", *, settled: bool = True, processes: int = 5, **fields: Any
) -> Standing:
    counts = {"processes": processes, "started": processes, "rounds": processes, **fields}
    return Standing(engine=engine, total_ns=total_ns, ratio=1.0, outcome=outcome, settled=settled, **counts)


def answer(*row: Standing) -> str:
    (text,) = answers({"poly": row})
    return text.removeprefix("poly: ")


def test_one_engine_has_nobody_to_be_faster_than() -> None:
    assert answers({"poly": [standing("a", 1.0, "fastest")], "dot": []}) == []


def test_one_sentence_for_each_row() -> None:
    row = [standing("casadi", 163e3), standing("tapegrad:program", 48e3, "fastest"), standing("torch", 90.24e6)]
    assert answers({"lotka/steps=200": row, "poly": row[:2]}) == [
        "lotka/steps=200: tapegrad:program, 48.0 µs; 3.40 times as fast as casadi, 1,880 times as fast as torch",
        "poly: tapegrad:program, 48.0 µs; 3.40 times as fast as casadi",
    ]


def test_the_next_and_the_last_are_named() -> None:
    row = [standing("a", 1e3, "fastest"), *(standing(name, 1e3 * k) for k, name in enumerate("bcdefg", 2))]
    assert answer(*row) == (
        "a, 1.00 µs; 2.00 times as fast as b, 3.00 times as fast as c, 4.00 times as fast as d, "
        "7.00 times as fast as g (2 engines between)"
    )
    assert answer(*row[:5]).endswith("4.00 times as fast as d, 5.00 times as fast as e")


@pytest.mark.parametrize(
    ("settled", "processes", "said"),
    [
        (True, 5, " tie"),
        (False, 2, ": 2 processes do not settle the order; measure again with --processes 6"),
        (False, 1, ": 1 process does not settle the order; measure again with --processes 6"),
        (False, 10, ": 10 processes do not settle the order; measure again with --processes 20"),
    ],
)
def test_ties(settled: bool, processes: int, said: str) -> None:
    row = [
        standing(name, ns, "tied", settled=settled, processes=processes) for name, ns in (("a", 1000.0), ("b", 1020.0))
    ]
    assert answer(*row) == f"a (1.00 µs) and b (1.02 µs){said}"
    assert answer(*row, standing("c", 3000.0)).endswith("; a is 3.00 times as fast as c")


def test_names_are_safe_to_print() -> None:
    assert answers({"p\x1b[1m": [standing("a\x07", 1e3, "fastest"), standing("b\n", 2e3)]}) == [
        "p: a, 1.00 µs; 2.00 times as fast as b"
    ]


def test_times_that_the_harness_swallowed_give_no_nonsense() -> None:
    assert answer(standing("a", -1.0, "fastest"), standing("b", 1e3)) == "a, -1 ns; faster than b"


def test_the_fewest_processes_leave_it_open() -> None:
    row = [
        standing("a", 1e3, "tied", settled=False, processes=6),
        standing("b", 1.3e3, "tied", settled=False, processes=2),
    ]
    assert answer(*row).endswith(": 2 processes do not settle the order; measure again with --processes 6")


def test_processes_that_saw_no_calm_machine_do_not_count() -> None:
    row = [
        standing("a", 1e3, "tied", settled=False, processes=9),
        standing("b", 1.3e3, "tied", settled=False, processes=3, started=9),
    ]
    assert answer(*row).endswith(": 3 calm processes do not settle the order; measure again with --processes 18")


def test_an_engine_that_was_never_calm_leads_nobody() -> None:
    row = [
        standing("a", 1e3, "tied", settled=False),
        standing("b", 0.9e3, "tied", settled=False, calm=False, processes=0),
        standing("c", 3e3),
    ]
    assert answer(*row) == (
        "b (900 ns) and a (1.00 µs): not settled, as the machine was never calm while b ran; measure again; "
        "a is 3.00 times as fast as c"
    )
