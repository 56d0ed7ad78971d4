"""Two arms: ratio, interval and p-value on recorded numbers, and runs that do not compare."""

import doctest
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradmark.analyse import paired as comparisons
from gradmark.analyse.paired import compare, refuse_unlike
from gradmark.errors import GradmarkError, UnlikeRunsError
from gradmark.records import Comparison, Environment, Run, Settings

COUNTS = st.one_of(st.integers(-2, 5), st.floats(1e-3, 1e6))


def test_every_round_slower_by_a_tenth():
    first = [100.0, 120.0, 110.0, 105.0, 130.0, 115.0, 125.0, 101.0]
    found = compare("total", first, [1.1 * ns for ns in first])
    assert (found.metric, found.first, found.second) == ("total", 100.0, 1.1 * 100.0)
    assert (found.ratio, found.low, found.high) == pytest.approx((1.1, 1.1, 1.1))
    assert found.p_value == 2 / 2**8  # of all sign flips, the data and their mirror are the most extreme


def test_p_value_is_exact():
    # Of the 2^6 flips of 1, 2, …, 6 those with |sum| ≥ 19 are two each for 21 (none flipped) and 19 (1 flipped).
    found = compare("total", [1.0] * 6, [math.exp(power) for power in (-1, 2, 3, 4, 5, 6)])
    assert found.p_value == 4 / 2**6


def test_swapped_arms_give_the_inverse():
    first, second = [10.0, 11.0, 12.0, 10.5, 11.5], [12.0, 12.5, 13.0, 12.2, 14.0]
    there, back = compare("total", first, second), compare("total", second, first)
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.p_value == there.p_value == 2 / 2**5


def test_pairs_cancel_what_a_round_has_in_common():
    # The machine slows down tenfold over the rounds. Unpaired, 2 % would drown in it.
    rounds = [100.0 * 1.3**index for index in range(10)]
    found = compare("total", rounds, [1.02 * ns for ns in rounds])
    assert found.p_value == 2 / 2**10
    assert (found.low, found.high) == pytest.approx((1.02, 1.02))


def test_same_arms_raise_no_alarm():
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(100):
        first, second = 100 * (1 + rng.exponential(0.1, (2, 8)))
        alarms += compare("total", first.tolist(), second.tolist()).p_value < 0.05
    assert alarms <= 8  # 5 expected of 100


def test_identical_arms():
    assert compare("total", [3.0, 4.0], [3.0, 4.0]) == Comparison(
        metric="total", first=3.0, second=3.0, ratio=1.0, low=1.0, high=1.0, p_value=1.0
    )


def test_interval_is_widened_to_hold_the_ratio_of_floors():
    # Every pair is near 2, but the floors come from different rounds.
    found = compare("total", [10.0, 50.0, 50.0, 50.0], [90.0, 100.0, 100.0, 100.0])
    assert found.ratio == 9.0
    assert found.high == 9.0
    assert found.low == pytest.approx(2.0)


def test_one_round_is_never_significant():
    found = compare("total", [1.0], [5.0])
    assert (found.ratio, found.low, found.high, found.p_value) == (5.0, 5.0, 5.0, 1.0)


@pytest.mark.parametrize(
    ("first", "second", "ratio", "p_value"),
    [
        ([0, 0, 0, 0], [0, 0, 0, 0], 1.0, 1.0),
        ([0, 0, 0, 0], [3, 3, 3, 3], math.inf, 0.125),
        ([3, 3, 3, 3], [0, 0, 0, 0], 0.0, 0.125),
        ([-0.2, 0, 0, 0], [0, 0, -0.1, 0], 1.0, 1.0),
    ],
)
def test_counts_of_zero(first, second, ratio, p_value):
    found = compare("allocations", first, second)
    assert (found.ratio, found.low, found.high, found.p_value) == (ratio, ratio, ratio, p_value)


def test_zero_in_some_rounds_gives_the_whole_range():
    found = compare("allocations", [0, 2, 2], [3, 3, 0])
    assert (found.ratio, found.low, found.high) == (1.0, 0.0, math.inf)


def test_test_that_fails_is_not_significant(monkeypatch):
    def failing(*args, **kwargs):
        raise ValueError("no")

    monkeypatch.setattr("scipy.stats.permutation_test", failing)
    assert compare("total", [1.0, 1.1, 1.2], [2.0, 2.2, 2.3]).p_value == 1.0


def test_more_rounds_than_the_exact_test_visits():
    first = [100.0 + index for index in range(20)]
    second = [1.1 * ns for ns in first]
    found = compare("total", first, second)
    assert 0 < found.p_value < 0.001
    assert found == compare("total", first, second)


@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=5))
def test_interval_holds_the_ratio(pairs):
    found = compare("allocations", *zip(*pairs, strict=True))
    assert 0 <= found.low <= found.ratio <= found.high
    assert 0 < found.p_value <= 1


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], []), ([1.0, 2.0], [1.0])])
def test_rounds_without_a_partner(first, second):
    with pytest.raises(GradmarkError, match=f"got {len(first)} and {len(second)}. Leave out"):
        compare("total", first, second)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_are_not_finite(value):
    with pytest.raises(GradmarkError, match="Expected finite numbers for total"):
        compare("total", [1.0, 2.0], [1.0, value])


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
    with pytest.raises(UnlikeRunsError) as caught:
        refuse_unlike(
            run("old"),
            run("new", environment={"cpu": "B", "python": "3.12"}, settings={"threads": 4, "pin": False}),
        )
    assert str(caught.value) == (
        "Expected two runs of one machine and one way of measuring, but old and new differ in cpu: A, B; "
        "python: 3.11, 3.12; threads: 1, 4; pin: True, False. Measure both again on one machine with the same options, "
        "or let `gradmark check --against REF` build the other revision and measure both side by side."
    )


@pytest.mark.parametrize("settings", [{"threads": 2}, {"block_ns": 1}, {"pin": False}, {"full": True}])
def test_settings_that_shift_a_time(settings):
    with pytest.raises(UnlikeRunsError, match=next(iter(settings))):
        refuse_unlike(run("old"), run("new", settings=settings))


def test_runs_that_compare():
    refuse_unlike(run("old"), run("old"))
    refuse_unlike(
        run("old"),
        run(
            "new",
            environment={"commit": "abc", "dirty": True, "packages": {"numpy": "2.1"}},
            settings={"seed": 5, "timeout_s": 1.0, "memory": False, "processes": 9},
        ),
    )


def test_examples_run():
    assert doctest.testmod(comparisons) == (0, 2)
