"""Events: a run is what they add up to, in whatever order cells take turns."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradmark.records import (
    Accuracy,
    Cell,
    Environment,
    Instructions,
    Measurement,
    Memory,
    Phase,
    Run,
    Sample,
    Settings,
    TapeSize,
)
from gradmark.records.event import Counted, Done, Event, Finished, GrowingRun, Inspected, Joined, Sampled, Stopped

CELLS = [Cell(engine=engine, workload="poly", suite="scalar", params={"n": 10}) for engine in ("a", "b", "c")]
A, B, C = (cell.id for cell in CELLS)


def begun(**fields):
    here = Environment(cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={})
    plain = {"id": "i", "started": "s", "environment": here, "settings": Settings(), "measurements": []}
    return Run(**{**plain, "planned": CELLS, **fields})


def inspected(cell, **fields):
    return Inspected(measurement=Measurement(cell=cell, **{"status": "ok", "tape": TapeSize(instructions=3), **fields}))


def sample(process):
    return Sample(process=process, phases={}, once_ns={"import": float(process)}, harness_ns=1.0, clock_ns=1.0)


def sampled(cell, process):
    return Sampled(cell=cell, sample=sample(process))


def run_of(*events, **fields):
    growing = GrowingRun(begun(**fields))
    for event in events:
        growing.add(event)
    return growing.run


def counted(cell, allocations, **fields):
    memory = Memory(allocations=float(allocations), leaked_bytes=0.0)
    return inspected(cell, memory=memory, **fields)


def test_a_cell_that_is_inspected_again_has_the_counts_of_every_time():
    once = run_of(counted(CELLS[0], 180)).measurements[0]
    assert (once.counts, once.inspections) == ({}, 1)
    found = run_of(counted(CELLS[0], 180), counted(CELLS[0], 184), counted(CELLS[0], 181)).measurements[0]
    assert found.memory.allocations == 181.0
    assert found.counts == {"allocations": [180, 184, 181], "leaked_bytes": [0, 0, 0], "tape_instructions": [3, 3, 3]}
    assert found.inspections == 3


def test_a_crash_in_between_counts_nothing_and_loses_nothing():
    crash = inspected(CELLS[0], status="crash", tape=None)
    first = run_of(crash, counted(CELLS[0], 180)).measurements[0]
    assert (first.status, first.counts["allocations"]) == ("ok", [180])
    last = run_of(counted(CELLS[0], 180), crash).measurements[0]
    assert (last.status, last.counts["allocations"]) == ("crash", [180])
    both = run_of(counted(CELLS[0], 180), crash, counted(CELLS[0], 181)).measurements[0]
    assert (both.status, both.counts["allocations"]) == ("ok", [180, 181])


def test_counts_go_on_in_a_run_that_is_resumed():
    first = run_of(counted(CELLS[0], 180), counted(CELLS[0], 184))
    growing = GrowingRun(first)
    growing.add(counted(CELLS[0], 181))
    assert growing.run.measurements[0].counts["allocations"] == [180, 184, 181]


def test_nothing_happened():
    assert run_of() == begun()


def test_a_run_adds_up():
    found = run_of(
        inspected(CELLS[0]),
        inspected(CELLS[1], status="unsupported", message="it has no sin"),
        sampled(A, 0),
        sampled(A, 1),
        Counted(cell=A, instructions=Instructions(total=7.0)),
        Finished(),
    )
    first, second = found.measurements
    assert (first.cell, first.status, first.tape.instructions) == (CELLS[0], "ok", 3)
    assert first.samples == [sample(0), sample(1)]
    assert first.instructions.total == 7.0
    assert (second.status, second.message, second.samples) == ("unsupported", "it has no sin", [])
    assert found.finished


def test_measurements_are_in_the_order_of_the_plan_and_samples_in_that_of_processes():
    found = run_of(inspected(CELLS[2]), inspected(CELLS[0]), sampled(A, 2), sampled(A, 0), sampled(A, 1))
    assert [m.cell.engine for m in found.measurements] == ["a", "c"]
    assert [s.process for s in found.measurements[0].samples] == [0, 1, 2]


def test_a_cell_that_stops_keeps_what_it_has():
    (found,) = run_of(
        inspected(CELLS[0]), sampled(A, 0), Stopped(cell=A, status="timeout", message="60 s")
    ).measurements
    assert (found.status, found.message, len(found.samples)) == ("timeout", "60 s", 1)
    assert found.tape is not None


def test_the_error_of_a_wrong_gradient_is_the_one_that_condemned_it():
    right, wrong = (Accuracy(reference="r", relative_error=error, tolerance=1e-9) for error in (1e-16, 0.5))
    first = inspected(CELLS[0], accuracy=right)

    def accuracy(**fields):
        (found,) = run_of(first, Stopped(cell=A, **fields)).measurements
        return found.accuracy

    assert accuracy(status="wrong-gradient", accuracy=wrong) == wrong
    assert accuracy(status="wrong-gradient") is None  # a gradient that is no number
    assert accuracy(status="crash") == right


def test_a_run_without_its_end_is_not_finished():
    assert not run_of(inspected(CELLS[0]), sampled(A, 0)).finished


def test_a_run_that_goes_on_begins_with_what_it_had():
    half = run_of(inspected(CELLS[0]), sampled(A, 0))
    growing = GrowingRun(half)
    for event in (sampled(A, 1), inspected(CELLS[1]), sampled(B, 0), Finished()):
        growing.add(event)
    whole = run_of(inspected(CELLS[0]), sampled(A, 0), sampled(A, 1), inspected(CELLS[1]), sampled(B, 0), Finished())
    assert growing.run == whole
    assert half.measurements[0].samples == [sample(0)]  # what was begun with is not changed


def test_a_cell_that_is_inspected_again_keeps_its_samples():
    again = inspected(CELLS[0], tape=TapeSize(instructions=4))
    (found,) = run_of(inspected(CELLS[0]), sampled(A, 0), again).measurements
    assert (found.tape.instructions, len(found.samples)) == (4, 1)


def test_what_is_known_of_one_cell():
    growing = GrowingRun(begun())
    assert growing.measurement(A) is None
    growing.add(inspected(CELLS[0]))
    growing.add(sampled(A, 0))
    assert growing.measurement(A).samples == [sample(0)]


@pytest.mark.parametrize(
    "event",
    [
        inspected(CELLS[0]),
        sampled(A, 0),
        Stopped(cell=A, status="crash"),
        Stopped(cell=A, status="wrong-gradient", accuracy=Accuracy(reference="r", relative_error=0.5, tolerance=0.1)),
        Counted(cell=A, instructions=Instructions(reason="no valgrind")),
        Finished(),
    ],
    ids=lambda event: type(event).__name__,
)
def test_events_are_told_apart_in_a_file(event):
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


STORIES = [
    [inspected(CELLS[0]), sampled(A, 0), sampled(A, 1), Counted(cell=A, instructions=Instructions(total=7.0))],
    [inspected(CELLS[1]), sampled(B, 0), Stopped(cell=B, status="crash", message="SIGSEGV")],
    [inspected(CELLS[2], status="wrong-gradient")],
]


@given(st.permutations([cell for cell, story in enumerate(STORIES) for _ in story]))
def test_cells_may_take_turns_in_any_order(turns):
    stories = [iter(story) for story in STORIES]
    one_after_another = [event for story in STORIES for event in story]
    assert run_of(*(next(stories[turn]) for turn in turns), Finished()) == run_of(*one_after_another, Finished())


@given(st.permutations(range(5)))
def test_processes_may_end_in_any_order(order):
    growing = [inspected(CELLS[0]), *(sampled(A, process) for process in order)]
    assert run_of(*growing) == run_of(inspected(CELLS[0]), *(sampled(A, process) for process in range(5)))


# --- of a fleet: machines, and what is done


def test_each_machine_has_its_own_calm():
    """What is calm on one machine is slow on another of its class."""
    run = GrowingRun(begun())
    run.add(inspected(CELLS[0]))
    for process, (machine, ns) in enumerate((("fast", 100.0), ("slow", 150.0))):
        phase = Phase(iterations=1, block_ns=[ns] * 4, pilots={"core": [(ns, ns)] * 4})
        sample = Sample(
            process=process, phases={"total": phase}, once_ns={}, harness_ns=0.0, clock_ns=1.0, machine=machine
        )
        run.add(Sampled(cell=A, sample=sample))
    fast, slow = run.measurement(A).samples
    assert fast.phases["total"].is_calm
    assert slow.phases["total"].is_calm
    assert fast.phases["total"].reference["core"] < slow.phases["total"].reference["core"]


def test_machines_and_what_is_done_are_parts_of_a_run():
    run = GrowingRun(begun())
    machine = Environment(cpu="c", cores=1, memory_bytes=1, os="o", python="p", packages={}, instance="m1")
    run.add(Joined(environment=machine, clock_ns=120.0))
    run.add(Joined(environment=machine, clock_ns=130.0))
    run.add(Done(cells=["a", "b"]))
    run.add(Done(cells=["b", "c"]))
    assert (run.run.machines, run.run.done) == ([machine], ["a", "b", "c"])
    assert run.run.clocks_ns == {"m1": 120.0}
    again = GrowingRun(run.run)
    assert again.run == run.run


def test_times_of_a_fleet_are_stated_at_the_usual_clock_of_their_machine():
    machine = Environment(cpu="c", cores=1, memory_bytes=1, os="o", python="p", packages={}, instance="m1")
    joined = Joined(environment=machine, clock_ns=104.0)
    phase = Phase(iterations=1, block_ns=[50.0] * 4, pilots={"core": [(100.0, 100.0)] * 4})
    one = Sample(process=0, phases={"total": phase}, once_ns={}, harness_ns=0.0, clock_ns=1.0)
    here = run_of(inspected(CELLS[0]), Sampled(cell=A, sample=one), clock_ns=104.0)
    there = run_of(joined, inspected(CELLS[0]), Sampled(cell=A, sample=msgspec.structs.replace(one, machine="m1")))
    times = [run.measurements[0].samples[0].phases["total"].time_ns for run in (here, there)]
    assert times[0] == times[1] == pytest.approx(52.0, rel=0.002)
