"""Samples: the processes of one cell have one harness."""

from gradmark.records import Cell, Environment, Measurement, Phase, Run, Sample, Settings
from gradmark.records.event import GrowingRun, Inspected, Sampled
from gradmark.records.metric import numbers
from gradmark.records.sample import with_one_harness


def sample(process: int, total: float, harness: float) -> Sample:
    """A process whose blocks of total took so long, and which took so much off for the harness."""
    phase = Phase(iterations=10, block_ns=[total - harness, total + 5.0 - harness], harness_ns=harness)
    return Sample(process=process, phases={"total": phase}, once_ns={}, harness_ns=harness, clock_ns=1.0)


def test_a_process_that_took_too_much_off_does_not_win() -> None:
    """One process in some hundred sees no calm moment for its empty calls: 56 ns were shown for what takes 214."""
    evened = with_one_harness([sample(0, 250.0, 36.0), sample(1, 260.0, 200.0), sample(2, 252.0, 37.0)])
    assert [s.phases["total"].block_ns for s in evened] == [[214.0, 219.0], [224.0, 229.0], [216.0, 221.0]]
    assert {s.phases["total"].harness_ns for s in evened} == {36.0}


def test_evening_twice_changes_nothing() -> None:
    once = with_one_harness([sample(0, 250.0, 36.0), sample(1, 260.0, 200.0)])
    assert with_one_harness(once) == once


def test_older_samples_stay_as_they_are() -> None:
    old = [sample(0, 250.0, 0.0), sample(1, 260.0, 0.0)]
    assert with_one_harness(old) == old
    assert with_one_harness([]) == []


def test_a_run_has_one_harness_for_each_cell() -> None:
    cell = Cell(engine="e", workload="w", suite="s")
    here = Environment(cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={})
    growing = GrowingRun(
        Run(id="i", started="s", environment=here, settings=Settings(), measurements=[], planned=[cell])
    )
    growing.add(Inspected(measurement=Measurement(cell=cell, status="ok")))
    for one in (sample(0, 250.0, 36.0), sample(1, 260.0, 200.0)):
        growing.add(Sampled(cell=cell.id, sample=one))
    (measurement,) = growing.run.measurements
    assert numbers(measurement)["total"].value == 214.0
