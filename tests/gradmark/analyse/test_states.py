"""States of a core from pilots made by hand: exact shares, stretches, ratios and drift."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradmark.analyse.states import (
    LEAST_PILOTS,
    LEVEL_NS,
    TAKEN,
    VOTERS,
    Dwell,
    Look,
    States,
    Stretch,
    joined,
    judge,
    reference_ns,
    states,
    timeline,
)
from gradmark.records.pilots import CALM, CORE

CALM_NS, SLOW_NS = 1000, 1600
MOST = VOTERS // 2 + 1


def visit(*pilots_ns, start_ns=0):
    """Pilots that follow each other at once."""
    looks = []
    for ns in pilots_ns:
        looks.append(Look(start_ns, ns))
        start_ns += ns
    return looks


def test_a_core_that_is_always_calm():
    seen = states([visit(*[CALM_NS] * 50)], 1000.0)
    assert seen.visits == [[Stretch("calm", 0, 50_000)]]
    assert [seen.share(state) for state in ("calm", "slow", "taken")] == [1.0, 0.0, 0.0]
    assert (seen.dwell("calm"), seen.dwell("slow"), seen.dwell("taken")) == (Dwell(50_000, 50_000), None, None)
    assert (seen.ratio, seen.drift) == (None, 0.0)


def test_two_states():
    seen = states([visit(*[CALM_NS] * 40, *[SLOW_NS] * 20, *[CALM_NS] * 80)], 1000.0)
    assert seen.visits == [
        [Stretch("calm", 0, 40_000), Stretch("slow", 40_000, 72_000), Stretch("calm", 72_000, 152_000)]
    ]
    assert (seen.share("calm"), seen.share("slow")) == (120 / 152, 32 / 152)
    assert (seen.dwell("calm"), seen.dwell("slow")) == (Dwell(60_000, 80_000), Dwell(32_000, 32_000))
    assert seen.ratio == 1.6


def test_a_pilot_at_the_limit_is_calm():
    limit = CALM[CORE] * 1000
    assert judge(visit(*[int(limit)] * 5), 1000.0) == ["calm"] * 5
    assert judge(visit(*[int(limit) + 1] * 5), 1000.0) == ["slow"] * 5


@pytest.mark.parametrize("interrupted", [1, 2, MOST - 1])
def test_an_interrupt_is_no_state(interrupted):
    seen = states([visit(*[CALM_NS] * VOTERS, *[5000] * interrupted, *[CALM_NS] * VOTERS)], 1000.0)
    assert [stretch.state for stretch in seen.visits[0]] == ["calm"]
    assert seen.ratio is None


def test_more_slow_pilots_are_a_state():
    assert judge(visit(*[CALM_NS] * VOTERS, *[SLOW_NS] * MOST, *[CALM_NS] * VOTERS), 1000.0) == [
        *["calm"] * VOTERS,
        *["slow"] * MOST,
        *["calm"] * VOTERS,
    ]


def test_a_fast_pilot_within_a_slow_state_does_not_end_it():
    seen = states([visit(*[SLOW_NS] * 5, CALM_NS, *[SLOW_NS] * 5)], 1000.0)
    assert [stretch.state for stretch in seen.visits[0]] == ["slow"]


@pytest.mark.parametrize("where", ["within a pilot", "between two"])
def test_a_pause_was_taken_by_others(where):
    pause = 4_000_000
    first, second = visit(*[CALM_NS] * 5), visit(*[CALM_NS] * 5, start_ns=5000 + pause)
    if where == "within a pilot":
        first[-1] = Look(first[-1].at_ns, CALM_NS + pause)
    (found,) = states([first + second], 1000.0).visits
    assert found == [
        Stretch("calm", 0, 4000),
        Stretch("taken", 4000, 5000 + pause),
        Stretch("calm", 5000 + pause, 10_000 + pause),
    ]


def test_a_pause_as_long_as_an_interrupt_is_not_taken():
    at = int(TAKEN * 1000)
    assert judge([Look(0, 1000), Look(at, 1000), Look(at + 1000, 1000)], 1000.0) == ["calm"] * 3
    assert judge([Look(0, 1000), Look(at + 1, 1000), Look(at + 1001, 1000)], 1000.0) == ["taken", "calm", "calm"]


def test_stretches_end_with_their_visit():
    seen = states([visit(*[CALM_NS] * 10), visit(*[CALM_NS] * 30)], 1000.0)
    assert seen.dwell("calm") == Dwell(20_000, 30_000)


def test_the_clock_drifts():
    levels = [visit(*[ns] * LEAST_PILOTS, start_ns=k * LEVEL_NS) for k, ns in enumerate((1000, 1030, 1020))]
    assert states(levels, 1000.0).drift == pytest.approx(0.03)
    assert states([[look for level in levels for look in level]], 1000.0).drift == pytest.approx(0.03)


def test_slow_pilots_are_no_drift_and_few_are_no_level():
    slow = visit(*[SLOW_NS] * 100, start_ns=LEVEL_NS)
    few = visit(*[1050] * (LEAST_PILOTS - 1), start_ns=2 * LEVEL_NS)
    assert states([visit(*[CALM_NS] * 100), slow, few], 1000.0).drift == 0.0
    assert states([few], 1000.0).drift is None


def test_a_core_that_is_always_slow_is_judged_by_the_others():
    cores = [[visit(*[SLOW_NS] * 100)], [visit(*[CALM_NS] * 100)]]
    reference = reference_ns(cores)
    assert reference == pytest.approx(1000.0, rel=1e-3)
    assert [states(visits, reference).share("calm") for visits in cores] == [0.0, 1.0]
    assert reference_ns(cores[:1]) == pytest.approx(1600.0, rel=1e-3)


def test_the_timeline_has_the_shares_of_each_part():
    seen = States([[Stretch("calm", 100, 400), Stretch("slow", 400, 450), Stretch("taken", 450, 500)]], None, None)
    assert timeline(seen, 2) == [
        {"calm": 1.0, "slow": 0.0, "taken": 0.0},
        {"calm": 0.5, "slow": 0.25, "taken": 0.25},
    ]


def test_every_visit_has_the_same_number_of_parts():
    calm, slow = [Stretch("calm", 0, 10)], [Stretch("slow", 0, 10)]
    parts = timeline(States([calm, slow, calm], None, None), 8)
    assert [part["slow"] for part in parts] == [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    assert len(timeline(States([calm] * 5, None, None), 3)) == 5


@given(st.lists(st.tuples(st.integers(0, 30_000), st.integers(500, 20_000)), min_size=1, max_size=60))
def test_all_time_is_in_one_state(pauses_and_pilots):
    looks, now_ns = [], 0
    for pause_ns, pilot_ns in pauses_and_pilots:
        looks.append(Look(now_ns, pilot_ns))
        now_ns += pilot_ns + pause_ns
    end_ns = looks[-1].at_ns + looks[-1].pilot_ns
    seen = states([looks], 1000.0)
    (found,) = seen.visits
    assert (found[0].from_ns, found[-1].to_ns) == (0, end_ns)
    assert all(one.to_ns == other.from_ns and one.state != other.state for one, other in pairwise(found))
    assert sum(seen.share(state) for state in ("calm", "slow", "taken")) == pytest.approx(1.0)
    assert found == joined(looks, judge(looks, 1000.0))
    for part in timeline(seen, 7):
        assert sum(part.values()) == pytest.approx(1.0)


@given(st.lists(st.sampled_from([CALM_NS, SLOW_NS]), min_size=VOTERS, max_size=60))
def test_the_state_is_the_median_of_the_pilots_around(pilots):
    judged = judge(visit(*pilots), 1000.0)
    for place in range(VOTERS // 2, len(pilots) - VOTERS // 2):
        around = sorted(pilots[place - VOTERS // 2 : place + VOTERS // 2 + 1])
        assert judged[place] == ("slow" if around[VOTERS // 2] == SLOW_NS else "calm")
