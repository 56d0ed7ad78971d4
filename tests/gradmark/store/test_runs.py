"""Run files: found by name, read whatever their format, refused with a reason."""

import os
from pathlib import Path

import msgspec
import pytest

from gradmark.errors import StoreError
from gradmark.store import runs
from gradmark.store.journal import Journal


def test_what_is_saved_is_loaded(tmp_path, complete):
    path = tmp_path / "x.json"
    runs.save(complete, path)
    assert runs.load(path) == complete
    assert os.listdir(tmp_path) == ["x.json"]


def test_a_failed_write_leaves_the_old_file(tmp_path, complete, monkeypatch):
    path = tmp_path / "x.json"
    runs.save(complete, path)

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(StoreError, match="No space left on device; what was there before is untouched"):
        runs.save(msgspec.structs.replace(complete, finished=False), path)
    assert runs.load(path) == complete
    assert os.listdir(tmp_path) == ["x.json"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b'{"id": 3}', b"\xff\xfe", b"hello", b"{}\n{}\n"])
def test_what_is_no_run_file_is_refused_and_untouched(tmp_path, damage):
    for name in ("x.json", "x.jsonl"):
        path = tmp_path / name
        path.write_bytes(damage)
        with pytest.raises(StoreError, match="not a run file, or is damaged"):
            runs.load(path)
        assert path.read_bytes() == damage


def test_a_truncated_document(tmp_path, complete):
    path = tmp_path / "x.json"
    runs.save(complete, path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreError, match="damaged"):
            runs.load(path)


def test_a_document_that_holds_a_cell_twice(tmp_path, complete):
    """One of the two would be lost when the run is resumed."""
    path = tmp_path / "x.json"
    twice = msgspec.structs.replace(complete, measurements=[*complete.measurements, complete.measurements[0]])
    runs.save(twice, path)
    with pytest.raises(StoreError, match=f"damaged: it holds {complete.measurements[0].cell.id} twice"):
        runs.load(path)


def test_the_name_of_a_file_does_not_say_its_format(tmp_path, begun):
    path = Journal.begin(begun(), tmp_path).path
    assert runs.load(path.rename(tmp_path / "mine.json")) == begun()


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match="No such file"):
        runs.load(tmp_path / "none.json")


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be written.*--store"):
        runs.ready(tmp_path / "file" / "runs")
    runs.ready(tmp_path / "new" / "runs")
    assert list((tmp_path / "new" / "runs").iterdir()) == []


def test_a_disk_that_is_nearly_full(tmp_path, monkeypatch):
    usage = runs.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(runs.shutil, "disk_usage", lambda path: usage._replace(free=3 << 20))
    with pytest.raises(StoreError, match="only 3 MiB are free"):
        runs.ready(tmp_path)


@pytest.fixture
def folder(tmp_path, begun):
    """Runs of both formats and of several verbs."""
    runs.save(begun("20260101T000000-abc123", "run"), tmp_path / "20260101T000000-abc123.json")
    for name, verb in [("20260102T000000-def456", "contract"), ("20260103T000000-000000", "run")]:
        Journal.begin(begun(name, verb), tmp_path).close()
    return tmp_path


def test_runs_are_found_by_id_by_its_start_and_as_latest(folder):
    assert runs.find("20260101", folder).name == "20260101T000000-abc123.json"
    assert runs.find("20260102T000000-def456", folder).name == "20260102T000000-def456.jsonl"
    assert runs.find("latest", folder).stem == "20260103T000000-000000"
    assert runs.find("some/file.json", folder) == Path("some/file.json")
    assert runs.find("file.jsonl", folder) == Path("file.jsonl")
    with pytest.raises(StoreError, match=r"3 runs .* match '2026'"):
        runs.find("2026", folder)
    with pytest.raises(StoreError, match=r"no run .* matches 'x'; the newest are: 20260101T000000-abc123, 2026"):
        runs.find("x", folder)
    with pytest.raises(StoreError, match="the newest are: none"):
        runs.find("latest", folder / "empty")


def test_the_latest_of_a_verb(folder):
    """Seen: the advised `--resume` named the run of another verb."""
    (folder / "20260109T000000-bad000.jsonl").write_text("{")
    assert runs.find("latest", folder, verbs=["contract", "scale"]).stem == "20260102T000000-def456"
    assert runs.find("latest", folder, verbs=["run"]).stem == "20260103T000000-000000"
    with pytest.raises(StoreError, match="no run of hypothesis in"):
        runs.find("latest", folder, verbs=["hypothesis"])


def test_a_check_is_not_the_latest_run_to_be_shown(folder):
    shown = runs.find("latest", folder, runs.SHOWN_VERBS)
    latest = msgspec.structs.replace(runs.load(shown), id="20990101T000000-000000", verb="check")
    with runs.Journal.begin(latest, folder):
        pass
    assert runs.find("latest", folder).stem == latest.id
    assert runs.find("latest", folder, runs.SHOWN_VERBS) == shown


def test_of_two_runs_in_one_second_the_later_is_the_latest(tmp_path, begun):
    for place, name in enumerate(("20260101T000000-fff", "20260101T000000-000")):
        path = Journal.begin(begun(name), tmp_path).path
        os.utime(path, (place, place))
    assert runs.find("latest", tmp_path).stem == "20260101T000000-000"


def test_an_id_that_another_begins_with(tmp_path, begun):
    for name in ("a", "ab"):
        Journal.begin(begun(name), tmp_path)
    assert runs.find("a", tmp_path).stem == "a"
