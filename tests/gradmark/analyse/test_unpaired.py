"""Two runs cell by cell: two samples of all their processes, verdicts only where both statistics say the same."""

import doctest
import itertools
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.watched import all_watched, never_calm, watched
from scipy import stats

from gradmark.analyse import unpaired
from gradmark.analyse.unpaired import Change, compare, differences, environments, rank_test, verdict
from gradmark.records import Accuracy, Cell, Environment, Measurement, Memory, Phase, Run, Sample, Settings, TapeSize

HERE = Environment(cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={"numpy": "2.0"}, commit="a" * 40)
FIVE = [1000.0, 1010.0, 1020.0, 1030.0, 1040.0]


def measured(times, *, phase="total", status="ok", engine="e", **more):
    samples = [
        Sample(process=k, phases={phase: Phase(iterations=1, block_ns=[ns, ns + 1])}, once_ns={}, harness_ns=0.0,
               clock_ns=1.0)
        for k, ns in enumerate(times)
    ]  # fmt: skip
    known = {"memory": Memory(allocations=0.0, peak_bytes=1000), "tape": TapeSize(instructions=3), **more}
    cell = Cell(engine=engine, workload="w", suite="s", params={"n": 3})
    return Measurement(cell=cell, status=status, samples=samples, **known)


def run(*measurements, environment=HERE, **settings):
    return Run(id="r", started="", environment=environment, settings=Settings(**settings), measurements=measurements)


def difference(old, new):
    (only,) = differences(run(old), run(new))
    return only


@pytest.mark.parametrize(
    ("times", "word", "reason"),
    [
        ([1200.0, 1210.0, 1220.0, 1230.0, 1240.0], "slower", ""),
        ([800.0, 810.0, 820.0, 830.0, 840.0], "faster", ""),
        ([1045.0, 1046.0, 1047.0, 1048.0, 1049.0], "no difference", ""),  # all slower, by less than two sessions differ
        ([990.0, 1010.0, 1030.0, 1035.0, 1041.0], "no difference", ""),
        ([900.0, 1005.0, 1015.0, 1025.0, 1035.0], "undecided",
         "the times differ, but the processes of the two runs overlap"),
        ([1001.0, 1500.0, 1510.0, 1520.0, 1530.0], "no difference", ""),  # the interval reaches 1
        ([940.0] + [1100.0] * 20, "undecided",
         "the times changed, but most processes did not change with them"),
        ([1001.0] + [1300.0] * 20, "undecided",
         "the processes differ, but the times shown do not: one run may have been disturbed"),
        ([1055.0, 1056.0, 1057.0, 1058.0, 1059.0], "undecided",
         "the times changed, but most processes did not change with them"),  # by 5.5 and by 3.6 %
        ([1065.0, 1085.0, 1090.0, 1095.0, 1099.0], "undecided",
         "with fewer than 10 processes, changes below 7 % are not judged"),
        ([2000.0] * 3, "undecided", "3 calm processes in a run; 4 or more can decide"),
        ([2000.0], "undecided", "1 calm process in a run; 4 or more can decide"),
    ],
)  # fmt: skip
def test_verdicts(times, word, reason):
    seen = difference(measured(FIVE), measured(times))
    assert (seen.cell.row, seen.verdict, seen.reason) == ("w/n=3", word, reason)
    assert (seen.time.first, seen.time.second, seen.time.ratio) == (1000.0, min(times), min(times) / 1000.0)
    assert seen.time.processes == (5, len(times))


def test_ten_processes_see_what_five_do_not():
    old = [1000.0 + 2 * k for k in range(10)]
    assert difference(measured(old[:5]), measured([1.06 * ns for ns in old[:5]])).verdict == "undecided"
    assert difference(measured(old), measured([1.06 * ns for ns in old])).verdict == "slower"


def test_the_order_of_processes_does_not_matter():
    mixed = [FIVE[k] for k in (3, 0, 4, 1, 2)]
    assert compare("total", mixed, FIVE[::-1]) == compare("total", FIVE, FIVE)


def test_ranks_are_not_pairs():
    # Sorted and matched by rank, all of these are slower, by 5 % or more: the old rule said "slower" with certainty.
    old, new = [1000.0, 1100.0, 1200.0, 1300.0, 1400.0], [1060.0, 1170.0, 1270.0, 1370.0, 1480.0]
    assert all(a * 1.05 < b for a, b in zip(sorted(old), sorted(new), strict=True))
    seen = difference(measured(old), measured(new))
    assert (seen.verdict, seen.time.low < 1.0 < seen.time.high) == ("undecided", True)


@pytest.mark.parametrize(("n", "m"), [(4, 4), (5, 5), (10, 4), (5, 20)])
def test_equal_runs_are_told_apart_no_more_often_than_the_level_and_the_interval_holds_one(n, m):
    draw = np.random.default_rng(n + 100 * m)
    alarms = held = 0
    for _ in range(300):
        old, new = (1000 * draw.lognormal(0.0, 0.05, size) for size in (n, m))
        time = compare("total", old.tolist(), new.tolist())
        alarms += verdict(time)[0] in ("slower", "faster")
        held += time.low <= 1.0 <= time.high
    assert alarms <= 0.05 * 300  # benchmarks/statistics.py has the figures
    assert held >= 0.94 * 300


def test_all_processes_count_not_as_many_as_the_shorter_run_has():
    # The shortest three of ten are faster than three of three by chance alone; cutting called that "slower".
    old, new = [1000.0 + 10 * k for k in range(10)], [1060.0, 1070.0, 1080.0, 1075.0]
    seen = difference(measured(old), measured(new))
    assert seen.time.processes == (10, 4)
    assert seen.time.p_value == stats.mannwhitneyu(old, new, method="exact").pvalue
    assert seen.verdict == "undecided"


def test_the_interval_is_the_inverse_of_the_test():
    draw = np.random.default_rng(2)
    for n, m in itertools.product((4, 5, 7), repeat=2):
        old, new = draw.lognormal(0.0, 0.1, n).tolist(), draw.lognormal(0.12, 0.1, m).tolist()
        time = compare("total", old, new)
        assert (time.low > 1.0 or time.high < 1.0) == (time.p_value <= 1.0 - 0.95)
        for bound, outward in ((time.low, 0.999), (time.high, 1.001)):
            assert rank_test([bound * outward * x for x in old], new) <= 0.05
            assert rank_test([bound / outward * x for x in old], new) > 0.05


@given(st.lists(st.floats(10, 1e6), min_size=1, max_size=6), st.lists(st.floats(10, 1e6), min_size=1, max_size=6))
def test_swapped_runs_give_the_inverse(old, new):
    there, back = compare("total", old, new), compare("total", new, old)
    assert (there.low, there.high) == pytest.approx((1 / back.high, 1 / back.low))
    assert there.typical == pytest.approx(1 / back.typical)
    assert there.p_value == pytest.approx(back.p_value)
    assert there.coverage == back.coverage
    opposite = {"faster": "slower", "slower": "faster"}
    assert verdict(there)[0] == opposite.get(verdict(back)[0], verdict(back)[0])


def test_three_processes_have_a_range():
    time = compare("total", FIVE[:3], FIVE[:3])
    assert (time.coverage, time.is_interval) == (0.9, False)
    assert compare("total", FIVE[:4], FIVE[:4]).is_interval


@pytest.mark.parametrize("times", [[4.0, 4.1, 4.2, 4.3], [-1.0, 0.0, 0.1, 0.2]])
def test_what_is_no_longer_than_the_harness_is_not_judged(times):
    seen = difference(measured([8.0, 8.1, 8.2, 8.3]), measured(times))
    assert (seen.verdict, seen.reason) == ("undecided", "too short: an empty call is only known to within 5 ns")
    # 60 against 64 ns: more than 5 %, and less than what is left of an empty call
    assert difference(measured([60.0, 60.1, 60.2, 60.3]), measured([64.0, 64.1, 64.2, 64.3])).verdict == "no difference"


def test_engines_that_only_evaluate_are_compared_by_primal():
    slower = [2 * ns for ns in FIVE]
    seen = difference(measured(FIVE, phase="primal"), measured(slower, phase="primal"))
    assert (seen.verdict, seen.time.metric) == ("slower", "primal")


def test_times_of_another_machine_are_shown_and_not_judged():
    other = msgspec.structs.replace(HERE, cpu="d", packages={"numpy": "2.1", "torch": "2.13"}, commit=None)
    old, new = run(measured(FIVE)), run(measured([3 * ns for ns in FIVE]), environment=other, threads=2)
    assert environments(old, new) == (
        ["cpu: c, d", "old uses 1 thread, new uses 2 threads"],
        ["numpy: 2.0, 2.1", "torch: none, 2.13", "commit: aaaaaaaaaa, none"],
    )
    (seen,) = differences(old, new)
    assert (seen.verdict, seen.time.ratio) == ("not judged", 3.0)


def test_every_exact_metric_of_the_registry_is_compared():
    before = measured(FIVE, accuracy=Accuracy(reference="r", relative_error=1e-16, tolerance=1e-9))
    after = measured(
        FIVE,
        memory=Memory(allocations=12.0, peak_bytes=2000, leaked_bytes=8.0),
        tape=None,
        accuracy=Accuracy(reference="r", relative_error=1e-12, tolerance=1e-9),
    )
    assert difference(before, after).changes == [
        Change(metric="allocations", old=0.0, new=12.0),
        Change(metric="leaked_bytes", old=None, new=8.0),
        Change(metric="peak_bytes", old=1000, new=2000),
        Change(metric="tape_instructions", old=3, new=None),
        Change(metric="gradient_error", old=1e-16, new=1e-12),
    ]


def test_what_moves_by_itself_is_no_change():
    near = measured(FIVE, memory=Memory(allocations=0.0, peak_bytes=1010))
    assert difference(measured(FIVE), near).changes == []


def test_a_failure_is_a_change_of_status():
    seen = difference(measured(FIVE), measured([], status="wrong-gradient"))
    assert (seen.verdict, seen.reason, seen.time) == ("undecided", "no time in both: ok, then wrong-gradient", None)
    assert seen.changes == [Change(metric="status", old="ok", new="wrong-gradient")]


def test_cells_of_one_run_alone():
    rows = differences(run(measured(FIVE, engine="a")), run(measured(FIVE, engine="b")))
    assert [(d.cell.engine, d.verdict, d.reason) for d in rows] == [
        ("a", "not in both", "the newer run does not have it"),
        ("b", "not in both", "the older run does not have it"),
    ]


def test_many_processes_take_no_time():
    time = compare("total", [1000.0 + k for k in range(120)], [1100.0 + k for k in range(120)])
    assert verdict(time)[0] == "slower"
    assert math.isfinite(time.p_value)


def test_examples_run():
    assert doctest.testmod(unpaired) == (0, 3)


# --- what the machine did


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        (never_calm, all_watched, "the older"),
        (all_watched, never_calm, "the newer"),
        (never_calm, never_calm, "either"),
    ],
)
def test_a_machine_that_was_never_calm_decides_nothing(before, after, where):
    seen = difference(before(measured(FIVE)), after(measured([2 * ns for ns in FIVE])))
    assert (seen.verdict, seen.reason) == ("undecided", f"the machine was never calm in {where} run")
    assert (seen.time.ratio, seen.time.calm) == (2.0, (before is all_watched, after is all_watched))


@pytest.mark.parametrize(
    ("ratio", "slowed", "word", "reason"),
    [
        (1.20, 1.0, "slower", ""),
        (1.20, 1.004, "slower", ""),
        (1.20, 1.04, "slower", ""),  # by 15 % of its own
        (1.08, 1.04, "undecided", "the machine itself was 4 % slower"),
        (1.60, 1.60, "undecided", "the machine itself was 60 % slower"),
        (0.80, 0.90, "faster", ""),
        (0.90, 0.92, "undecided", "the machine itself was 8 % faster"),
        (1.00, 0.92, "undecided", "the machine itself was 8 % faster"),  # as fast on a faster machine
        (1.00, 1.03, "no difference", ""),
        (1.20, 1.50, "undecided", "the machine itself was 50 % slower"),
    ],
)
def test_what_the_machine_explains_is_not_the_row_s(ratio, slowed, word, reason):
    old, new = all_watched(measured(FIVE)), all_watched(measured([ratio * ns for ns in FIVE]), core_ns=10.0 * slowed)
    seen = difference(old, new)
    assert (seen.verdict, seen.reason, seen.machine) == (word, reason, pytest.approx(slowed))
    assert seen.time.ratio == pytest.approx(ratio)  # what is shown is what was measured


def test_without_pilots_the_machine_is_not_known():
    seen = difference(measured(FIVE), all_watched(measured([2 * ns for ns in FIVE])))
    assert (seen.verdict, seen.machine) == ("slower", None)


def test_runs_of_six_and_of_twelve_processes():
    """Only those that were calm count, and the fewer of the two decide how much is asked."""
    old, new = measured([1000.0 + k for k in range(12)]), all_watched(measured([1100.0 + k for k in range(6)]))
    samples = [watched(sample, calm=1 if sample.process == 0 else 4) for sample in old.samples]
    seen = difference(msgspec.structs.replace(old, samples=samples), new)
    assert (seen.verdict, seen.time.processes, seen.time.first) == ("slower", (11, 6), 1006.0)
    assert seen.time.p_value == pytest.approx(2 / math.comb(17, 6))


def test_times_whose_ratio_is_no_number():
    """Seen: `math domain error` for a run file with a block of 1e-320 ns."""
    found = compare("total", [1e-320, 5.0], [6.0, 7.0])
    assert (found.typical, found.p_value) == (None, 1.0)
