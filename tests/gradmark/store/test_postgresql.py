"""The database store, on a real PostgreSQL: runs come back bit for bit, twice is once, and nothing is lost."""

import msgspec
import pytest

from gradmark.errors import StoreError
from gradmark.store import bundle, copying, document, journal, runs
from gradmark.store.journal import Journal
from gradmark.store.store import open_store

pytestmark = pytest.mark.slow  # each has a database of its own


@pytest.fixture
def store(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return open_store(url)


def packed(run):
    return bundle.of_run(run, journal.lines(run))


def named(run, name, **changes):
    return msgspec.structs.replace(run, id=name, **changes)


def test_a_run_comes_back_bit_for_bit(store, complete):
    run = packed(complete)
    assert store.add([run]) == 1
    assert store.contents(complete.id) == run.data
    assert store.load(store.find("latest")) == complete
    (listed,) = store.listed()
    assert (listed.ok, listed.cells, listed.samples, listed.finished) == (1, 3, 3, True)


def test_twice_is_once(store, complete):
    run = packed(complete)
    assert (store.add([run]), store.add([run]), store.add([run, packed(named(complete, "other"))])) == (1, 0, 1)
    assert list(store.held()) == [complete.id, "other"]


def test_a_run_that_went_on_replaces_what_there_was_of_it(store, begun, events, tmp_path):
    with Journal.begin(begun(), tmp_path) as keep:
        for event in events[:4]:
            keep(event)
        half = bundle.bundle(keep.path.read_bytes(), keep.path)
        for event in events[4:]:
            keep(event)
    whole = bundle.bundle(keep.path.read_bytes(), keep.path)
    assert [store.add([run]) for run in (half, whole, half, whole)] == [1, 1, 0, 0]
    assert store.contents(begun().id) == whole.data


def test_another_run_of_the_same_id_is_refused_and_nothing_is_lost(store, complete):
    run = packed(complete)
    store.add([run])
    other = packed(msgspec.structs.replace(complete, verb="scale"))
    with pytest.raises(StoreError, match="is another: neither was changed"):
        store.add([packed(named(complete, "new")), other])
    assert list(store.held()) == [complete.id]  # all or none
    assert store.contents(complete.id) == run.data


def test_names_that_a_database_has_no_text_for(store, complete):
    strange = named(complete, "run", arguments=["a\0b", "\\N", "\t", "{1,2}", '"'], verb="run")
    store.add([packed(strange)])
    assert store.load("run") == strange
    assert store.listed()[0].arguments[0] == "a␀b"


def test_arrays_are_arrays(store, complete):
    store.add([packed(complete)])
    with store.address.connect(read_only=True) as connection:
        rows = connection.execute(
            "select cell, process, phase, block_ns from gradmark.sample order by place"
        ).fetchall()
        numbers = connection.execute("select engine, value from gradmark.number where metric = 'total'").fetchall()
    assert rows[0] == ("wörk/n=3@e", 0, "total", [2.5, 3.5])
    assert numbers == [("e", 2.5)]


def test_outlines_are_those_of_the_runs(store, complete, tmp_path):
    folder = open_store(tmp_path / "folder")
    every = [packed(named(complete, f"run{k}", started=f"2026-01-0{k}T00:00:00+00:00")) for k in (1, 2, 3)]
    store.add(every)
    folder.add(every)
    for since in ("", "2026-01-02"):
        ours, theirs = (s.outlines(["total", "primal"], since).outlines for s in (store, folder))
        assert [(a.heading, a.column("total")) for a in ours] == [(b.heading, b.column("total")) for b in theirs]
    assert len(ours) == 2


def test_outlines_of_an_older_version_are_made_again(store, complete, server):
    store.add([packed(complete)])
    server.run(
        store.name.split("/")[3].partition("?")[0], "update gradmark.run set outline_version = 0, heading = '{}'"
    )
    (known,) = store.outlines(["total"]).outlines
    assert known.id == complete.id


def test_a_damaged_row_is_noticed(store, complete, server):
    store.add([packed(complete)])
    database = store.name.split("/")[3].partition("?")[0]
    server.run(database, "update gradmark.sample set block_ns[1] = 7 where place = 0")
    assert copying.check(store)[1] == [
        f"run {complete.id} in {store.name} is not what was uploaded; `gradmark store check` shows all such"
    ]
    server.run(database, "delete from gradmark.sample")
    assert "arrays of this run are missing" in copying.check(store)[1][0]


def test_from_a_folder_and_back(store, complete, tmp_path):
    """Documents of older formats too: they become journals."""
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(journal.lines(named(complete, "a")))
    (folder / "b.json").write_bytes(document.packed(named(complete, "b")))
    (folder / "c.jsonl").write_text("damaged\n")
    ours, back = open_store(folder), open_store(tmp_path / "back")
    first, second = (copying.copy(ours, store) for _ in range(2))
    assert (first.copied, first.there, len(first.problems)) == (2, 0, 1)
    assert (second.copied, second.there) == (0, 2)
    assert copying.copy(store, back).copied == 2
    assert (tmp_path / "back" / "a.jsonl").read_bytes() == (folder / "a.jsonl").read_bytes()
    assert runs.load(tmp_path / "back" / "b.jsonl") == named(complete, "b")
    assert copying.check(back) == (2, [])


@pytest.mark.slow
def test_many_are_copied_by_several_processes(store, complete, tmp_path, monkeypatch):
    monkeypatch.setattr(copying, "MANY", 4)
    folder = tmp_path / "many"
    folder.mkdir()
    for k in range(9):
        (folder / f"run{k}.jsonl").write_bytes(journal.lines(named(complete, f"run{k}")))
    result = copying.copy(open_store(folder), store)
    assert (result.copied, result.there, result.problems) == (9, 0, [])
    assert len(store.held()) == 9


def test_a_run_waits_on_this_disk_and_then_goes(store, begun, events):
    store.ready()
    with store.begin(begun()) as keep:
        assert list(store.held()) == [begun().id]  # a database that is full says so now
        for event in events:
            keep(event)
    assert keep.path.exists()
    assert store.put_away(keep.path) == f"{begun().id} in {store.name}"
    assert not keep.path.exists()
    assert store.load(begun().id).finished


def test_a_database_that_goes_away_in_the_middle(store, begun, events, server):
    store.ready()
    with store.begin(begun()) as keep:
        for event in events:
            keep(event)
        server.stop()
    try:
        where = store.put_away(keep.path)
        assert "where it is kept until then: " in where
        assert f"gradmark store copy {keep.path.parent}" in where
        with pytest.raises(StoreError, match="cannot be reached"):
            store.ready()
    finally:
        server.start()
    assert not store.load(begun().id).finished or keep.path.exists()
    store.ready()  # as the next run does
    assert not keep.path.exists()
    assert store.load(begun().id).finished


def test_an_unfinished_run_goes_on_here_or_from_the_database(store, begun, events, tmp_path, monkeypatch):
    store.ready()
    with store.begin(begun()) as keep:
        keep(events[0])
    store.put_away(keep.path)
    assert keep.path.exists()
    keep.path.unlink()  # another machine, or another folder
    with store.resume(begun().id) as again:
        assert again.run.measurements[0].cell == events[0].measurement.cell
        for event in events[1:]:
            again(event)
    store.put_away(again.path)
    assert store.load(begun().id).finished


def test_names_of_runs(store, complete):
    store.add([packed(named(complete, "20260101T000000-aaa")), packed(named(complete, "20260102T000000-bbb"))])
    assert store.find("20260101") == "20260101T000000-aaa"
    with pytest.raises(StoreError, match=r"2 runs in postgresql://.* match '2026'"):
        store.find("2026")
    with pytest.raises(StoreError, match=r"no run in postgresql://.* match 'x'; the newest are: 20260101T000000-aaa, "):
        store.find("x")
    with pytest.raises(StoreError, match="there is no run x in postgresql://"):
        store.contents("x")
