"""Standings: the fastest, ties, the floor, the front and what a first call pays back, on recorded numbers."""

import pytest

from gradmark.analyse.standings import pays_back, rows_of, standings, with_pay_back
from gradmark.records import Accuracy, Cell, Measurement, Memory, Phase, Sample


def measured(engine, totals, *, status="ok", peak=1000, error=1e-16, once=0.0, **cell):
    samples = [
        Sample(
            process=k,
            phases={"total": Phase(how="measured", iterations=1, block_ns=[ns, ns + 1])},
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


def test_ratios_to_the_fastest_and_to_the_floor():
    found = standings([measured("a", [100, 110]), measured("b", [300, 330]), measured("manual", [200, 220])])
    assert [(s.engine, s.to_fastest, s.to_floor, s.first) for s in found] == [
        ("a", 1.0, 0.5, True),
        ("b", 3.0, 1.5, False),
        ("manual", 2.0, 1.0, False),
    ]


@pytest.mark.parametrize(
    ("totals", "tied"),
    [
        ([94.0, 94.0, 94.0], True),  # within 5 %
        ([120.0, 99.0, 96.0], True),  # slower in two rounds, faster in one: the interval holds 1
        ([110.0, 112.0, 111.0], False),
    ],
)
def test_ties(totals, tied):
    found = standings([measured("a", [100.0, 100.0, 90.0]), measured("b", totals)])
    assert [s.first for s in found] == [True, tied]


def test_who_failed_has_no_standing():
    rows = [measured("a", [100]), measured("b", [], status="unsupported"), measured("c", [])]
    assert [s.engine for s in standings(rows)] == ["a"]
    assert standings(rows[1:]) == []


def test_the_front_is_of_time_memory_and_digits():
    found = standings(
        [
            measured("fast", [100], peak=3000),
            measured("small", [200], peak=1000),
            measured("beaten", [300], peak=3000),
            measured("accurate", [400], peak=5000, error=1e-18),
            measured("rough", [50], peak=9000, error=1e-6),
        ]
    )
    # 1e-16 and less are as many digits as a double has
    assert [s.engine for s in found if s.on_front] == ["fast", "small", "rough"]


@pytest.mark.parametrize(
    ("ours", "theirs", "calls"),
    [((1000, 10), (100, 40), 30), ((100, 10), (1000, 40), 0), ((1000, 40), (100, 10), None), ((0, 9), (0, 9), 0)],
)
def test_pay_back(ours, theirs, calls):
    assert pays_back(*ours, *theirs) == calls


def test_pay_back_against_each_other_engine():
    found = with_pay_back(standings([measured("jit", [10], once=9010.0), measured("eager", [100], once=10.0)]))
    assert [s.pays_back for s in found] == [{"eager": 100}, {"jit": None}]


def test_rows_are_what_did_the_same_work():
    cells = [("a", "float64"), ("b", "float64"), ("a", "float32")]
    found = rows_of([measured(e, [1], dtype=d, params={"n": 3}) for e, d in cells])
    assert {name: [m.cell.engine for m in members] for name, members in found.items()} == {
        "w/n=3": ["a", "b"],
        "w/n=3/float32": ["a"],
    }
