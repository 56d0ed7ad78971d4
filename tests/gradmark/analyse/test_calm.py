"""Calm: what pilots say of the machine, and which numbers decide nothing."""

import msgspec
import pytest
from oracles.watched import all_watched, never_calm, watched

from gradmark.analyse.calm import changed, is_as_fast, is_calm, machine, share_of_calm_blocks
from gradmark.records import Cell, Machine, Measurement, Number, Phase, Sample


def measured(*times, phase="total"):
    samples = [
        Sample(process=k, phases={phase: Phase(iterations=1, block_ns=[ns])}, once_ns={}, harness_ns=0.0, clock_ns=1.0)
        for k, ns in enumerate(times)
    ]
    return Measurement(cell=Cell(engine="e", workload="w", suite="s"), status="ok", samples=samples)


def test_what_is_computed_from_a_time_in_doubt_is_in_doubt():
    whole, part = Number(value=9.0, calm=False), Number(value=4.0)
    known = {"total": whole, "forward": part, "backward": Number(value=5.0, how="derived")}
    assert [is_calm(known, name) for name in ("total", "forward", "backward", "primal")] == [False, True, False, True]
    assert is_calm({**known, "total": Number(value=9.0)}, "backward")
    assert not is_calm({**known, "total": Number(value=9.0), "forward": Number(value=4.0, calm=False)}, "backward")


def test_the_share_is_of_the_blocks_of_all_processes():
    one = measured(5.0, 6.0)
    assert share_of_calm_blocks(one, "total") is None
    mixed = [watched(one.samples[0], calm=3, blocks=6), watched(one.samples[1], calm=1, blocks=2)]
    mixed = msgspec.structs.replace(one, samples=mixed)
    assert share_of_calm_blocks(mixed, "total") == 0.5
    assert share_of_calm_blocks(mixed, "primal") is None
    assert share_of_calm_blocks(never_calm(one), "total") == 0.0


def test_the_machine_of_a_run():
    rows = [all_watched(measured(5.0), calm=3), all_watched(measured(7.0), calm=0)]
    assert machine(rows) == Machine(calm=3 / 8, slowness=1.6, core_ns=10.0, own_ns=10.0)
    assert machine([all_watched(measured(5.0))]) == Machine(calm=1.0, slowness=None, core_ns=10.0, own_ns=10.0)
    assert machine([measured(5.0)]) == machine([]) == Machine()


def test_where_only_memory_was_slow_that_is_how_slow():
    phase = Phase(
        iterations=1,
        block_ns=[5.0, 5.0],
        pilots={"core": [(10.0, 10.0)] * 2, "memory": [(100.0, 100.0), (100.0, 220.0)]},
        reference={"core": 10.0, "memory": 100.0},
    )
    one = measured(5.0)
    row = msgspec.structs.replace(one, samples=[msgspec.structs.replace(one.samples[0], phases={"total": phase})])
    assert machine([row]).slowness == 2.2


@pytest.mark.parametrize(("ratio", "same"), [(1.0, True), (1.005, True), (1.006, False), (0.994, False), (0.996, True)])
def test_machines_of_one_speed(ratio, same):
    assert is_as_fast(ratio) is same


def test_two_machines_are_compared_by_the_pilot_of_the_core():
    assert changed(Machine(core_ns=100.0), Machine(core_ns=104.0)) == 1.04
    assert changed(Machine(), Machine(core_ns=104.0)) is None
    assert changed(Machine(core_ns=100.0), Machine()) is None
