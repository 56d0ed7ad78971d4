import random

import pytest

from gradmark.gate.configuration import Configuration
from gradmark.gate.pairs import PairedOnce, PairedTimes, paired
from gradmark.gate.timing import holm, judge, judge_again, while_timed
from gradmark.records import Budget, Cell, Code, Measurement, Memory, Phase, Sample, Warning
from gradmark.records.finding import FindingCode

CALM = [100.0, 100.5, 100.2, 101.0, 100.1, 100.7, 100.3, 100.9, 100.4, 100.6, 100.8, 100.25]


def row(slower=1.0, before=CALM, cell="c", phase="total"):
    return PairedTimes(cell, "poly", phase, before, [slower * x for x in reversed(before)])


def scaled(factor, values=CALM):
    return [1000 * factor * x for x in values]


def words(*rows, configuration=None):
    return [finding.word for finding in judge(rows, configuration or Configuration())]


@pytest.mark.parametrize(
    ("slower", "word"), [(1.0, "pass"), (1.02, "pass"), (1.048, "inconclusive"), (1.08, "fail"), (0.9, "improved")]
)
def test_a_calm_machine_decides(slower, word):
    assert words(row(slower, scaled(1))) == [word]


def test_the_budget_of_a_workload_counts():
    strict = Configuration(workloads={"po*": {"time": Budget(share=0.01)}})
    assert words(row(1.02, scaled(1)), configuration=strict) == ["fail"]


def test_a_disturbed_process_decides_nothing():
    disturbed = scaled(1)
    disturbed[3] *= 3
    assert words(PairedTimes("c", "poly", "total", disturbed, scaled(1.10))) == ["fail"]
    assert words(PairedTimes("c", "poly", "total", scaled(1), disturbed)) == ["pass"]


def test_a_noisy_machine_is_in_doubt():
    draw = random.Random(1)
    before, now = ([1000 * draw.uniform(1.0, 2.0) for _ in range(12)] for _ in range(2))
    (finding,) = judge([PairedTimes("c", "poly", "total", before, [1.07 * x for x in now])], Configuration())
    assert (finding.word, finding.code) == ("inconclusive", FindingCode.NEAR)


def test_too_few_pairs_never_fail():
    assert words(PairedTimes("c", "poly", "total", [1000.0, 1000.0], [2000.0, 2000.0])) == ["inconclusive"]


def test_what_is_too_short_is_not_compared():
    (finding,) = judge([row(1.5)], Configuration())
    assert (finding.word, finding.code) == ("not compared", FindingCode.TOO_SHORT)


def test_many_rows_need_more_evidence():
    rows = [PairedTimes(str(k), "poly", "total", scaled(1)[:5], scaled(1.08)[:5]) for k in range(1)]
    assert words(*rows) == ["fail"]  # one in 32 swaps
    calm = [row(1.0, scaled(1)[:5], cell=f"calm {k}") for k in range(5)]
    assert words(*rows, *calm)[0] == "inconclusive"


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def judged_twice(first, again):
    rows, more = [row(first, scaled(1))], [row(again, scaled(1))]
    (finding,) = judge_again(rows, more, Configuration())
    return finding


@pytest.mark.parametrize(
    ("first", "again", "word"),
    [
        (1.08, 1.08, "fail"),
        (1.04, 1.0, "pass"),
        (1.08, 1.0, "inconclusive"),
        (1.048, 1.09, "inconclusive"),
        (1.06, 1.05, "inconclusive"),
    ],
)
def test_both_must_agree(first, again, word):
    assert judged_twice(first, again).word == word


def test_both_are_told():
    finding = judged_twice(1.08, 1.09)
    assert (finding.code, finding.budget) == (FindingCode.OVER, Budget(share=0.05))
    assert finding.ratios == pytest.approx([1.08, 1.09])
    assert (finding.p_value, finding.noise) == pytest.approx((1 / 4096, 0.003), abs=5e-4)


def test_what_is_not_confirmed_is_doubt():
    first = PairedTimes("c", "poly", "total", scaled(1.0), scaled(1.10))
    again = PairedTimes("c", "poly", "total", scaled(1.03), scaled(1.07))  # together beyond the budget, alone not
    (finding,) = judge_again([first], [again], Configuration())
    assert (finding.word, finding.code) == ("inconclusive", FindingCode.UNCONFIRMED)


def test_two_doubtful_measurements_beyond_the_budget_are_proof_together():
    # processes differ by 16 %: twelve of them hide 8 %, twenty-four do not
    before = [92.0 + 16.0 * k / 11.0 for k in range(12)]
    first = PairedTimes("c", "poly", "total", scaled(1.0, before), scaled(1.085, before))
    again = PairedTimes("c", "poly", "total", scaled(1.0, before), scaled(1.084, before))
    found = judge([first], Configuration())
    assert [f.word for f in (*found, *judge([again], Configuration()))] == ["inconclusive"] * 2
    (finding,) = judge_again([first], [again], Configuration())
    assert (finding.word, finding.code) == ("fail", FindingCode.OVER)
    assert finding.ratios == pytest.approx([1.085, 1.084])
    little = PairedTimes("c", "poly", "total", scaled(1.0, before), scaled(1.045, before))
    assert judge_again([first], [little], Configuration())[0].word == "inconclusive"


def measurement(floors, phases=("total",), status="ok", late_ns=None):
    warnings = [] if late_ns is None else [Warning(code=Code.UNFINISHED, numbers={"late_ns": late_ns})]
    samples = [
        Sample(
            process=process,
            phases={phase: Phase(iterations=1, block_ns=[2 * ns, ns]) for phase in phases},
            once_ns={},
            harness_ns=1.0,
            clock_ns=1.0,
            warnings=warnings,
        )
        for process, ns in floors.items()
    ]
    cell = Cell(engine="e", workload="poly", suite="scalar")
    return Measurement(cell=cell, status=status, message="gone", samples=samples, memory=Memory(reason="off"))


def test_what_happens_while_a_row_is_timed():
    fine, late = measurement({0: 1.0}), measurement({0: 1.0}, late_ns=2e6)
    assert while_timed(fine, fine) == while_timed(late, late) == while_timed(late, fine) == []
    (finding,) = while_timed(fine, late)
    assert (finding.metric, finding.word, finding.now) == ("synchronisation", "fail", 2e6)
    (finding,) = while_timed(fine, measurement({0: 1.0}, status="crash"))
    assert (finding.metric, finding.word, finding.detail) == ("status", "inconclusive", "gone")


@pytest.mark.parametrize("status", ["wrong-gradient", "wrong-value", "untimed-work"])
def test_what_turns_out_to_be_wrong_while_it_is_timed_fails(status):
    fine, wrong = measurement({0: 1.0}), measurement({0: 1.0}, status=status)
    (finding,) = while_timed(fine, wrong)
    assert (finding.metric, finding.word, finding.code) == ("status", "fail", FindingCode.STATUS)
    assert (finding.statuses, finding.detail) == (("ok", status), "gone")
    (finding,) = while_timed(wrong, fine)
    assert (finding.word, finding.code) == ("inconclusive", FindingCode.LOST)


def watched(*calm):
    """Samples of which so many of three blocks lie between calm pilots."""
    return [
        Sample(
            process=number,
            phases={
                "total": Phase(
                    iterations=1,
                    block_ns=[1000.0] * 3,
                    pilots={"core": [(10.0, 10.0)] * count + [(10.0, 16.0)] * (3 - count)},
                    reference={"core": 10.0},
                )
            },
            once_ns={},
            harness_ns=0.0,
            clock_ns=1.0,
        )
        for number, count in enumerate(calm)
    ]


def test_calm_blocks_are_compared_with_calm_blocks():
    cell = Cell(engine="e", workload="w", suite="s")
    before = Measurement(cell=cell, status="ok", samples=watched(3, 3, 0, 3))
    now = Measurement(cell=cell, status="ok", samples=watched(3, 0, 3, 3))
    (pairs,) = paired(before, now, range(4))
    assert (pairs.phase, pairs.before, pairs.now) == ("total", [1000.0] * 2, [1000.0] * 2)


def test_a_row_that_was_never_calm_is_inconclusive_and_not_left_out():
    cell = Cell(engine="e", workload="w", suite="s")
    before = Measurement(cell=cell, status="ok", samples=watched(0, 3))
    now = Measurement(cell=cell, status="ok", samples=watched(3, 0))
    (pairs,) = paired(before, now, range(2))
    (found,) = judge([pairs], Configuration())
    assert (found.word, found.code, found.now) == ("inconclusive", FindingCode.NEVER_CALM, None)
    calm = PairedTimes(pairs.cell, pairs.workload, "total", [1000.0] * 12, [1200.0] * 12)
    (again,) = judge_again([pairs], [calm], Configuration())
    assert (again.word, again.ratios) == ("inconclusive", [1.2])


# --- what happens once in a process

MS = 1e6
# Processes of a busy machine: what is once has a long tail.
TAILED = [30 * MS * factor for factor in (1.0, 1.1, 0.9, 1.0, 3.0, 1.05, 1.2, 0.95, 1.0, 1.1, 5.0, 1.0)]


def once(added_ns=0.0, metric="prepare", before=TAILED, cell="c"):
    return PairedOnce(cell, "poly", metric, before, [ns + added_ns for ns in before])


@pytest.mark.parametrize("metric", ["import", "prepare", "first_call"])
@pytest.mark.parametrize(("added_ms", "word"), [(0, "pass"), (40, "pass"), (200, "fail"), (-90, "improved")])
def test_200_ms_more_fail_and_40_do_not(metric, added_ms, word):
    before = [100 * MS + ns for ns in TAILED]
    assert words(once(added_ms * MS, metric, before)) == [word]


def test_200_ms_more_in_a_second_fail():
    assert words(once(200 * MS, before=[33 * ns for ns in TAILED])) == ["fail"]


def test_what_is_once_needs_more_than_a_few_slow_processes():
    now = [ns + (500 * MS if k < 5 else 0.0) for k, ns in enumerate(TAILED)]
    (finding,) = judge([PairedOnce("c", "poly", "prepare", TAILED, now)], Configuration())
    assert finding.word != "fail"


def test_what_is_once_does_not_take_evidence_from_phases():
    """Their p-values are corrected apart: five pairs prove a slower row whatever is known of imports."""
    slower = PairedTimes("c", "poly", "total", scaled(1)[:5], scaled(1.08)[:5])
    assert words(slower, *(once(cell=str(k)) for k in range(9)))[0] == "fail"


def test_noise_of_one_row_says_nothing_of_another_that_is_once():
    """A prepare of a few microseconds varies by half; one of a second does not."""
    short = [PairedOnce(str(k), "poly", "prepare", [1e3, 2e3] * 6, [2e3, 1e3] * 6) for k in range(3)]
    (*_, finding) = judge([*short, once(200 * MS, before=[1e9] * 12)], Configuration())
    assert (finding.word, finding.noise) == ("fail", 0.0)


def test_what_is_once_is_judged_again_as_such():
    (finding,) = judge_again([once(200 * MS)], [once(210 * MS)], Configuration())
    assert (finding.word, finding.code, finding.metric) == ("fail", FindingCode.OVER, "prepare")
    assert finding.before == pytest.approx(30.75 * MS, rel=0.1)
    assert str(finding.budget) == "10% + 50ms"
    (finding,) = judge_again([once(200 * MS)], [once(0.0)], Configuration())
    assert finding.word != "fail"
