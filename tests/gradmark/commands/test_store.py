"""`gradmark store`, and the verbs on a database: the same answers as from a folder, and nothing secret anywhere."""

import json

import pytest

from gradmark.store import runs


@pytest.mark.slow
def test_a_run_in_a_database(gradmark, url, quick, tmp_path):
    """As a user has it: run, list, history, compare, report, and back to files."""
    called = gradmark("run", "expression", *quick, "--store", url)
    assert called.code == 0, called.err
    assert f" in {url}" in called.out.splitlines()[-1]
    assert list(tmp_path.glob(".gradmark/**/*.jsonl")) == []
    assert "1 of 1 cell ok" in gradmark("list", "runs", "--store", url).out
    assert gradmark("store", "copy", url, "copy").out == "1 run copied to copy, 0 already there\n"
    for verb in (["history", "--json"], ["report"], ["list", "runs"]):
        from_database, from_folder = (gradmark(*verb, "--store", where) for where in (url, "copy"))
        assert (from_database.code, from_folder.code) == (0, 0)
        if verb[0] == "history":
            assert json.loads(from_database.out) == json.loads(from_folder.out)
    assert gradmark("store", "check", url).out == f"{url}: 1 run, 0 of them damaged\n"
    assert gradmark("compare", "latest", "latest", "--store", url).code == 2


@pytest.mark.slow
def test_the_database_goes_away_during_a_run(gradmark, server, url, quick, monkeypatch, tmp_path):
    from gradmark.measure.orchestrator import Orchestrator

    finish = Orchestrator.finish

    def away(self):
        server.stop()
        finish(self)

    monkeypatch.setattr(Orchestrator, "finish", away)
    try:
        called = gradmark("run", "expression", *quick, "--store", url)
    finally:
        server.start()
    assert called.code == 0
    assert "where it is kept until then: " in called.out
    (file,) = tmp_path.glob(".gradmark/waiting/*/*.jsonl")
    assert runs.load(file).finished
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert gradmark("store", "copy", file.parent, url).code == 0
    assert "1 of 1 cell ok" in gradmark("list", "runs", "--store", url).out


@pytest.mark.parametrize(
    "verb", [["run", "expression"], ["list", "runs"], ["history"], ["report"], ["compare", "a"], ["store", "init"]]
)
def test_a_password_gets_nowhere(gradmark, verb, tmp_path):
    where = ["postgresql://me:geheim@db/runs"] if verb[0] == "store" else ["--store", "postgresql://me:geheim@db/runs"]
    called = gradmark(*verb, *where)
    assert called.code == 2
    assert called.err.startswith("gradmark: the URL of the store has a password")
    assert "geheim" not in called.out + called.err
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_no_store_is_refused_before_anything_is_measured(gradmark, empty_database, tmp_path):
    called = gradmark("run", "expression", "--store", empty_database)
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith(f"gradmark: {empty_database} is not a gradmark store; make it one with ")
    assert list(tmp_path.iterdir()) == []


def test_making_a_store(gradmark, empty_database, tmp_path):
    assert gradmark("store", "init", empty_database).out == f"{empty_database}: made a store, schema 1\n"
    assert gradmark("store", "init", empty_database).out == f"{empty_database}: up to date already, schema 1\n"
    said = gradmark("store", "init", "folder").out
    assert said == "folder: a folder is a store already; only a database needs this\n"


def test_copying_from_what_is_not_there(gradmark):
    called = gradmark("store", "copy", "nowhere", "somewhere")
    assert (called.code, called.err) == (2, "gradmark: there is no folder nowhere to copy from\n")


def test_a_damaged_file_is_named_and_the_others_are_copied(gradmark, finished, tmp_path):
    folder = finished.parent
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / finished.name).write_bytes(finished.read_bytes())
    (tmp_path / "from" / "bad.jsonl").write_text("{}\n")
    called = gradmark("store", "copy", "from", "to")
    assert (called.code, called.out) == (1, "1 run copied to to, 0 already there\n")
    assert called.err.startswith("not copied: ")
    assert gradmark("store", "check", "from").code == 1
    assert gradmark("store", "check", "to").code == 0
    assert folder.exists()


@pytest.mark.slow
def test_a_run_that_times_something_is_calibrated_once(gradmark, quick, monkeypatch, tmp_path):
    monkeypatch.setenv("GRADMARK_CALIBRATION_S", "0.01")
    assert gradmark("run", "expression", "poly/n=10", *quick).code == 0
    (path,) = (tmp_path / ".gradmark" / "runs").glob("*.jsonl")
    (calibration,) = runs.load(path).calibrations
    assert "interpreter" in calibration.levels
    assert gradmark("baseline", "update", "expression").code == 0  # nothing is timed
    latest = max((tmp_path / ".gradmark" / "runs").glob("*.jsonl"), key=lambda file: file.stat().st_mtime_ns)
    assert runs.load(latest).calibrations == []
