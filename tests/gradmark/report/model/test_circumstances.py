"""How a run was measured, in notes."""

from typing import Any

import msgspec
import pytest
from oracles.watched import all_watched

from gradmark import units
from gradmark.report.model.circumstances import calmness
from gradmark.report.model.note import Note
from gradmark.report.model.notes import notes


def test_what_the_harness_takes_is_said(make: Any) -> None:
    run = make.run(make.measurement())
    (sample,) = {sample.harness_ns for sample in run.measurements[0].samples}
    machine, note = notes(run, [], [])
    assert machine.text.startswith("machine:")
    assert note.level == "info"
    assert note.text.startswith(
        f"harness: an empty call takes {units.time(sample)} here. This is subtracted from each call"
    )
    assert notes(make.run(), [], []) == []


def test_a_cache_that_workers_share_is_said(make: Any) -> None:
    run = make.run(make.measurement())
    shared = msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, shared_cache=True))
    (note,) = [note for note in notes(shared, [], []) if note.text.startswith("workers")]
    assert note.level == "info"
    assert note.text.startswith("workers: later processes of an engine reused what its first process compiled")


@pytest.mark.parametrize(
    ("engines", "whose"),
    [(["torch"], "of torch are those of its device"), (["a", "b"], "of a, b are those of their devices")],
)
def test_a_device_s_memory_is_said(make: Any, engines: list[str], whose: str) -> None:
    on_device = msgspec.structs.replace(make.measurement().memory, of_device=True)
    run = make.run(*(make.measurement(make.cell(engine=engine), memory=on_device) for engine in engines))
    (note,) = (note for note in notes(run, [], []) if note.text.startswith("device"))
    assert note == Note(
        level="info",
        text=f"device: memory and allocations {whose}, by the engine's own counters; what the host allocates is not "
        "included.",
    )


@pytest.mark.parametrize(
    ("calm", "level", "text"),
    [
        (100, "info", "calm all the time."),
        (83, "info", "calm for 83 % of the measuring time; when slow, work took 1.6 times as long. Times come from "
         "calm blocks."),
        (20, "info", "calm for 20 % of the measuring time; when slow, work took 1.6 times as long. Times come from "
         "calm blocks."),
        (8, "warning", "calm only for 8 % of the measuring time; when slow, work took 1.6 times as long. Times "
         "come from "
         "calm blocks, and few blocks were calm. Close other programs, or measure again later; `gradmark doctor` shows "
         "the machine's states."),
    ],
)  # fmt: skip
def test_how_calm_the_machine_was(make: Any, calm: int, level: str, text: str) -> None:
    run = make.run(all_watched(make.measurement(), calm=calm, blocks=100))
    assert list(calmness(run)) == [Note(level=level, text=f"machine: {text}")]
    assert [note for note in notes(run, [], []) if "machine:" in note.text] == list(calmness(run))


def test_a_run_without_pilots_says_so(make: Any) -> None:
    (note,) = calmness(make.run(make.measurement()))
    assert note.text == (
        "machine: an older version made this run, without pilots; all blocks count as calm, at any clock speed."
    )
    assert list(calmness(make.run(make.failed("crash")))) == []


def test_the_machines_of_a_fleet_and_rows_that_went_from_one_to_another(make: Any) -> None:
    machine = make.run().environment
    machines = [msgspec.structs.replace(machine, instance=name) for name in ("m1", "m2")]
    on = [make.sample(process, machine=name) for process, name in enumerate(("m1", "m2"))]
    measurement = make.measurement(samples=on)
    run = make.run(measurement)
    texts = [note.text for note in notes(msgspec.structs.replace(run, machines=machines), (), ())]
    assert "fleet: measured on 2 machines of one class: m1, m2; each row on one." in texts
    assert any(text.startswith(f"moved: {measurement.cell.row}. The machine was lost") for text in texts)
    assert not any(note.text.startswith(("fleet", "moved")) for note in notes(run, (), ()))
