"""Hypotheses on measurements made by hand: supported, refuted, undecided, not measured."""

import doctest

import msgspec
import pytest
from oracles.watched import all_watched, never_calm, watched

from gradmark.analyse import hypotheses
from gradmark.analyse.hypotheses import BUILT_IN, LEAST_ROUNDS, Arm, Hypothesis, judge, lacks_rounds, matches
from gradmark.engines import discovery
from gradmark.errors import GradmarkError
from gradmark.records import Cell, Measurement, Memory, Phase, Sample, TapeSize
from gradmark.workloads.selection import select


def hypothesis(metric="total", **params):
    return Hypothesis("h", "second is less", Arm("a", "w", metric, params), Arm("b", "w", metric, params))


def timed(engine, floors, phase="total", first=0, **more):
    samples = [
        Sample(
            process=first + number,
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
    assert found.evidence == [
        "w on a: total 100 ns, w on b: total 50 ns",
        "2.00 times as fast (round by round 2.00 to 2.00, a 97 % interval)",
    ]


def test_refuted():
    found = verdict(timed("a", SIX), timed("b", [2 * x + x % 3 for x in SIX]))
    assert found.verdict == "refuted"
    assert found.evidence[1] == "2.01 times as long (round by round 2.00 to 2.02, a 97 % interval)"


def test_undecided_if_the_rounds_do_not_agree():
    found = verdict(timed("a", SIX), timed("b", [99.0, 103.0, 100.0, 102.0, 99.0, 104.0]))
    assert found.verdict == "undecided"
    assert found.evidence[1:] == [
        "1.01 times as fast (round by round 0.98 to 1.02, a 97 % interval)",
        "the rounds do not agree (sign test, p = 1)",
    ]


def test_undecided_if_the_times_shown_say_otherwise():
    found = verdict(timed("a", [*SIX, 10.0]), timed("b", [x / 2 for x in SIX]))
    assert (found.verdict, found.evidence[-1]) == (
        "undecided",
        "the rounds and the times shown disagree",
    )


def test_unequal_rounds_are_matched_by_process_number():
    # Seven rounds against eight, and the first of the second arm was lost: six are pairs.
    second = [x / 2 for x in SIX]
    found = verdict(timed("a", [999.0, *SIX]), timed("b", [*second, 60.0, 60.0], first=1))
    assert (found.verdict, found.evidence[1]) == (
        "supported",
        "2.00 times as fast (round by round 2.00 to 2.00, a 97 % interval)",
    )
    found = verdict(timed("a", SIX), timed("b", second, first=50))
    assert (found.verdict, found.evidence[1:]) == (
        "undecided",
        ["2.00 times as fast", "no round has total of both: it was computed, not timed by itself"],
    )


@pytest.mark.parametrize(
    ("first", "second", "expected", "words"),
    [
        (5, 0, "supported", "none instead of 5"),
        (0, 5, "refuted", "5 instead of none"),
        (0, 0, "refuted", "the same"),
        (2, 5, "refuted", "2.50 times as many"),
    ],
)
def test_counts_are_exact(first, second, expected, words):
    arms = [counted(e, memory=Memory(allocations=float(n))) for e, n in (("a", first), ("b", second))]
    found = verdict(*arms, metric="allocations")
    assert (found.verdict, found.evidence[1:]) == (expected, [words])


def test_tape_and_bytes():
    arms = [
        counted(e, tape=TapeSize(instructions=n), memory=Memory(peak_bytes=n)) for e, n in (("a", 2048), ("b", 1024))
    ]
    for name in ("tape", "tape_instructions"):  # an older name still works
        assert verdict(*arms, metric=name).evidence == [
            "w on a: tape 2048, w on b: tape 1024",
            "2.00 times fewer",
        ]
    assert verdict(*arms, metric="peak_bytes").evidence == [
        "w on a: peak 2.00 KiB, w on b: peak 1.00 KiB",
        "2.00 times less",
    ]


def test_every_metric_that_is_counted_or_timed_can_be_claimed():
    arms = [counted(e, memory=Memory(retained_bytes=n)) for e, n in (("a", 5), ("b", 3))]
    assert verdict(*arms, metric="retained_bytes").verdict == "supported"


def test_the_size_is_part_of_an_arm():
    found = judge(hypothesis(n=3), [timed("a", SIX), timed("b", SIX)])
    assert (found.verdict, found.evidence) == (
        "not measured",
        ["w/n=3 on a was not measured", "w/n=3 on b was not measured"],
    )
    assert matches(Arm("a", "w", "total", {"n": 3}), Cell(engine="a", workload="w", suite="s", params={"n": 3}))


@pytest.mark.parametrize(
    ("second", "metric", "evidence"),
    [
        (Measurement(cell=Cell(engine="b", workload="w", suite="s"), status="crash", message="SIGSEGV"), "total",
         "w on b: crash: SIGSEGV"),
        (timed("b", SIX, phase="primal"), "total", "w on b has no total: the engine only evaluates"),
        (timed("b", SIX), "allocations", "w on b has no allocs: not measured"),
        (timed("b", SIX, memory=Memory(reason="no memray")), "allocations", "w on b has no allocs: no memray"),
        (timed("b", SIX), "tape", "w on b has no tape: the engine does not report it"),
        (timed("c", SIX), "total", "w on b was not measured"),
    ],
)  # fmt: skip
def test_not_measured(second, metric, evidence):
    first = timed("a", SIX, tape=TapeSize(instructions=1), memory=Memory(allocations=1.0))
    found = verdict(first, second, metric)
    assert (found.verdict, found.evidence) == ("not measured", [evidence])


@pytest.mark.parametrize("built_in", BUILT_IN, ids=lambda h: h.name)
def test_the_arms_of_the_built_in_ones_exist(built_in):
    for arm in (built_in.first, built_in.second):
        assert discovery.exists(arm.engine)
        (workload,) = select([arm.workload])
        assert dict(arm.params) in workload.points()


def test_the_names_of_the_built_in_ones():
    assert [h.name for h in BUILT_IN] == ["reuse-allocations", "reuse-time", "filtering", "replay", "backward"]


def test_few_processes_decide_nothing_about_time():
    assert LEAST_ROUNDS == 6
    found = verdict(timed("a", [100.0]), timed("b", [50.0]))
    assert found.verdict == "undecided"
    assert found.evidence[1:] == ["2.00 times as fast (one round)", "1 calm round: 6 or more can decide"]
    found = verdict(timed("a", [100.0] * 3), timed("b", [50.0, 40.0, 80.0]))
    assert found.verdict == "undecided"
    assert found.evidence[1:] == [
        "2.50 times as fast (round by round 1.25 to 2.50, the range of 3)",
        "3 calm rounds: 6 or more can decide",
    ]


def test_a_part_that_was_computed_has_no_rounds():
    samples = [
        Sample(
            process=k,
            phases={name: Phase(iterations=1, block_ns=[ns]) for name, ns in (("forward", 60.0), ("total", 100.0))},
            once_ns={},
            harness_ns=0.0,
            clock_ns=1.0,
        )
        for k in range(6)
    ]
    m = Measurement(cell=Cell(engine="a", workload="w", suite="s"), status="ok", samples=samples)
    claim = Hypothesis("h", "backward is less", Arm("a", "w", "forward"), Arm("a", "w", "backward"))
    found = judge(claim, [m])
    assert (found.verdict, found.evidence[-1]) == (
        "undecided",
        "no round has backward of both: it was computed, not timed by itself",
    )


@pytest.mark.parametrize("name", ["totl", "spread"])
def test_an_unknown_metric_is_an_error_that_lists_the_names(name):
    with pytest.raises(GradmarkError, match=f"got '{name}'. Choose one of: primal, forward, .*allocations.*first_call"):
        Arm("a", "w", name)


def test_examples_run():
    assert doctest.testmod(hypotheses) == (0, 2)


def test_a_machine_that_was_never_calm_decides_nothing_about_time():
    found = verdict(all_watched(timed("a", SIX)), never_calm(timed("b", [x / 2 for x in SIX])))
    assert found.verdict == "undecided"
    assert found.evidence == [
        "w on a: total 101 ns, w on b: total 50.5 ns",
        "2.00 times as fast",
        "the machine was never calm while it timed w on b; measure again",
    ]
    arms = [never_calm(counted(engine, memory=Memory(allocations=n))) for engine, n in (("a", 9.0), ("b", 2.0))]
    assert verdict(*arms, metric="allocations").verdict == "supported"


def test_only_rounds_in_which_both_were_calm_are_pairs():
    """Nine rounds against seven, and two of the first arm were slow."""
    first, second = timed("a", [100.0 + k for k in range(9)]), all_watched(timed("b", [50.0] * 7))
    samples = [watched(sample, calm=4 if sample.process > 1 else 0) for sample in first.samples]
    found = verdict(msgspec.structs.replace(first, samples=samples), second)
    assert (found.verdict, found.evidence[-1]) == ("undecided", "5 calm rounds: 6 or more can decide")


def test_rounds_that_were_not_calm_are_to_be_made_up_for():
    six, slow = timed("a", SIX), all_watched(timed("b", SIX))
    short = msgspec.structs.replace(slow, samples=[watched(slow.samples[0], calm=0), *slow.samples[1:]])
    assert not lacks_rounds(hypothesis(), [six, slow])
    assert lacks_rounds(hypothesis(), [six, short])
    assert lacks_rounds(hypothesis(), [six, never_calm(slow)])
    assert not lacks_rounds(hypothesis("allocations"), [counted("a"), counted("b")])
    assert not lacks_rounds(hypothesis(), [six])
