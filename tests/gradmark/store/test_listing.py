"""The list of runs: read from the ends of the files, whatever state they are in."""

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from gradmark.errors import StoreError
from gradmark.records import FORMAT_VERSION, Measurement
from gradmark.records.event import Inspected
from gradmark.store import listing, runs
from gradmark.store.journal import Journal
from gradmark.store.listing import headers, listed

DATA = Path(__file__).parents[2] / "data" / "runs"


@pytest.fixture
def written(begun, events, tmp_path):
    def until(count, name="20260101T000000-abc123"):
        with Journal.begin(begun(name), tmp_path) as keep:
            for event in events[:count]:
                keep(event)
        return keep.path

    return until


def test_a_finished_run(written, events):
    found = listed(written(len(events)))
    assert (found.id, found.verb, found.arguments) == ("20260101T000000-abc123", "contract", ["wörk", "-e", "e"])
    assert (found.engines, found.workloads, found.cells, found.processes) == (["e", "f", "g"], ["wörk"], 3, 2)
    assert (found.inspected, found.ok, found.samples, found.finished, found.problem) == (3, 1, 3, True, "")


def test_how_far_an_interrupted_run_is(written):
    steps = [listed(written(count, f"2026-{count}")) for count in range(7)]
    assert not any(found.finished for found in steps)
    assert [(found.inspected, found.ok, found.samples) for found in steps] == [
        (1, 0, 0), (2, 1, 0), (3, 2, 0), (3, 2, 1), (3, 2, 2), (3, 1, 2), (3, 1, 3),
    ]  # fmt: skip
    assert [round(found.share, 2) for found in steps] == [0.14, 0.29, 0.43, 0.57, 0.71, 1.0, 1.0]


def test_a_line_cut_short_is_passed_over(written):
    path = written(4)
    with open(path, "ab") as file:
        file.write(b'{"event":{"type":"Finished"},"tally":[9')
    assert listed(path).samples == 2
    path.write_bytes(path.read_bytes() + b"\0\n")
    assert listed(path).samples == 2


def test_lines_longer_than_what_is_read_at_once(written, monkeypatch):
    path = written(4)
    with Journal.resume(path) as keep:
        cell = keep.run.planned[0]
        keep(Inspected(measurement=Measurement(cell=cell, status="error", message="long " * 20_000)))
    found = listed(path)
    assert (found.ok, found.samples) == (1, 2)
    monkeypatch.setattr(listing, "END_BYTES", 64)
    assert listed(path) == found


def test_only_the_ends_are_read(written, events):
    path = written(len(events))
    whole = path.read_bytes().splitlines(keepends=True)
    # what stands between is never looked at: a thousand runs list in under a second
    path.write_bytes(b"".join([*whole[:2], b"rubbish" * 100_000 + b"\n", whole[-1]]))
    assert listed(path).finished


@pytest.mark.parametrize("damage", [lambda plan: plan[:-3] + b"\n", lambda plan: plan.replace(b"engine", b"motor", 1)])
def test_a_damaged_plan_is_said_as_it_is_when_the_run_is_loaded(written, events, damage):
    """Seen: `2 of 2 cells ok` of a run that no command could open."""
    path = written(len(events))
    first, plan, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, damage(plan), *rest]))
    with pytest.raises(StoreError) as caught:
        runs.load(path)
    assert listed(path).problem == str(caught.value)
    assert f"{path} is damaged in line 2: " in listed(path).problem


def test_a_file_with_nothing_but_its_header(written):
    path = written(0)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    assert listed(path).problem == (
        f"{path} is damaged in line 2: the line is cut short; the file was not changed: repair the line, or move the "
        "file away"
    )


def test_documents_are_listed_too(tmp_path):
    shutil.copy(DATA / "format-1.json", tmp_path)
    shutil.copy(DATA / "format-2.json", tmp_path)
    first, second = headers(tmp_path)
    assert (first.id, first.cells, first.ok, first.samples, first.finished) == ("20261101T000000-abc123", 1, 1, 1, True)
    assert (second.engines, second.workloads) == (["tapegrad", "jax"], ["expression", "matmul"])
    assert (second.cells, second.inspected, second.ok, second.finished) == (5, 4, 3, False)


def test_the_list_agrees_with_what_is_loaded(tmp_path, complete):
    runs.save(complete, tmp_path / "a.json")
    with Journal.begin(msgspec.structs.replace(complete, id="b", finished=False), tmp_path):
        pass
    document, lines = headers(tmp_path)
    same = [field for field in document.__struct_fields__ if field not in ("path", "id", "finished")]
    assert [getattr(document, f) for f in same] == [getattr(lines, f) for f in same]


@pytest.mark.parametrize("name", ["x.json", "x.jsonl"])
@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (b"", "not a run file, or damaged"),
        (b"{", "not a run file, or damaged"),
        (b"\xff\n\xff", "not a run file, or damaged"),
        (b'{"format_version": 99, "id": "x"}', "not a run file, or damaged"),
    ],
)
def test_what_cannot_be_read_is_listed_and_breaks_nothing(tmp_path, written, name, damage, problem):
    written(8)
    (tmp_path / name).write_bytes(damage)
    fine, broken = headers(tmp_path)
    assert (fine.problem, broken.id) == ("", "x")
    assert broken.problem.startswith(problem)


def test_a_newer_format_is_said(written):
    path = written(8)
    path.write_bytes(path.read_bytes().replace(b'"format_version":%d' % FORMAT_VERSION, b'"format_version":99', 1))
    assert "has format 99" in listed(path).problem


def test_a_folder_or_a_link_to_nothing_with_the_name_of_a_run(tmp_path):
    (tmp_path / "a.jsonl").mkdir()
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "nothing")
    assert [found.problem for found in headers(tmp_path)] == ["Is a directory", "No such file or directory"]


@pytest.mark.parametrize("line", [0, 1, -1])
def test_a_byte_that_is_no_utf8_hides_no_other_run(written, line):
    written(8)
    path = written(8, "20260102T000000-bad000")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace("ö".encode(), b"\xff", 1).replace(b"Finished", b"\xff")
    path.write_bytes(b"".join(lines))
    fine, broken = headers(path.parent)
    assert (fine.id, fine.problem) == ("20260101T000000-abc123", "")
    if line >= 0:
        assert f"damaged in line {line + 1}: Expected UTF-8, got the byte 0xff" in broken.problem
    else:
        assert (broken.problem, broken.finished) == ("", False)


def test_a_pipe_with_the_name_of_a_run_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.jsonl")
    assert [found.problem for found in headers(tmp_path)] == ["it is a pipe or a device, not a file"]
