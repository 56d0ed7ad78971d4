"""Hypotheses on measurements made by hand: supported, refuted, undecided, not measured."""

import pytest

from gradmark.analyse.hypotheses import BUILT_IN, PHASES, Arm, Hypothesis, judge, matches
from gradmark.engines import discovery
from gradmark.errors import GradmarkError
from gradmark.records import Cell, Measurement, Memory, Phase, Sample, TapeSize
from gradmark.workloads.selection import select


def hypothesis(metric="total", **params):
    return Hypothesis("h", "second is less", Arm("a", "w", metric, params), Arm("b", "w", metric, params))


def timed(engine, floors, phase="total", **more):
    samples = [
        Sample(
            process=number,
            phases={phase: Phase(how="measured", iterations=1, block_ns=[floor + 5.0, floor])},
            once_ns={},
            harness_ns=1.0,
            clock_ns=1.0,
        )
        for number, floor in enumerate(floors)
    ]
    return Measurement(cell=Cell(engine=engine, workload="w", suite="s"), status="ok", samples=samples, **more)


def counted(engine, **more):
    return timed(engine, [1.0], **more)


def verdict(first, second, metric="total"):
    return judge(hypothesis(metric), [first, second])


SIX = [100.0, 101.0, 102.0, 100.0, 101.0, 102.0]


def test_supported():
    found = verdict(timed("a", SIX), timed("b", [x / 2 for x in SIX]))
    assert (found.claim, found.verdict, found.engine) == ("second is less", "supported", "b")
    assert found.evidence == "a w total 100 ns, b w total 50 ns: second is 0.5 × first"


def test_refuted():
    found = verdict(timed("a", SIX), timed("b", [2 * x + x % 3 for x in SIX]))
    assert found.verdict == "refuted"
    assert "second is 2.01 × first (" in found.evidence


def test_undecided_if_the_interval_holds_one():
    found = verdict(timed("a", SIX), timed("b", [99.0, 103.0, 100.0, 102.0, 99.0, 104.0]))
    assert found.verdict == "undecided"


@pytest.mark.parametrize(("first", "second", "expected"), [(5, 0, "supported"), (0, 5, "refuted"), (0, 0, "refuted")])
def test_counts_are_exact(first, second, expected):
    arms = [counted(e, memory=Memory(allocations=float(n))) for e, n in (("a", first), ("b", second))]
    assert verdict(*arms, metric="allocations").verdict == expected


def test_tape_and_bytes():
    arms = [
        counted(e, tape=TapeSize(instructions=n), memory=Memory(peak_bytes=n)) for e, n in (("a", 2048), ("b", 1024))
    ]
    assert verdict(*arms, metric="tape").evidence == "a w tape 2048, b w tape 1024: second is 0.5 × first"
    assert verdict(*arms, metric="peak_bytes").evidence == (
        "a w peak_bytes 2.00 KiB, b w peak_bytes 1.00 KiB: second is 0.5 × first"
    )


def test_the_size_is_part_of_an_arm():
    found = judge(hypothesis(n=3), [timed("a", SIX), timed("b", SIX)])
    assert (found.verdict, found.evidence) == ("not measured", "w a was not measured")
    assert matches(Arm("a", "w", "total", {"n": 3}), Cell(engine="a", workload="w", suite="s", params={"n": 3}))


@pytest.mark.parametrize(
    ("second", "metric", "evidence"),
    [
        (Measurement(cell=Cell(engine="b", workload="w", suite="s"), status="crash", message="SIGSEGV"), "total",
         "w b: crash: SIGSEGV"),
        (timed("b", SIX, phase="primal"), "total", "b has no total"),
        (timed("b", SIX), "allocations", "b has no allocations"),
        (timed("b", SIX, memory=Memory(reason="no memray")), "allocations", "b has no allocations: no memray"),
        (timed("b", SIX), "tape", "b has no tape"),
        (timed("c", SIX), "total", "w b was not measured"),
    ],
)  # fmt: skip
def test_not_measured(second, metric, evidence):
    first = timed("a", SIX, tape=TapeSize(instructions=1), memory=Memory(allocations=1.0))
    found = verdict(first, second, metric)
    assert (found.verdict, found.evidence) == ("not measured", evidence)


@pytest.mark.parametrize("built_in", BUILT_IN, ids=lambda h: h.name)
def test_the_arms_of_the_built_in_ones_exist(built_in):
    for arm in (built_in.first, built_in.second):
        assert discovery.exists(arm.engine)
        (workload,) = select([arm.workload])
        assert dict(arm.params) in workload.points()
        assert arm.metric in (*PHASES, "allocations", "tape", "peak_bytes")


def test_the_names_of_the_built_in_ones():
    assert [h.name for h in BUILT_IN] == ["reuse-allocations", "reuse-time", "filtering", "replay", "backward"]


def test_one_process_decides_nothing_about_time():
    found = verdict(timed("a", [100.0]), timed("b", [50.0]))
    assert found.verdict == "undecided"
    assert found.evidence.endswith("; 6 processes or more can decide")


def test_three_processes_do_not_decide_a_small_difference():
    assert verdict(timed("a", [100.0] * 3), timed("b", [99.9, 99.7, 99.8])).verdict == "undecided"


def test_an_unknown_metric_is_an_error_with_a_message():
    arms = [counted(e, memory=Memory(allocations=1.0)) for e in "ab"]
    with pytest.raises(GradmarkError):
        verdict(*arms, metric="totl")
