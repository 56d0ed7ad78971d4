"""The index: the outlines of a folder, as its run files have them, whatever somebody did to it or to them."""

import msgspec
import pytest

from gradmark.records.outline import number_of, outline
from gradmark.store import index, journal, runs


@pytest.fixture
def folder(complete, tmp_path):
    """Three finished runs and one that is not, without an index."""
    for k in range(4):
        run = msgspec.structs.replace(
            complete, id=f"run{k}", started=f"2026-01-0{k + 1}T00:00:00+00:00", finished=k < 3
        )
        (tmp_path / f"run{k}.jsonl").write_bytes(journal.lines(run))
    return tmp_path


def lines(folder):
    return (folder / index.NAME).read_bytes().splitlines()


def seen(known):
    return [(run.id, [value for value in run.column("total") if value is not None]) for run in known.outlines]


def test_outlines_are_those_of_the_files(folder):
    expected = seen(index.Known([outline(runs.load(folder / f"run{k}.jsonl")) for k in range(4)], []))
    assert seen(index.outlines(folder)) == expected
    assert len(lines(folder)) == 3
    assert seen(index.outlines(folder)) == expected  # from the index now
    known = index.outlines(folder).outlines[0]
    assert known.heading.environment == runs.load(folder / "run0.jsonl").environment
    assert [cell.engine for cell in known.heading.cells] == ["e"]
    assert number_of(known.column("total")[0]).processes == 2
    assert known.column("no such metric") == [None]


def test_only_since_then(folder):
    assert [run.id for run in index.outlines(folder, "2026-01-03").outlines] == ["run2", "run3"]


def test_a_file_that_changed_is_read_again(folder):
    index.outlines(folder)
    changed = msgspec.structs.replace(runs.load(folder / "run1.jsonl"), measurements=[])
    (folder / "run1.jsonl").write_bytes(journal.lines(changed))
    assert [len(run.heading.cells) for run in index.outlines(folder).outlines] == [1, 0, 1, 1]
    assert len(lines(folder)) == 4


@pytest.mark.parametrize("damage", [b"", b"\x00\xff\n", b'{"file":"run0.jsonl"}\n', b'{"file":"run0.jsonl","size":1'])
def test_a_damaged_index_is_no_more_than_slow(folder, damage):
    expected = seen(index.outlines(folder))
    (folder / index.NAME).write_bytes(damage)
    assert seen(index.outlines(folder)) == expected
    assert seen(index.outlines(folder)) == expected


def test_a_line_that_somebody_changed_is_named(folder):
    index.outlines(folder)
    text = (folder / index.NAME).read_text().replace('"cpu":"c"', '"cpu":7', 1)
    (folder / index.NAME).write_text(text)
    known = index.outlines(folder)
    assert len(known.outlines) == 3
    assert known.problems == [
        f"{folder / index.NAME} is damaged in the line of run0.jsonl: delete it: it will be rebuilt"
    ]


def test_a_file_that_cannot_be_read_is_named(folder):
    (folder / "bad.jsonl").write_text("{}")
    assert ["bad.jsonl" in problem for problem in index.outlines(folder).problems] == [True]


def test_many_lines_that_do_not_count_are_left_out(folder, monkeypatch):
    monkeypatch.setattr(index, "LEAST_STALE", 2)
    index.outlines(folder)
    for _ in range(6):
        index.append(folder, lines(folder)[:1] and [lines(folder)[0].replace(b"run0", b"gone") + b"\n"])
    index.outlines(folder)
    assert len(lines(folder)) == 3


def test_a_newer_way_to_come_by_numbers(folder, monkeypatch):
    index.outlines(folder)
    monkeypatch.setattr(index, "OUTLINE_VERSION", 2)
    assert len(index.outlines(folder).outlines) == 4
    assert len(lines(folder)) == 6
