"""Run files: written whole or not at all, read back as they were, refused with a reason."""

import os

import msgspec
import pytest

from gradmark.errors import StoreError
from gradmark.records import Cell, Environment, Measurement, Run, Settings
from gradmark.store import runs


def a_run(name="20260101T000000-abc123"):
    environment = Environment(cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={"numpy": "2"})
    cell = Cell(engine="e", workload="w", suite="s", params={"n": 3})
    return Run(
        id=name,
        started="2026-01-01T00:00:00+00:00",
        environment=environment,
        settings=Settings(),
        measurements=[Measurement(cell=cell, status="crash", message="ö")],
        planned=[cell],
    )


def test_what_is_saved_is_loaded(tmp_path):
    path = runs.path_of(a_run(), tmp_path)
    runs.save(a_run(), path)
    assert runs.load(path) == a_run()
    assert os.listdir(tmp_path) == [path.name]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = runs.path_of(a_run(), tmp_path)
    runs.save(a_run(), path)

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(StoreError, match="No space left on device; what was there before is untouched"):
        runs.save(msgspec.structs.replace(a_run(), finished=True), path)
    assert runs.load(path) == a_run()
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b'{"id": 3}', b"\xff\xfe", b"hello"])
def test_what_is_no_run_file_is_refused_and_untouched(tmp_path, damage):
    path = tmp_path / "x.json"
    path.write_bytes(damage)
    with pytest.raises(StoreError, match="not a run file, or is damaged"):
        runs.load(path)
    assert path.read_bytes() == damage


def test_a_truncated_run_file(tmp_path):
    path = tmp_path / "x.json"
    runs.save(a_run(), path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreError, match="damaged"):
            runs.load(path)


def test_a_newer_format(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(a_run(), format_version=99)))
    with pytest.raises(StoreError, match="has format 99, this gradmark reads up to 2; install a newer gradmark"):
        runs.load(path)


def test_fields_that_are_not_known_yet_are_passed_over(tmp_path):
    path = tmp_path / "x.json"
    data = msgspec.json.decode(msgspec.json.encode(a_run()))
    path.write_bytes(msgspec.json.encode({**data, "something_new": 1}))
    assert runs.load(path) == a_run()


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


def test_runs_are_found_by_id_by_its_start_and_as_latest(tmp_path):
    for name in ("20260101T000000-abc123", "20260102T000000-def456"):
        runs.save(a_run(name), runs.path_of(a_run(name), tmp_path))
    assert runs.find("20260101", tmp_path).stem == "20260101T000000-abc123"
    assert runs.find("latest", tmp_path).stem == "20260102T000000-def456"
    assert str(runs.find("some/file.json", tmp_path)) == "some/file.json"
    with pytest.raises(StoreError, match=r"2 runs .* match '2026'"):
        runs.find("2026", tmp_path)
    with pytest.raises(StoreError, match=r"no run .* match 'x'; the newest are: 20260101T000000-abc123, 2026"):
        runs.find("x", tmp_path)
    with pytest.raises(StoreError, match="the newest are: none"):
        runs.find("latest", tmp_path / "empty")


def test_a_run_file_of_format_1(tmp_path):
    """As the first version wrote it, before there were tensors."""
    path = tmp_path / "old.json"
    path.write_text(
        '{"id":"20261101T000000-abc123","started":"2026-11-01T00:00:00+00:00","environment":{"cpu":"c","cores":2,'
        '"memory_bytes":1,"os":"o","python":"p","packages":{}},"settings":{},"measurements":[{"cell":{"engine":'
        '"tapegrad","workload":"poly","suite":"scalar","params":{"n":10}},"status":"ok","samples":[{"process":0,"phases":'
        '{"total":{"how":"measured","iterations":3,"block_ns":[5.0,4.0]}},"once_ns":{"import":1.0},"harness_ns":30.0,'
        '"clock_ns":1.0}],"tape":{"instructions":20},"accuracy":{"reference":"mpmath, 50 digits",'
        '"relative_error":1e-16,"ulps":0.5,"tolerance":1e-9},"operations":20}],"finished":true}'
    )
    run = runs.load(path)
    (found,) = run.measurements
    assert (run.format_version, found.cell.dtype, found.operations) == (1, "float64", 20)
    assert (found.shapes, found.flops, found.bytes) == ({}, None, None)
