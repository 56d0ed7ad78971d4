"""The journal: a line for each event, nothing lost whatever happens to the writer, and damage named."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from gradmark.errors import StoreError
from gradmark.records import FORMAT_VERSION, Run
from gradmark.records.event import GrowingRun
from gradmark.store import journal, runs
from gradmark.store.journal import Journal

DATA = Path(__file__).parents[2] / "data" / "runs"


@pytest.fixture
def written(begun, events, tmp_path):
    """A finished run's file."""
    with Journal.begin(begun(), tmp_path) as keep:
        for event in events:
            keep(event)
    return keep.path


def test_what_is_written_is_read(written, complete):
    assert runs.load(written) == complete
    assert written.name == "20260101T000000-abc123.jsonl"
    assert os.listdir(written.parent) == [written.name]


def test_every_field_of_a_begun_run_is_kept(begun, tmp_path):
    """Seen: the usual clock was no part of the first line, so that no run had one."""
    run = msgspec.structs.replace(begun(), clock_ns=8000.0, verb="ops", arguments=["-e", "e"], sources={"f.py": "a1"})
    Journal.begin(run, tmp_path).close()
    (path,) = tmp_path.iterdir()
    fields = [name for name in type(run).__struct_fields__ if name != "planned"]
    again = runs.load(path)
    assert [(name, getattr(again, name)) for name in fields] == [(name, getattr(run, name)) for name in fields]


def test_the_file_as_it_is(written):
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    header, planned, *rest = lines
    assert list(header)[:4] == ["format_version", "id", "started", "verb"]
    assert (header["cells"], header["engines"], header["workloads"]) == (3, ["e", "f", "g"], ["wörk"])
    assert header["settings"]["blocks"] == 8  # defaults too: those of a later version may differ
    assert len(planned["planned"]) == 3
    assert [(line["event"]["type"], *line["tally"]) for line in rest] == [
        ("Inspected", 1, 0, 0),
        ("Inspected", 2, 1, 0),
        ("Inspected", 3, 2, 0),
        ("Sampled", 3, 2, 1),
        ("Sampled", 3, 2, 2),
        ("Stopped", 3, 1, 2),
        ("Sampled", 3, 1, 3),
        ("Counted", 3, 1, 3),
        ("Finished", 3, 1, 3),
    ]


def test_an_event_costs_its_line_whatever_the_size_of_the_run(begun, events, tmp_path, monkeypatch):
    """Seen: the whole file was written and synced again after every sample."""
    sizes, syncs = [], []
    system_write = os.write
    keep = Journal.begin(begun(), tmp_path)
    monkeypatch.setattr(os, "write", lambda file, data: sizes.append(len(data)) or system_write(file, data))
    monkeypatch.setattr(os, "fsync", syncs.append)
    monkeypatch.setattr(journal, "SYNC_EVERY_S", 1e9)
    start = keep.path.stat().st_size
    for event in [*events[:2], *[events[2]] * 500]:
        keep(event)
    assert sum(sizes) == keep.path.stat().st_size - start
    assert len(set(sizes[2:11])) == 1
    assert sizes[-1] - sizes[2] == len("500") - len("1")  # the tally
    assert syncs == []
    keep.close()
    assert len(syncs) == 1


def test_now_and_then_the_disk_is_waited_for(begun, events, tmp_path, monkeypatch):
    keep, syncs, clock = Journal.begin(begun(), tmp_path), [], [time.monotonic()]
    monkeypatch.setattr(os, "fsync", syncs.append)
    monkeypatch.setattr(journal.time, "monotonic", lambda: clock[0])
    for _ in range(12):
        clock[0] += 1.0
        keep(events[0])
    assert len(syncs) == 2


@pytest.mark.slow
def test_a_cut_at_any_byte_loses_at_most_its_own_line(begun, events, written, tmp_path):
    whole = written.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    growing = GrowingRun(begun())
    expected = [growing.run]
    for event in events:
        growing.add(event)
        expected.append(growing.run)
    cut = tmp_path / "cut.jsonl"
    first = ends[2]  # what the run had when it was begun is written as a whole
    for length in range(first, len(whole) + 1):
        cut.write_bytes(whole[:length])
        assert runs.load(cut) == expected[sum(end <= length for end in ends) - 3]


def test_a_last_line_of_rubbish_is_a_line_cut_short(written, complete):
    """What a power failure may leave: a length that was written, and bytes that were not."""
    with open(written, "ab") as file:
        file.write(b"\0" * 40 + b"\n")
    assert runs.load(written) == complete


@pytest.mark.parametrize("line", [2, 3, 6])
@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"event":{"type":"Nothing"},"tally":[]}', b"\xff"])
def test_a_damaged_line_is_named_and_nothing_is_changed(written, line, damage):
    lines = written.read_bytes().split(b"\n")
    lines[line - 1] = damage
    written.write_bytes(b"\n".join(lines))
    for opened in (runs.load, Journal.resume):
        with pytest.raises(StoreError, match=rf"abc123.jsonl is damaged in line {line}: .*; the file was not changed"):
            opened(written)
    assert written.read_bytes() == b"\n".join(lines)


def test_a_missing_inspection_is_named(written):
    lines = written.read_bytes().splitlines(keepends=True)
    written.write_bytes(b"".join(lines[:3] + lines[4:]))
    with pytest.raises(StoreError, match=r"damaged in line 5: cell 'wörk/n=3@e' was not inspected before"):
        runs.load(written)


def test_a_newer_format(written):
    written.write_bytes(
        written.read_bytes().replace(b'"format_version":%d' % FORMAT_VERSION, b'"format_version":99', 1)
    )
    with pytest.raises(StoreError, match="has format 99, this gradmark reads up to 6; install a newer gradmark"):
        runs.load(written)


def test_an_interrupted_run_goes_on(begun, events, complete, tmp_path):
    with Journal.begin(begun(), tmp_path) as keep:
        for event in events[:4]:
            keep(event)
    with open(keep.path, "ab") as file:
        file.write(b'{"event":{"type":"Sam')
    with Journal.resume(keep.path) as again:
        assert [len(m.samples) for m in again.run.measurements] == [1, 1, 0]
        for event in events[4:]:
            again(event)
    assert runs.load(keep.path) == complete
    assert keep.path.read_bytes().count(b"\n") == 2 + 1 + len(events)


def test_a_run_is_not_written_by_two(begun, events, tmp_path):
    with Journal.begin(begun(), tmp_path) as keep:
        with pytest.raises(StoreError, match="is in use: another gradmark is measuring this run"):
            Journal.resume(keep.path)
        keep(events[0])
    with Journal.resume(keep.path) as again:
        assert len(again.run.measurements) == 2


def test_a_run_is_begun_once(begun, tmp_path):
    path = Journal.begin(begun(), tmp_path).path
    before = path.read_bytes()
    with pytest.raises(
        StoreError, match=r"exists already; go on with it by `gradmark contract --resume .*abc123.jsonl`"
    ):
        Journal.begin(begun(), tmp_path)
    assert path.read_bytes() == before


def test_a_file_of_an_older_format_goes_on_beside_itself(tmp_path):
    shutil.copy(DATA / "format-2.json", tmp_path / "20261116T140814-a45494.json")
    old = tmp_path / "20261116T140814-a45494.json"
    for _ in range(2):  # the second time it is the new file that goes on
        with Journal.resume(old) as keep:
            assert keep.path == old.with_suffix(".jsonl")
            assert keep.run == msgspec.structs.replace(runs.load(old), format_version=FORMAT_VERSION)
    assert old.read_bytes() == (DATA / "format-2.json").read_bytes()
    assert runs.find("2026", tmp_path) == keep.path  # one run, not two


def test_a_full_disk_leaves_whole_lines(begun, events, tmp_path, monkeypatch):
    keep = Journal.begin(begun(), tmp_path)
    keep(events[0])
    before = keep.path.read_bytes()
    system_write = os.write

    def nearly_full(file, data):
        if len(data) <= 20:
            raise OSError(28, "No space left on device")
        return system_write(file, data[:20])

    monkeypatch.setattr(os, "write", nearly_full)
    with pytest.raises(StoreError, match=r"No space left on device; what was measured before is in it; make room"):
        keep(events[1])
    assert keep.path.read_bytes() == before
    monkeypatch.undo()
    keep(events[1])  # there is room again
    keep.close()
    assert [m.status for m in runs.load(keep.path).measurements] == ["ok", "ok", "unsupported"]


def test_a_folder_that_is_not_there(begun, tmp_path):
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        Journal.begin(begun(), tmp_path / "none")


def test_closing_twice(begun, tmp_path):
    keep = Journal.begin(begun(), tmp_path)
    keep.close()
    keep.close()


WRITER = """
import sys
from pathlib import Path
from gradmark.records import Cell, Environment, Measurement, Phase, Run, Sample, Settings
from gradmark.records.event import Inspected, Sampled
from gradmark.store.journal import Journal

cell = Cell(engine="e", workload="w", suite="s")
here = Environment(cpu="c", cores=1, memory_bytes=1, os="o", python="p", packages={})
start = "2026-01-01T00:00:00+00:00"
run = Run(id="killed", started=start, environment=here, settings=Settings(), measurements=[], planned=[cell])
keep = Journal.begin(run, Path(sys.argv[1]))
keep(Inspected(measurement=Measurement(cell=cell, status="ok")))
for number in range(10**9):
    phases = {"total": Phase(iterations=1, block_ns=[float(k) for k in range(500)])}
    keep(Sampled(cell=cell.id, sample=Sample(process=number, phases=phases, once_ns={}, harness_ns=1.0, clock_ns=1.0)))
    print(number, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_it_said(tmp_path):
    with subprocess.Popen([sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE) as process:
        said = [int(process.stdout.readline()) for _ in range(20)]
        time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        said += [int(line) for line in process.stdout if line.endswith(b"\n")]
    assert process.returncode == -signal.SIGKILL
    path = tmp_path / "killed.jsonl"
    (measurement,) = runs.load(path).measurements
    numbers = [sample.process for sample in measurement.samples]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= len(said)
    with Journal.resume(path) as keep:  # the lock died with its holder
        assert len(keep.run.measurements[0].samples) == len(numbers)


def test_documents_are_no_journals():
    assert not journal.is_journal((DATA / "format-1.json").read_bytes())
    assert not journal.is_journal(b"")


@pytest.mark.parametrize("line", range(1, 11))
def test_a_byte_that_is_no_utf8_is_named_with_its_line(written, line):
    """Seen: one such byte in one file was a traceback of `list` and `history`, whatever other runs there were."""
    lines = written.read_bytes().split(b"\n")
    assert len(lines) == 12
    lines[line - 1] = lines[line - 1].replace("ö".encode(), "ö".encode("latin-1"), 1)
    written.write_bytes(b"\n".join(lines))
    with pytest.raises(
        StoreError, match=rf"abc123.jsonl is damaged in line {line}: Expected UTF-8, got the byte 0xf6 "
    ):
        runs.load(written)


def test_what_could_not_be_read_is_not_written(begun, tmp_path):
    """Seen: `sizes={"n": [float("inf")]}` and `suite=5` gave files that nobody could open."""
    for change in (
        {"params": {"n": float("inf")}},
        {"suite": 5},
        {"suite": "\ud800"},
        {"workload": "\ud800"},
        {"params": {"n": 10**30}},
    ):
        cell = msgspec.structs.replace(begun().planned[0], **change)
        said = "a run file cannot hold this, because it could not be read back: Expected "
        with pytest.raises(StoreError, match=said):
            Journal.begin(msgspec.structs.replace(begun(), planned=[cell]), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_sample_that_could_not_be_read_leaves_the_file_as_it_was(begun, events, tmp_path):
    with Journal.begin(begun(), tmp_path) as keep:
        keep(events[0])
        before = keep.path.read_bytes()
        sample = msgspec.structs.replace(events[2].sample, harness_ns=float("nan"))
        with pytest.raises(StoreError, match="could not be read back"):
            keep(msgspec.structs.replace(events[2], sample=sample))
        assert keep.path.read_bytes() == before
        keep(events[2])
    assert len(runs.load(keep.path).measurements[0].samples) == 1


def test_what_a_damaged_plan_lacks_is_not_lost(written, complete):
    lines = written.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"engine":"f"', b'"engine":"x"')
    written.write_bytes(b"".join(lines))
    assert {m.cell.id for m in runs.load(written).measurements} == {m.cell.id for m in complete.measurements}


def test_all_that_a_run_has_is_in_its_file(begun, tmp_path):
    """Seen: the clock at which times are stated was not, so that a run that was opened again had others."""
    usual = {"settings", "environment", "measurements", "format_version", "planned"}
    run = msgspec.structs.replace(begun(), measurements=[], clock_ns=12.5, sources={"a": "b"})
    with Journal.begin(run, tmp_path) as keep:
        again = runs.load(keep.path)
    for field in Run.__struct_fields__:
        if field not in usual:
            assert getattr(again, field) == getattr(run, field), field
