"""The registry of metrics: one entry is enough, names are unique, and whatever is missing says why."""

import csv as csv_module
import io
from collections import Counter

import msgspec
import pytest

from gradmark import units
from gradmark.analyse.summary import summarise
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
    metric,
)
from gradmark.records.metric import REGISTRY, Metric
from gradmark.report.exports.csv import csv
from gradmark.report.exports.json import json
from gradmark.report.exports.markdown import suites
from gradmark.report.model.suites import tables
from gradmark.store.baselines import described

CELL = Cell(engine="tapegrad", workload="poly", suite="scalar", params={"n": 10})
HERE = Environment(
    cpu="c",
    cores=2,
    memory_bytes=1,
    os="Linux 6",
    python="CPython 3.11.7",
    packages={"numpy": "2.1.0", "memray": "1.2.3"},
)


def sample(process=0, once_ns=None, **times):
    phases = {name: Phase(iterations=1, block_ns=[ns]) for name, ns in times.items()}
    return Sample(process=process, phases=phases, once_ns=once_ns or {}, harness_ns=20.0, clock_ns=1.0)


def measurement(*samples, **fields):
    return Measurement(**{"cell": CELL, "status": "ok", "samples": list(samples), **fields})


FULL = measurement(
    sample(0, {"import": 50.0, "prepare": 7.0, "first_call": 9.0, "warm_up": 3.0},
           primal=100.0, forward=200.0, backward=300.0, total=500.0),
    sample(1, {"import": 40.0, "prepare": 9.0, "first_call": 8.0, "warm_up": 4.0},
           primal=110.0, forward=210.0, backward=310.0, total=525.0),
    tape=TapeSize(instructions=20, values=21, adjoints=22, saved_bytes=500),
    memory=Memory(allocations=1.0, allocated_bytes=2.0, leaked_bytes=0.0, retained_bytes=2048, peak_bytes=4096),
    accuracy=Accuracy(reference="mpmath", relative_error=1e-16, ulps=0.5, tolerance=1e-9),
    instructions=Instructions(total=1e6),
    operations=1000, flops=2000.0, bytes=4000.0,
)  # fmt: skip


def run_of(*measurements):
    return Run(id="i", started="s", environment=HERE, settings=Settings(), measurements=list(measurements))


def test_every_number_of_a_full_measurement():
    assert {name: number.value for name, number in metric.numbers(FULL).items()} == {
        "primal": 100.0,
        "forward": 200.0,
        "backward": 300.0,
        "total": 500.0,
        "spread": 12.5 / 512.5,
        "backward_forward": 1.5,
        "gradient_primal": 5.0,
        "operations_per_s": 2e9,
        "flops_per_s": 4e9,
        "bytes_per_s": 8e9,
        "allocations": 1.0,
        "allocated_bytes": 2.0,
        "leaked_bytes": 0.0,
        "peak_bytes": 4096,
        "retained_bytes": 2048,
        "tape_instructions": 20,
        "tape_bytes": 500,
        "tape_values": 21,
        "tape_adjoints": 22,
        "instructions": 1e6,
        "error_ulps": 0.5,
        "gradient_error": 1e-16,
        "import": 40.0,
        "prepare": 7.0,
        "first_call": 16.0,  # of one process, not the least of each part
        "warm_up": 3.0,
    }


# --- the registry itself


@pytest.mark.parametrize(
    "names",
    [
        [entry.name for entry in REGISTRY],
        [entry.column for entry in REGISTRY],
        [name for entry in REGISTRY for name in (entry.name, *entry.aliases)],
    ],
    ids=["names", "csv", "aliases"],
)
def test_names_are_unique(names):
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_titles_are_shared_on_purpose_only():
    shared = {title for title, count in Counter(entry.title for entry in REGISTRY).items() if count > 1}
    assert shared == {"rate", "tape", "error"}
    for title in shared:  # and then give way together
        assert len({entry.rank for entry in REGISTRY if entry.title == title}) == 1


@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: entry.name)
def test_an_entry(entry):
    assert entry.meaning
    assert not entry.meaning.endswith(".")
    assert entry.unit in units.FORMS
    assert units.text(entry.unit, 1.0)
    assert metric.metric(entry.name) is entry
    assert all(metric.metric(alias) is entry for alias in entry.aliases)
    assert metric.is_known(entry.name)
    if entry.phase:
        assert entry.timed
        assert entry.fitted


@pytest.mark.parametrize("entry", [e for e in REGISTRY if e.exact], ids=lambda entry: entry.name)
def test_what_gates_hard_depends_on_what_a_baseline_describes(entry):
    assert entry.budget is not None
    assert set(entry.depends) <= described(HERE).keys()
    assert not entry.timed


def test_times_depend_on_everything_and_are_never_exact():
    assert not any(entry.exact for entry in REGISTRY if entry.unit in ("time", "ratio", "rate", "share"))


def test_the_phases_of_the_registry():
    assert metric.phases() == ["primal", "forward", "backward", "total", "cold", "hot", "host", "replayed"]


# --- phases that sessions declare


def test_a_phase_that_a_session_declares_is_a_metric_a_column_and_a_field():
    declared = measurement(sample(0, total=500.0, replay=70.0), sample(1, total=500.0, replay=77.0))
    assert [entry.name for entry in metric.metrics_of(declared)][-1] == "replay"
    assert not metric.is_known("replay")
    entry = metric.metric("replay")
    assert (entry.unit, entry.phase, entry.column, entry.fitted) == ("time", True, "replay_ns", True)
    assert entry.number(declared) == 70.0
    assert entry.in_process(declared.samples[1]) == 77.0
    shown = columns_of(declared)
    assert shown["replay"] == "70 ns"
    assert list(shown).index("replay") == list(shown).index("total") + 1
    (row,) = fields_of(declared)
    assert (row["replay_ns"], row["replay_how"], row["replay_median_ns"]) == ("70.0", "measured", "73.5")
    assert document_of(declared)["rows"][0]["numbers"]["replay"]["value"] == 70.0


def test_an_engine_without_the_phase_says_so():
    other = msgspec.structs.replace(CELL, engine="other")
    run = [measurement(sample(total=500.0, replay=70.0)), measurement(sample(total=400.0), cell=other)]
    assert [row["replay_ns"] for row in fields_of(*run)] == ["70.0", ""]


# --- one entry is enough


def columns_of(*measurements):
    """The first row of the table, by header."""
    lines = suites(tables(run_of(*measurements)), []).splitlines()
    head, _, row = lines[2:5]
    return dict(zip(head.strip("| ").split(" | "), row.strip("| ").split(" | "), strict=True))


def fields_of(*measurements):
    return list(csv_module.DictReader(io.StringIO(csv(run_of(*measurements)))))


def document_of(*measurements):
    return msgspec.json.decode(json(run_of(*measurements)))


def test_adding_a_metric_is_one_entry(monkeypatch):
    per_kibibyte = Metric(
        "time_per_kib", "per KiB", "time", "total over the tape's size",
        lambda m, known: known["total"].value / (m.tape.saved_bytes / 1024) if m.tape and "total" in known else None,
        lambda _m, _known: "the engine does not report it",
        rank=4, csv="time_per_kib_ns",
    )  # fmt: skip
    monkeypatch.setattr(metric, "REGISTRY", (*REGISTRY, per_kibibyte))
    assert metric.metric("time_per_kib") is per_kibibyte
    assert columns_of(FULL)["per KiB"] == "1.02 µs"
    assert fields_of(FULL)[0]["time_per_kib_ns"] == "1024.0"
    assert document_of(FULL)["rows"][0]["numbers"]["time_per_kib"]["value"] == 1024.0
    without = measurement(sample(total=500.0))
    assert summarise(without).reasons["time_per_kib"] == "the engine does not report it"
    assert "time_per_kib: the engine does not report it" in fields_of(without)[0]["reasons"]


def test_an_entry_that_was_taken_away_is_not_remembered(monkeypatch):
    assert "peak" in columns_of(FULL)
    monkeypatch.setattr(metric, "REGISTRY", tuple(e for e in REGISTRY if e.name != "peak_bytes"))
    assert "peak" not in columns_of(FULL)
    assert "peak_bytes" not in fields_of(FULL)[0]


# --- what is missing


def reasons(*samples, **fields):
    return summarise(measurement(*samples, **fields)).reasons


def test_what_an_engine_that_only_evaluates_does_not_have():
    found = reasons(sample(primal=4.0))
    only = "the engine only evaluates"
    assert {name: found[name] for name in ("forward", "backward", "total", "backward_forward", "gradient_primal")} == {
        "forward": only,
        "backward": only,
        "total": only,
        "backward_forward": only,
        "gradient_primal": only,
    }
    assert found["operations_per_s"] == "the workload does not declare its operations"
    assert found["allocations"] == found["peak_bytes"] == "not measured"
    assert found["tape_instructions"] == "the engine does not report it"
    assert found["error_ulps"] == found["gradient_error"] == "the gradient was not checked"
    assert found["instructions"] == "counted only with --instructions"
    assert found["spread"] == "one process has no spread"
    assert found["import"] == "no process produced a time"


@pytest.mark.parametrize(
    ("fields", "name", "reason"),
    [
        ({"memory": Memory(reason="memray is not installed")}, "allocations", "memray is not installed"),
        ({"memory": Memory(allocations=0.0)}, "peak_bytes", "it could not be determined"),
        ({"instructions": Instructions(reason="no valgrind")}, "instructions", "no valgrind"),
        ({"tape": TapeSize(saved_bytes=8)}, "tape_instructions", "the engine does not report it"),
        ({"samples": []}, "total", "no process produced a time"),
        ({"samples": []}, "spread", "no process produced a time"),
        ({"samples": []}, "backward_forward", "no process produced a time"),
        ({"operations": None}, "operations_per_s", "the workload does not declare its operations"),
        ({"flops": None}, "flops_per_s", "the workload does not declare its flops"),
        ({"samples": [sample(forward=2.0, total=4.0)]}, "operations_per_s",
         "the time is too short: the harness takes as long"),
        ({"samples": [sample(forward=2.0, backward=900.0, total=905.0)]}, "backward_forward",
         "a time is too short: the harness takes as long"),
        ({"samples": [sample(forward=2.0, total=900.0)]}, "gradient_primal",
         "the engine does not evaluate without recording"),
        ({"samples": [sample(backward=2.0, total=900.0)]}, "forward", "the engine has no separate forward"),
        ({"accuracy": Accuracy(reference="d", relative_error=1e-7, tolerance=1e-4)}, "error_ulps",
         "only scalars have units in the last place"),
    ],
)  # fmt: skip
def test_the_reason_is_the_nearest_cause(fields, name, reason):
    changed = summarise(msgspec.structs.replace(FULL, **fields))
    assert name not in changed.numbers
    assert changed.reasons[name] == reason


@pytest.mark.parametrize("status", ["timeout", "crash", "wrong-gradient", "unsupported", "skipped", "invalid"])
def test_a_cell_that_did_not_run_to_its_end_has_no_times(status):
    found = metric.numbers(msgspec.structs.replace(FULL, status=status))
    assert [name for name in found if metric.metric(name).timed] == []
    assert not found.keys() & {"spread", "backward_forward", "gradient_primal", "operations_per_s"}
    assert found["gradient_error"].value == 1e-16


def test_no_metric_is_both_there_and_missing():
    for one in (FULL, measurement(), measurement(sample(primal=3.0)), measurement(status="crash")):
        found = summarise(one)
        assert not found.numbers.keys() & found.reasons.keys()
        assert found.numbers.keys() | found.reasons.keys() == {
            entry.name for entry in metric.metrics_of(one) if entry.is_of(CELL)
        }


def test_what_one_empty_call_costs():
    assert metric.harness_ns(FULL) == 20.0
    assert metric.harness_ns(measurement()) is None
