"""`gradmark list`: workloads, engines and runs, broken ones among them."""

import sys
import types

import msgspec
import pytest

from gradmark.engines import discovery
from gradmark.store import runs
from gradmark.workloads.selection import available


def test_workloads(gradmark):
    called = gradmark("list", "workloads")
    lines = called.out.splitlines()
    assert (called.code, lines[0]) == (0, "workloads")
    assert [line.split()[:2] for line in lines[1:]] == [[w.suite, w.name] for w in available()]
    assert "  scalar  shared             accumulation at shared values  (k: 4, 8, 16, 32)" in lines


@pytest.fixture
def engines(monkeypatch):
    module = types.ModuleType("engines_for_list")
    module.NotAnEngine = object
    monkeypatch.setitem(sys.modules, "engines_for_list", module)
    offered = {
        "null": discovery.BUILT_IN["null"],
        "absent": "no_such_module:Engine",
        "other": "engines_for_list:NotAnEngine",
    }
    monkeypatch.setattr(discovery, "known", lambda: offered)
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.usefixtures("engines")
def test_engines_and_what_they_lack(gradmark):
    called = gradmark("list", "engines")
    assert called.code == 0
    title, null, absent, other = called.out.splitlines()
    assert title == "engines"
    assert null.split(maxsplit=1) == ["null", "installed: null computes nothing"]
    assert absent.split(maxsplit=1)[1].startswith("missing: engine 'absent' cannot be imported: No module named")
    assert "lacks name, capabilities, prepare" in other


def test_no_runs(gradmark):
    assert gradmark("list", "runs") == (0, "runs in .gradmark/runs\n", "")


def test_runs_finished_interrupted_and_damaged(gradmark, finished, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    run = runs.load(finished)
    half = msgspec.structs.replace(run, id="half", measurements=run.measurements[:1], finished=False)
    for each in (run, half):
        runs.save(each, runs.path_of(each, store))
    (store / "zz.json").write_text("{")
    called = gradmark("list", "runs", "--store", store)
    title, first, second, third = called.out.splitlines()
    assert (called.code, title) == (0, f"runs in {store}")
    assert first == f"  {run.id}  {run.started}  2 of 2 cells ok"
    assert second == f"  half  {run.started}  1 of 2 cells ok  interrupted: gradmark run --resume half"
    assert third.startswith(f"  zz  {store / 'zz.json'} is not a run file, or is damaged")


def test_what_there_is_not(gradmark):
    called = gradmark("list", "engine")
    assert called.code == 2
    assert "'engine' is not one of 'workloads', 'engines', 'runs', 'all'" in called.err
