"""Standings: who wins and who ties, who is Pareto-optimal, and when a first call is made up for."""

import doctest

import msgspec
import numpy as np
import pytest
from oracles.watched import all_watched, never_calm, watched

from gradmark.analyse import standings as module
from gradmark.analyse.standings import break_even, digits, rows_of, standings, unsettled
from gradmark.records import Accuracy, Cell, Measurement, Memory, Phase, Sample
from gradmark.records.metric import numbers

MIB = 2**20


def measured(engine, totals, *, status="ok", peak=1000, error=1e-16, once=0.0, first=0, **cell):
    samples = [
        Sample(
            process=first + k,
            phases={"total": Phase(iterations=1, block_ns=[ns, ns + 1])},
            once_ns={"prepare": once / 2, "first_call": once / 2},
            harness_ns=0.0,
            clock_ns=1.0,
        )
        for k, ns in enumerate(totals)
    ]
    return Measurement(
        cell=Cell(**{"engine": engine, "workload": "w", "suite": "s", **cell}),
        status=status,
        samples=samples,
        memory=Memory(peak_bytes=peak),
        accuracy=Accuracy(reference="", relative_error=error, tolerance=1e-9),
    )


def outcomes(*totals):
    """Of engines with these times."""
    row = standings([measured(chr(97 + k), times) for k, times in enumerate(totals)])
    return [(s.outcome, s.settled) for s in row]


def test_ratios_are_quotients_of_the_numbers_shown():
    row = [measured("a", [1000, 1100]), measured("b", [3300, 3000]), measured("manual", [2500, 2600])]
    found = standings(row)
    shown = [numbers(m)["total"].value for m in row]
    assert [s.total_ns for s in found] == shown == [1000, 3000, 2500]
    assert [(s.engine, s.ratio, s.to_hand, s.outcome) for s in found] == [
        ("a", 1.0, 1000 / 2500, "fastest"),
        ("b", 3.0, 3000 / 2500, "slower"),
        ("manual", 2.5, 1.0, "slower"),
    ]
    assert [(s.rounds, s.against and s.against.ratio) for s in found] == [(2, None), (2, 3.0), (2, 2.5)]


FIVE = [1000.0, 1010.0, 1020.0, 1030.0, 1040.0]


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        ([1049.0, 1060.0, 1070.0, 1080.0, 1090.0], ("tied", True)),  # all slower, within 5 %
        ([1150.0, 1160.0, 1170.0, 1180.0, 1190.0], ("slower", True)),
        ([1070.0, 1015.0, 1060.0, 1080.0, 1090.0], ("tied", True)),
        ([1060.0, 1061.0, 1062.0, 1063.0, 1064.0], ("slower", True)),
        ([2100.0, 2200.0], ("slower", True)),  # two processes: all apart, and twice as slow
        ([1900.0, 1910.0], ("tied", False)),  # a slow state of the machine does as much
        ([1900.0, 1910.0, 1920.0], ("tied", False)),
        ([1900.0, 1910.0, 1920.0, 1930.0], ("slower", True)),
        ([3000.0], ("slower", True)),
    ],
)
def test_outcomes(totals, expected):
    leader = ("fastest", True) if expected[0] == "slower" else expected
    assert outcomes(FIVE, totals) == [leader, expected]


def test_what_overlaps_is_not_settled():
    assert outcomes(FIVE, [1100.0, 1200.0, 1300.0, 1035.0 + 16, 1100.0]) == [("fastest", True), ("slower", True)]
    # a lucky process of the first: 10 % ahead, and yet the others are faster than its others
    assert outcomes([900.0, 1400.0, 1410.0, 1420.0], [1000.0, 1010.0, 1020.0, 1030.0]) == [("tied", False)] * 2


def test_rounds_decide_where_the_machine_drifts():
    drift = [1000.0 * 1.4**k for k in range(8)]
    assert outcomes(drift, [1.1 * ns for ns in drift]) == [("fastest", True), ("slower", True)]


def test_what_is_not_settled_is_measured_further():
    """Twice as slow with two processes is settled, 5 % apart is a tie; what lies between wants more rounds."""
    row = [measured("a", [100.0, 101.0]), measured("b", [150.0, 151.0]), measured("c", [300.0, 301.0])]
    assert [cell.engine for cell in unsettled(row)] == ["a", "b"]
    assert unsettled([measured("a", [100.0, 101.0]), measured("b", [103.0, 104.0])]) == []
    more = [measured("a", [100.0, 101.0, 102.0, 103.0]), measured("b", [150.0, 151.0, 152.0, 153.0])]
    assert unsettled(more) == []


def test_one_tie_leaves_no_sole_winner():
    assert outcomes(FIVE, [1.01 * ns for ns in FIVE], [2 * ns for ns in FIVE]) == [
        ("tied", True),
        ("tied", True),
        ("slower", True),
    ]


def test_rounds_of_another_run_are_compared_as_samples():
    found = standings([measured("a", FIVE), measured("b", [2 * ns for ns in FIVE], first=10)])
    assert [(s.outcome, s.rounds) for s in found] == [("fastest", 5), ("slower", 0)]


def test_nanoseconds_of_the_harness_are_a_tie():
    assert outcomes([20.0] * 5, [24.0] * 5) == [("tied", True), ("tied", True)]


@pytest.mark.parametrize("noise", ["lognormal", "two states"])
@pytest.mark.parametrize("processes", [2, 3, 5])
def test_an_equal_engine_is_rarely_the_only_winner(processes, noise):
    draw = np.random.default_rng(processes)

    def times():
        scale = np.where(draw.random(processes) < 0.5, draw.uniform(1.6, 1.9, processes), 1.0)
        return 1000 * draw.lognormal(0.0, 0.05, processes) * (scale if noise == "two states" else 1.0)

    winners = sum(outcomes(times(), times())[0][0] != "tied" for _ in range(300))
    assert winners <= 0.05 * 300  # 26 % with two processes before; benchmarks/statistics.py has the figures


def test_who_failed_has_no_standing():
    rows = [measured("a", [100]), measured("b", [], status="unsupported"), measured("c", [])]
    assert [(s.engine, s.outcome) for s in standings(rows)] == [("a", "fastest")]
    assert standings(rows[1:]) == []


def test_the_front_is_of_time_memory_and_digits():
    found = standings(
        [
            measured("fast", [1000], peak=3 * MIB),
            measured("small", [2000], peak=1 * MIB),
            measured("beaten", [3000], peak=3 * MIB),
            measured("accurate", [4000], peak=5 * MIB, error=1e-18),
            measured("rough", [500], peak=9 * MIB, error=1e-6),
        ]
    )
    # 1e-16 and less are as many digits as a double has
    assert [s.engine for s in found if s.pareto] == ["fast", "small", "rough"]


@pytest.mark.parametrize(
    ("other", "optimal"),
    [
        ({"totals": [14000], "peak": int(1.53 * MIB)}, False),  # 14 times slower for a hundredth less memory
        ({"totals": [14000], "peak": int(1.40 * MIB)}, True),
        ({"totals": [1040], "peak": int(1.55 * MIB)}, True),  # as good in all
        ({"totals": [1040], "peak": int(1.60 * MIB), "error": 2e-16}, True),  # parts of a digit
        ({"totals": [1100], "peak": int(1.55 * MIB)}, False),
        ({"totals": [1000], "peak": int(1.55 * MIB), "error": 1e-14}, False),
        ({"totals": [1000], "peak": None}, False),  # what is not known never helps
        ({"totals": [900], "peak": None}, True),
    ],
)
def test_tolerances_of_the_front(other, optimal):
    found = standings([measured("a", [1000], peak=int(1.55 * MIB)), measured("b", **other)])
    assert found[1].pareto is optimal


def test_small_peaks_differ_by_what_an_allocator_takes():
    found = standings([measured("a", [1000], peak=9000), measured("b", [2000], peak=1000)])
    assert [s.pareto for s in found] == [True, False]


def test_peaks_that_nobody_knows_are_left_out():
    found = standings([measured("a", [1000], peak=None), measured("b", [2000], peak=None)])
    assert [s.pareto for s in found] == [True, False]


@pytest.mark.parametrize(
    ("ours", "theirs", "calls"),
    [((1000, 10), (100, 40), 30), ((100, 10), (1000, 40), 0), ((1000, 40), (100, 10), None), ((0, 9), (0, 9), 0)],
)
def test_break_even(ours, theirs, calls):
    assert break_even(*ours, *theirs) == calls


def test_break_even_with_each_other_engine():
    row = [
        measured("jit", [1000], once=1_000_000.0),
        measured("eager", [10_000], once=10_000.0),
        measured("level", [1040], once=20_000.0),  # tied with jit: no number of calls is worth a sentence
    ]
    assert [s.break_even for s in standings(row)] == [
        {"eager": 110},
        {},  # it starts ahead and loses: the others break even
        {"eager": 2},
    ]
    assert [s.first_call_ns for s in standings(row)] == [1_000_000.0, 10_000.0, 20_000.0]


def test_slow_from_first_to_last_never_breaks_even():
    found = standings([measured("a", [1000], once=10_000.0), measured("b", [2001], once=30_000.0)])
    assert [s.break_even for s in found] == [{"b": 0}, {"a": None}]


def test_what_is_not_settled_does_not_break_even():
    found = standings([measured("a", [1000, 1010], once=30_000.0), measured("b", [1900, 1910], once=10_000.0)])
    assert [(s.settled, s.break_even) for s in found] == [(False, {}), (False, {})]


def test_digits():
    assert [digits(error) for error in (1e-9, 0.0, 1e-20, 5.0, float("nan"))] == [9.0, 16.0, 16.0, 0.0, 0.0]
    assert standings([measured("a", [1], error=1e-7)])[0].digits == pytest.approx(7.0)


def test_rows_are_what_did_the_same_work():
    cells = [("a", "float64"), ("b", "float64"), ("a", "float32")]
    rows = rows_of([measured(e, [1], dtype=d, params={"n": 3}) for e, d in cells])
    assert {name: [m.cell.engine for m in members] for name, members in rows.items()} == {
        "w/n=3": ["a", "b"],
        "w/n=3/dtype=float32": ["a"],
    }


def test_examples_run():
    assert doctest.testmod(module) == (0, 2)


# --- machines that were never calm, and processes that differ in number


def test_what_never_saw_a_calm_machine_neither_wins_nor_loses():
    for theirs in (0.5, 1.01, 9.0):
        row = [all_watched(measured("a", FIVE)), never_calm(measured("b", [theirs * ns for ns in FIVE]))]
        lead, other = standings(row)
        assert (lead.outcome, lead.settled, lead.ratio, lead.pareto) == ("tied", False, 1.0, True)
        assert (other.outcome, other.settled, other.ratio, other.pareto) == ("tied", False, theirs, False)
        assert [(s.calm, s.processes, s.started) for s in (lead, other)] == [(True, 5, 5), (False, 0, 5)]
        assert [cell.engine for cell in unsettled(row)] == ["a", "b"]


def test_engines_that_were_calm_are_compared_all_the_same():
    row = [measured("a", FIVE), never_calm(measured("b", FIVE)), measured("c", [2 * ns for ns in FIVE])]
    assert [(s.outcome, s.settled) for s in standings(row)] == [("tied", False), ("tied", False), ("slower", True)]


def test_a_row_that_was_never_calm_has_no_order():
    row = [never_calm(measured("a", FIVE)), never_calm(measured("b", [3 * ns for ns in FIVE]))]
    assert [(s.outcome, s.settled, s.pareto) for s in standings(row)] == [("tied", False, False)] * 2


def test_nothing_is_computed_from_a_time_in_doubt():
    row = [never_calm(measured("manual", FIVE, once=1e6)), measured("b", [2 * ns for ns in FIVE], once=1e3)]
    assert [(s.to_hand, s.break_even) for s in standings(row)] == [(None, {}), (None, {})]


def test_engines_may_have_different_numbers_of_processes():
    """Twelve, of which nine were calm, against seven: the rounds that both have, and all that were calm."""
    twelve = measured("a", [1000.0 + k for k in range(12)])
    samples = [watched(sample, calm=4 if sample.process >= 3 else 1) for sample in twelve.samples]
    seven = all_watched(measured("b", [1200.0 + k for k in range(7)]))
    lead, other = standings([msgspec.structs.replace(twelve, samples=samples), seven])
    assert (lead.total_ns, lead.outcome, lead.processes, lead.started) == (1007.0, "fastest", 9, 12)
    assert (other.outcome, other.processes, other.rounds, other.against.processes) == ("slower", 7, 4, (4, 4))
