"""Samples: the processes of one cell have one harness, and calm blocks make their times."""

import pytest

from gradmark.records import Cell, Environment, Measurement, Phase, Run, Sample, Settings
from gradmark.records.event import GrowingRun, Inspected, Sampled
from gradmark.records.metric import numbers
from gradmark.records.sample import with_one_harness, with_reference


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


def test_a_harness_of_thirty_years_leaves_what_can_be_kept() -> None:
    longest = with_one_harness([sample(0, 250.0, 0.0), sample(1, 1e18 + 1e5, 1e18)])
    assert max(longest[1].phases["total"].block_ns) == 1e18


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


def phase(blocks: list[float], pairs: list[tuple[float, float]], iterations: int = 1) -> Phase:
    return Phase(iterations=iterations, block_ns=blocks, pilots={"core": pairs}, reference={"core": 10.0})


def test_only_calm_blocks_make_the_time() -> None:
    calm, came, went, slow = (10.0, 10.0), (10.0, 16.0), (16.0, 10.0), (16.0, 16.0)
    watched = phase([50.0, 100.0, 101.0, 60.0, 102.0, 70.0], [came, calm, calm, went, calm, slow])
    assert (watched.watched, watched.is_calm, watched.calm) == (True, True, [1, 2, 4])
    assert (watched.calm_ns, watched.time_ns) == ([100.0, 101.0, 102.0], 100.0)


def test_neither_the_fastest_block_nor_slow_ones_make_the_time() -> None:
    blocks = [90.0, *[100.0] * 6, *[150.0] * 13]
    assert phase(blocks, [(10.0, 10.0)] * 20).time_ns == 100.0


def test_times_are_at_the_clock_of_the_reference() -> None:
    assert phase([104.0] * 3, [(10.4, 10.5)] * 3).time_ns == pytest.approx(100.0)


def test_too_few_calm_blocks_are_no_time_but_there_is_something_to_show() -> None:
    watched = phase([100.0, 101.0, 99.0], [(10.0, 10.0), (10.0, 10.0), (10.0, 16.0)])
    assert (watched.is_calm, watched.calm_ns, watched.time_ns) == (False, [100.0, 101.0, 99.0], 99.0)


def test_one_long_block_is_enough() -> None:
    assert phase([60e6], [(10.0, 10.0)]).is_calm
    assert not phase([60e6], [(10.0, 16.0)]).is_calm


def test_older_files_have_no_pilots_and_count() -> None:
    old = Phase(iterations=1, block_ns=[3.0, 2.0])
    assert (old.watched, old.is_calm, old.calm_ns, old.time_ns) == (False, True, [3.0, 2.0], 2.0)


def test_what_a_later_sample_shows_of_the_machine_holds_for_all() -> None:
    """The first process calibrated itself while the machine was slow; a later one saw it calm."""
    cell = Cell(engine="e", workload="w", suite="s")
    here = Environment(cpu="c", cores=1, memory_bytes=1, os="o", python="p", packages={})
    run = Run(id="i", started="s", environment=here, settings=Settings(), measurements=[], planned=[cell])
    growing = GrowingRun(run)
    growing.add(Inspected(measurement=Measurement(cell=cell, status="ok")))
    for number, level in enumerate((16.0, 10.0)):
        part = Phase(iterations=1, block_ns=[10.0 * level] * 3, pilots={"core": [(level, level)] * 3},
                     reference={"core": level})  # fmt: skip
        growing.add(
            Sampled(
                cell=cell.id,
                sample=Sample(process=number, phases={"total": part}, once_ns={}, harness_ns=0.0, clock_ns=1.0),
            )
        )
    assert growing.calm_pilots("w@e")["core"] == pytest.approx(10.0, rel=1e-3)
    measured = growing.measurement(cell.id)
    assert measured is not None
    assert [s.phases["total"].is_calm for s in measured.samples] == [False, True]
    total = numbers(measured)["total"]
    assert (total.processes, total.calm) == (1, True)
    assert total.value == pytest.approx(100.0, rel=1e-3)


def test_the_memory_s_reference_is_that_of_a_cell() -> None:
    """A block that uses all of the last cache leaves less of the pilot's buffer there than one that uses little."""
    cells = [Cell(engine="e", workload=name, suite="s") for name in ("large", "small")]
    here = Environment(cpu="c", cores=1, memory_bytes=1, os="o", python="p", packages={})
    growing = GrowingRun(
        Run(id="i", started="s", environment=here, settings=Settings(), measurements=[], planned=cells)
    )
    for cell, level in zip(cells, (40.0, 12.0), strict=True):
        growing.add(Inspected(measurement=Measurement(cell=cell, status="ok")))
        part = Phase(
            iterations=1, block_ns=[100.0] * 3, pilots={"core": [(10.0, 10.0)] * 3, "memory": [(5.0, level)] * 3}
        )
        one = Sample(process=0, phases={"total": part}, once_ns={}, harness_ns=0.0, clock_ns=1.0)
        growing.add(Sampled(cell=cell.id, sample=one))
    levels = [growing.calm_pilots(cell.id)["memory"] for cell in cells]
    assert levels == [pytest.approx(40.0, rel=1e-3), pytest.approx(12.0, rel=1e-3)]
    for m in growing.run.measurements:
        assert m.samples[0].phases["total"].calm == [0, 1, 2]


def test_a_sample_that_knows_the_reference_is_the_same() -> None:
    one = Sample(process=0, phases={"total": phase([1.0], [(10.0, 10.0)])}, once_ns={}, harness_ns=0.0, clock_ns=1.0)
    assert with_reference(one, {"core": 10.0}) is one
    assert with_reference(one, {}) is one
    assert with_reference(one, {"core": 9.0}).phases["total"].reference == {"core": 9.0}
