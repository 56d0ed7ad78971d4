"""Two arms of interleaved rounds: ratio, interval, p-value, rounds that one arm lacks, and runs that do not compare."""

import doctest
import math
import subprocess
import sys
from statistics import median

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradmark.analyse import paired
from gradmark.analyse.paired import compare, rounds, sign_test, unlike
from gradmark.errors import GradmarkError
from gradmark.records import Cell, Comparison, Environment, Measurement, Phase, Run, Sample, Settings
from gradmark.records.metric import metric

COUNTS = st.one_of(st.integers(-2, 5), st.floats(1e-3, 1e6))
ARMS = st.dictionaries(st.integers(0, 8), COUNTS, min_size=1)


def arm(*values):
    return dict(enumerate(values))


def test_every_round_slower_by_a_tenth():
    first = [100.0, 120.0, 110.0, 105.0, 130.0, 115.0, 125.0, 101.0]
    seen = compare("total", arm(*first), arm(*(1.1 * ns for ns in first)))
    assert (seen.metric, seen.first, seen.second, seen.processes) == (
        "total",
        112.5,
        pytest.approx(1.1 * 112.5),
        (8, 8),
    )
    assert (seen.ratio, seen.typical, seen.low, seen.high) == pytest.approx((1.1, 1.1, 1.1, 1.1))
    assert (seen.p_value, seen.coverage, seen.is_interval) == (2 / 2**8, 1 - 2 / 2**8, True)


def test_pairs_cancel_what_a_round_has_in_common():
    # The machine slows down tenfold over the rounds. Unpaired, 2 % would drown in it.
    ten = [100.0 * 1.3**index for index in range(10)]
    seen = compare("total", arm(*ten), arm(*(1.02 * ns for ns in ten)))
    assert seen.p_value == 2 / 2**10
    assert (seen.low, seen.high) == pytest.approx((1.02, 1.02))


def test_rounds_are_matched_by_process_number():
    # In ascending order the second is 10 % slower throughout; round by round it is now faster, now slower.
    first, second = {0: 100.0, 1: 110.0, 2: 120.0}, {2: 110.0, 1: 121.0, 0: 132.0}
    seen = compare("total", first, second)
    assert (seen.low, seen.typical, seen.high) == pytest.approx((110 / 120, 1.1, 1.32))


def test_rounds_that_one_arm_lacks_are_left_out():
    seen = compare("total", {0: 100.0, 1: 100.0, 2: 90.0, 7: 100.0}, {1: 150.0, 2: 135.0, 3: 60.0})
    assert (seen.low, seen.high, seen.processes) == (1.5, 1.5, (2, 2))
    assert (seen.first, seen.second, seen.ratio) == (100.0, 135.0, 1.35)  # the numbers that are shown are of all


def test_arms_without_a_common_round_have_a_ratio_and_no_interval():
    seen = compare("total", {0: 100.0}, {1: 150.0})
    assert seen == Comparison(metric="total", first=100.0, second=150.0, ratio=1.5)
    assert (seen.low, seen.p_value, seen.is_interval) == (None, 1.0, False)


def test_the_ratio_is_that_of_the_numbers_shown():
    assert compare("backward", arm(5.0), arm(6.0), shown=(4.0, 8.0)).ratio == 2.0


@pytest.mark.parametrize(("count", "coverage"), [(2, 0.5), (3, 0.75), (4, 0.875), (5, 0.9375)])
def test_few_rounds_have_a_range_that_says_what_it_covers(count, coverage):
    seen = compare("total", arm(*[1.0] * count), arm(*(2.0 + k for k in range(count))))
    assert (seen.low, seen.high) == (2.0, 1.0 + count)
    assert (seen.coverage, seen.is_interval) == (coverage, False)
    assert seen.p_value == 1 - coverage  # and so it is never significant


def test_the_interval_and_the_test_agree():
    draw = np.random.default_rng(3)
    alarms = 0
    for _ in range(200):
        first, second = 100 * (1 + draw.exponential(0.1, (2, 8)))
        seen = compare("total", arm(*first), arm(*second))
        assert (seen.low > 1.0 or seen.high < 1.0) == (seen.p_value <= 0.05)
        alarms += seen.p_value <= 0.05
    assert alarms <= 10  # 1.6 expected: of eight rounds all must agree


@pytest.mark.parametrize(
    ("above", "below", "count", "p_value"),
    [(6, 0, 6, 2 / 64), (0, 6, 6, 2 / 64), (5, 1, 6, 14 / 64), (5, 0, 6, 14 / 64), (3, 3, 6, 1.0), (0, 0, 6, 1.0),
     (1, 0, 1, 1.0), (2, 0, 6, 1.0)],
)  # fmt: skip
def test_sign_test(above, below, count, p_value):
    assert sign_test(above, below, count) == pytest.approx(p_value)


def test_identical_arms():
    seen = compare("total", arm(3.0, 4.0), arm(3.0, 4.0))
    assert (seen.ratio, seen.low, seen.high, seen.p_value) == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("first", "second", "ratio"),
    [
        ([0, 0, 0, 0], [0, 0, 0, 0], 1.0),
        ([0, 0, 0, 0], [3, 3, 3, 3], math.inf),
        ([3, 3, 3, 3], [0, 0, 0, 0], 0.0),
        ([-0.2, 0, 0, 0], [0, 0, -0.1, 0], 1.0),
    ],
)
def test_counts_of_zero(first, second, ratio):
    seen = compare("allocations", arm(*first), arm(*second))
    assert (seen.ratio, seen.low, seen.high) == (ratio, ratio, ratio)


@given(ARMS, ARMS)
def test_any_arms_compare(first, second):
    there, back = compare("total", first, second), compare("total", second, first)
    assert (there.first, there.second) == (median(first.values()), median(second.values()))
    assert 0 < there.p_value <= 1
    assert there.p_value == back.p_value
    if there.low is not None:
        assert 0 <= there.low <= there.typical <= there.high


def test_an_arm_without_numbers():
    with pytest.raises(GradmarkError, match="Expected one number of total or more in each arm, got none"):
        compare("total", {}, {0: 1.0})


def test_rounds_of_a_measurement():
    def sample(process, **phases):
        timed = {name: Phase(iterations=1, block_ns=blocks) for name, blocks in phases.items()}
        once = {"prepare": 2.0, "first_call": 3.0}
        return Sample(process=process, phases=timed, once_ns=once, harness_ns=0.0, clock_ns=1.0)

    samples = [sample(4, total=[9.0, 8.0]), sample(2, total=[7.0]), sample(3, primal=[1.0])]
    m = Measurement(cell=Cell(engine="e", workload="w", suite="s"), status="ok", samples=samples)
    assert rounds(m, metric("total")) == {4: 8.0, 2: 7.0}
    assert rounds(m, metric("first_call")) == {4: 5.0, 2: 5.0, 3: 5.0}
    assert rounds(m, metric("allocations")) == {}


def run(name, *, environment=None, settings=None):
    machine = Environment(cpu="A", cores=2, memory_bytes=8, os="Linux", python="3.11", packages={"numpy": "2.0"})
    return Run(
        id=name,
        started="2026-01-01T00:00:00Z",
        environment=msgspec.structs.replace(machine, **(environment or {})),
        settings=Settings(**(settings or {})),
        measurements=[],
    )


def test_all_that_differs_is_named():
    new = run("new", environment={"cpu": "B", "python": "3.12"}, settings={"threads": 4, "pin": False})
    assert unlike(run("old"), new) == ["cpu: A, B", "python: 3.11, 3.12", "threads: 1, 4", "pin: True, False"]


@pytest.mark.parametrize("settings", [{"threads": 2}, {"block_ns": 1}, {"pin": False}, {"full": True}])
def test_settings_that_shift_a_time(settings):
    (text,) = unlike(run("old"), run("new", settings=settings))
    assert text.startswith(f"{next(iter(settings))}: ")


def test_runs_that_compare():
    new = run(
        "new",
        environment={"commit": "abc", "dirty": True, "packages": {"numpy": "2.1"}},
        settings={"seed": 5, "timeout_s": 1.0, "memory": False, "processes": 9},
    )
    assert unlike(run("old"), run("old")) == unlike(run("old"), new) == []


def test_heavy_imports_wait_until_they_are_needed():
    code = (
        "import sys, gradmark.analyse.paired, gradmark.analyse.unpaired, gradmark.analyse.standings, "
        "gradmark.analyse.hypotheses; sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_examples_run():
    assert doctest.testmod(paired) == (0, 2)
