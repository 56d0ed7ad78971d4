"""Pilots: which blocks were calm, and what these say; by hand, in general, and on blocks that a shared machine took."""

import doctest
import json
import math
import random
from functools import cache
from pathlib import Path
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradmark.records import Phase, pilots
from gradmark.records.pilots import (
    CALM,
    CLOCK,
    CORE,
    DEVICE,
    LEAST_CALM,
    MEMORY,
    REFERENCE_SHARE,
    Reference,
    calm_blocks,
    corrected,
    is_calm,
    level,
    reference_of,
    stated_at,
)

TRACES = Path(__file__).parents[2] / "data" / "traces" / "shared_machine.json"
LIMIT = CALM[CORE]


def test_examples():
    assert doctest.testmod(pilots).failed == 0


# --- calm or not


def test_a_pilot_at_the_limit_is_calm_and_one_beyond_it_is_not():
    assert is_calm({CORE: 100.0 * LIMIT}, {CORE: 100.0})
    assert not is_calm({CORE: 100.0 * LIMIT + 0.1}, {CORE: 100.0})


def test_every_kind_of_pilot_must_be_calm_within_its_own_limit():
    reference = {CORE: 100.0, MEMORY: 200.0}
    assert is_calm({CORE: 101.0, MEMORY: 255.0}, reference)
    assert not is_calm({CORE: 101.0, MEMORY: 265.0}, reference)
    assert not is_calm({CORE: 145.0, MEMORY: 210.0}, reference)


def test_what_has_no_reference_or_was_not_looked_at_has_no_say():
    assert is_calm({CORE: 100.0, DEVICE: 1e9}, {CORE: 100.0})
    assert is_calm({CORE: 100.0}, {CORE: 100.0, DEVICE: 1.0})
    assert is_calm({}, {})


def test_a_block_is_calm_between_two_calm_pilots():
    pairs = [(10.0, 10.1), (10.0, 15.0), (15.0, 10.0), (15.0, 15.0), (10.5, 10.2)]
    assert calm_blocks({CORE: pairs}, {CORE: 10.0}, 5) == [0, 4]


def test_a_block_is_calm_if_the_pilots_of_every_kind_are():
    seen = {CORE: [(10.0, 10.0), (10.0, 10.0), (15.0, 10.0)], MEMORY: [(20.0, 25.0), (20.0, 27.0), (20.0, 20.0)]}
    assert calm_blocks(seen, {CORE: 10.0, MEMORY: 20.0}, 3) == [0]
    assert calm_blocks(seen, {CORE: 10.0}, 3) == [0, 1]


def test_of_the_memory_s_pilots_only_the_one_after_a_block_has_a_say():
    assert calm_blocks({MEMORY: [(99.0, 20.0), (20.0, 99.0)]}, {MEMORY: 20.0}, 2) == [0]
    assert reference_of([{MEMORY: [(1.0, 20.0)]}]) == {MEMORY: pytest.approx(20.0, rel=0.0005)}


def test_without_pilots_or_reference_all_blocks_are_calm():
    assert calm_blocks({}, {CORE: 10.0}, 3) == [0, 1, 2]
    assert calm_blocks({CORE: [(99.0, 99.0)] * 3}, {}, 3) == [0, 1, 2]


# --- corrected to the clock of the reference


def test_the_faster_of_two_pilots_corrects_for_the_clock():
    assert corrected([104.0, 208.0], {CORE: [(10.4, 10.5), (10.5, 10.4)]}, {CORE: 10.0}) == [100.0, 200.0]


def test_a_slow_block_between_calm_pilots_stays():
    assert corrected([100.0, 180.0], {CORE: [(10.0, 10.0)] * 2}, {CORE: 10.0}) == [100.0, 180.0]


def test_times_are_not_corrected_by_other_pilots_than_that_of_the_core():
    assert corrected([100.0, 300.0], {MEMORY: [(16.0, 12.0), (12.0, 14.0)]}, {MEMORY: 10.0}) == [100.0]
    assert corrected([100.0], {CORE: [(10.4, 10.4)]}, {}) == [100.0]


def test_times_are_stated_at_the_clock_that_the_reference_names():
    assert corrected([104.0], {CORE: [(10.4, 10.5)]}, {CORE: 10.4, CLOCK: 10.0}) == [100.0]


# --- the reference


def of_core(own: float, clock: float | None = None) -> dict[str, object]:
    """What is known of the core's pilot."""
    levels = {CORE: own, CLOCK: own if clock is None else clock}
    return {kind: pytest.approx(ns, rel=0.0005) for kind, ns in levels.items()}


def test_the_reference_of_the_core_is_the_middle_of_those_within_a_tenth_of_the_fastest():
    pairs = [(9000.0, 9000.0)] + [(9500.0, 9500.0)] * 6 + [(9600.0, 15000.0)] * 3
    assert reference_of([{CORE: pairs}]) == of_core(9500.0)


def test_times_are_stated_at_the_usual_clock_unless_the_own_one_is_far_from_it():
    for usual, clock in ((10_000.0, 10_000.0), (8000.0, 8000.0), (11_300.0, 9000.0), (7100.0, 9000.0)):
        reference = Reference(usual)
        reference.add({CORE: [(9000.0, 9000.0)]})
        assert reference.levels() == of_core(9000.0, clock)
    assert stated_at(9000.0, None) == 9000.0


def test_the_level_is_that_of_the_fastest_fiftieth():
    bucket = round(math.log(9000.0) / pilots.BUCKET)
    assert level({bucket: 2, bucket + 400: 98}, REFERENCE_SHARE) == pytest.approx(9000.0, rel=0.0005)
    assert level({bucket: 1, bucket + 400: 99}, REFERENCE_SHARE) == pytest.approx(9000.0 * 1.001**400, rel=0.0005)


def test_a_reference_of_nothing_is_empty():
    assert Reference().levels() == {}
    assert reference_of([]) == {}
    assert reference_of([{CORE: []}]) == {}
    assert reference_of([{CORE: [(0.0, -1.0)]}]) == {}  # a clock that went backwards is no pilot


def test_a_reference_grows_by_phases_and_is_that_of_all_at_once():
    first, second = {CORE: [(9000.0, 9100.0)] * 10}, {CORE: [(8000.0, 15000.0)] * 10, MEMORY: [(50.0, 60.0)]}
    growing = Reference()
    growing.add(first)
    assert growing.levels() == of_core(9000.0)
    growing.add(second)  # nine in ten of its calm pilots, and half of all, took 8000
    assert growing.levels() == of_core(8000.0) | {MEMORY: pytest.approx(60.0, rel=0.0005)}
    assert growing.levels() == reference_of([first, second]) == reference_of([second, first])


# --- in general

REFERENCE = {CORE: 9000.0}
# Nothing within a millionth of the limit: which side that falls on is for rounding to say.
ratio = st.floats(1.0, 2.0).filter(lambda r: abs(r - LIMIT) > 1e-6)
block = st.tuples(st.floats(1e3, 1e6), ratio, ratio)
blocks = st.lists(block, min_size=1, max_size=40)


def times(measured, scale=1.0):
    """The corrected calm blocks of those, all pilots times a scale."""
    pairs = [(scale * 9000.0 * before, scale * 9000.0 * after) for _, before, after in measured]
    return corrected([ns for ns, _, _ in measured], {CORE: pairs}, {CORE: scale * 9000.0})


@given(blocks, st.floats(1.0, 1e6), st.floats(LIMIT + 0.001, 50.0), ratio, st.integers(0, 40), st.booleans())
def test_a_slow_block_more_changes_nothing(measured, ns, slow, other, place, first):
    more = measured.copy()
    more.insert(place, (ns, slow, other) if first else (ns, other, slow))
    assert times(more) == times(measured)


@given(blocks, st.floats(0.01, 100.0))
def test_another_pilot_that_takes_longer_leaves_states_and_times_as_they_are(measured, scale):
    assert times(measured, scale) == pytest.approx(times(measured))
    assert len(times(measured, scale)) == len(times(measured))


@given(blocks, st.randoms(use_true_random=False))
def test_the_order_of_blocks_does_not_matter(measured, shuffler):
    shuffled = measured.copy()
    shuffler.shuffle(shuffled)
    assert sorted(times(shuffled)) == sorted(times(measured))


@given(blocks)
def test_calm_blocks_become_shorter_by_no_more_than_the_limit(measured):
    calm = [ns for ns, before, after in measured if max(before, after) <= LIMIT]
    assert all(ns / LIMIT * 0.999 <= found <= ns * 1.001 for ns, found in zip(calm, times(measured), strict=True))


@given(st.lists(st.tuples(st.floats(1.0, 1e9), st.floats(1.0, 1e9)), min_size=1), st.integers(1, 5))
def test_a_reference_lies_within_what_was_seen_and_counts_shares_only(pairs, copies):
    levels = reference_of([{CORE: pairs}])
    seen = [ns for pair in pairs for ns in pair]
    assert set(levels) == {CORE, CLOCK}
    assert all(min(seen) * 0.999 <= ns <= max(seen) * 1.001 for ns in levels.values())
    assert reference_of([{CORE: pairs}] * copies) == levels


# --- recorded


@cache
def recorded() -> dict[str, list[Phase]]:
    """Of each cell its processes, with the reference of all."""
    cells = json.loads(TRACES.read_text())["cells"]
    found = {
        name: [(p, list(zip(p["pilot_ns"], p["pilot_ns"][1:], strict=False))) for p in processes]
        for name, processes in cells.items()
    }
    reference = reference_of({CORE: pairs} for processes in found.values() for _, pairs in processes)
    return {
        name: [
            Phase(
                iterations=p["iterations"], block_ns=[ns / p["iterations"] for ns in p["block_ns"]],
                pilots={CORE: pairs}, reference=reference,
            )
            for p, pairs in processes
        ]
        for name, processes in found.items()
    }  # fmt: skip


def calm_time(phases: list[Phase]) -> float:
    """The time of a cell."""
    return median(phase.time_ns for phase in phases if phase.is_calm)


def middle(phases: list[Phase]) -> float:
    """What the time would be if a process's were its middle calm block."""
    return median(median(phase.calm_ns) for phase in phases if phase.is_calm)


def floor(phases: list[Phase]) -> float:
    """The fastest calm block."""
    return min(min(phase.calm_ns) for phase in phases if phase.is_calm)


def of_all_blocks(phases: list[Phase]) -> float:
    """The median of all blocks, calm or not."""
    return median(ns for phase in phases for ns in phase.block_ns)


def test_recorded_pilots_have_a_reference():
    levels = {phase.reference[CORE] for phases in recorded().values() for phase in phases}
    assert [round(ns, 1) for ns in levels] == [8977.3]


# Blocks, calm blocks, processes with a time; the time of the cell and the floor of its calm blocks to four digits.
FOUND = {
    "chain/f=exp": (2940, 2146, 15, 11640.0, 11110.0),
    "poly/n=100": (2793, 2047, 14, 4156.0, 4000.0),
    "add_chain/n=1000": (2765, 2109, 14, 22050.0, 20050.0),
    "mlp_step/batch=8/width=32": (2800, 2515, 16, 29680.0, 28110.0),
    "broadcast_add/n=1024": (2856, 1961, 14, 439800.0, 424700.0),
}


def test_every_cell_was_recorded():
    assert list(recorded()) == list(FOUND)
    assert {len(phases) for phases in recorded().values()} == {16}


@pytest.mark.parametrize("name", FOUND)
def test_recorded_blocks(name):
    phases = recorded()[name]
    blocks, calm, with_a_time, ns, fastest_ns = FOUND[name]
    assert sum(len(phase.block_ns) for phase in phases) == blocks
    assert sum(len(phase.calm) for phase in phases) == calm
    assert sum(len(phase.calm) >= LEAST_CALM for phase in phases) == with_a_time
    assert float(f"{calm_time(phases):.4g}") == ns
    assert float(f"{floor(phases):.4g}") == fastest_ns


def test_busy_rounds_move_the_median_of_all_blocks_more_than_that_of_calm_ones():
    moved = {
        rule: [abs(rule(phases[:8]) / rule(phases[8:]) - 1.0) for phases in recorded().values()]
        for rule in (calm_time, middle, floor, of_all_blocks)
    }
    assert [round(100.0 * share, 1) for share in moved[calm_time]] == [2.0, 2.2, 1.5, 2.2, 2.4]
    assert [round(100.0 * share, 1) for share in moved[middle]] == [1.8, 1.7, 0.6, 3.4, 1.6]
    assert [round(100.0 * share, 1) for share in moved[floor]] == [0.5, 0.1, 0.2, 3.1, 0.2]
    assert [round(100.0 * share, 1) for share in moved[of_all_blocks]] == [5.6, 7.8, 0.2, 6.7, 17.2]


def test_a_process_without_calm_blocks_has_no_time():
    processes = recorded()["broadcast_add/n=1024"]
    assert [len(phase.calm) for phase in processes] == [
        0, 13, 107, 0, 170, 120, 73, 132, 201, 174, 196, 206, 141, 61, 169, 198
    ]  # fmt: skip
    assert [k for k, phase in enumerate(processes) if not phase.is_calm] == [0, 3]


def test_two_halves_of_the_processes_agree_better_by_calm_blocks_than_by_all():
    shuffler, apart = random.Random(0), {calm_time: [], middle: [], floor: [], of_all_blocks: []}
    for phases in recorded().values():
        for _ in range(8):
            order = shuffler.sample(phases, len(phases))
            for rule, found in apart.items():
                found.append(abs(math.log(rule(order[:8]) / rule(order[8:]))))
    # Eight processes are few: layouts move each by several per cent, all in one direction, and floors see less of it.
    assert [round(100.0 * mean(found), 1) for found in apart.values()] == [2.1, 2.3, 0.8, 2.8]
    assert [round(100.0 * max(found), 1) for found in apart.values()] == [9.4, 9.8, 2.5, 14.7]
