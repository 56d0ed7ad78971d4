"""`gradmark list`: workloads, engines and runs, broken ones among them."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from gradmark.engines import discovery
from gradmark.records import Cell, Environment, Measurement, Run, Settings
from gradmark.records.event import Finished
from gradmark.store.journal import Journal
from gradmark.workloads.lookup import available

DATA = Path(__file__).parents[2] / "data" / "runs"


def test_workloads(gradmark):
    called = gradmark("list", "workloads")
    lines = called.out.splitlines()
    assert (called.code, lines[0]) == (0, "workloads")
    suites = [line.strip() for line in lines if line[:4].rstrip() and line.startswith("  ")]
    assert suites == list(dict.fromkeys(w.suite for w in available()))
    assert {w.name for w in available()} <= {line.split()[0] for line in lines[1:]}
    assert "    shared             accumulation at shared values (k: 4, 8, 16, 32)" in lines


def test_workloads_have_every_size_that_a_run_has_and_each_once(gradmark):
    """Seen: `n: 8, 32, 128, 512, 1024` while quick runs measure 256, and `gelu, gelu, tanh`."""
    text = " ".join(gradmark("list", "workloads").out.split())
    assert "matmul arithmetic (BLAS) (n: 8, 32, 128, 256, 512, 1024)" in text
    assert "square, gelu, 'gelu, tanh', where" in text


@pytest.mark.parametrize("what", ["workloads", "published"])
def test_lists_fit_a_narrow_terminal(gradmark, monkeypatch, what):
    """Seen: lines of 500 characters, which a terminal breaks inside of words."""
    monkeypatch.setenv("COLUMNS", "80")
    words = set(gradmark("list", what).out.split())
    assert max(len(line) for line in gradmark("list", what).out.splitlines()) <= 80
    monkeypatch.setenv("COLUMNS", "4000")
    assert set(gradmark("list", what).out.split()) == words


@pytest.fixture
def engines(gradmark, tmp_path, monkeypatch):
    """One engine of ours, and an installed package that offers three."""
    site = tmp_path / "site"
    facts = site / "engines_for_list-1.0.dist-info"
    facts.mkdir(parents=True)
    (site / "engines_for_list.py").write_text("NotAnEngine = object\n")
    (site / "ends_all.py").write_text("import os\nos._exit(0)\n")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: engines-for-list\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(
        "[gradmark.engines]\nabsent = no_such_module:Engine\nother = engines_for_list:NotAnEngine\n"
        "harmful = ends_all:Engine\n"
    )
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
    monkeypatch.setattr(discovery, "BUILT_IN", {"null": discovery.BUILT_IN["null"]})


@pytest.mark.usefixtures("engines")
def test_engines_and_what_they_lack(gradmark):
    """Seen: engines were imported here, so that one of them could end the list."""
    called = gradmark("list", "engines")
    assert called.code == 0
    names = [line.split(maxsplit=1) for line in called.out.splitlines() if line[:3] == "  " + line[2:3].strip()]
    assert names == [["null", "installed"], ["absent", "missing"], ["other", "broken"], ["harmful", "broken"]]
    text = " ".join(called.out.split())
    assert "null installed null computes nothing" in text
    assert "absent missing engine 'absent' cannot be imported from 'no_such_module:Engine': No" in text
    assert "lacks name, capabilities, prepare" in text
    assert (
        "harmful broken engine 'harmful' cannot be asked what it can do (crash): the worker ended without a result "
        "(exit code"
    ) in text
    assert "engines_for_list" not in sys.modules


def test_engines_with_their_derivatives_and_modes(gradmark, monkeypatch):
    name = "tapegrad:program"
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(discovery, "known", lambda: {name: discovery.BUILT_IN[name]})
    assert gradmark("list", "engines").out.splitlines() == [
        "engines",
        f"  {name:30} installed",
        "      gradient, vjp (rev); jvp (fwd); hvp (fwd-over-rev); sparse-jacobian,",
        "      sparse-hessian (coloured)",
    ]


def test_all_lists_stand_apart(gradmark, monkeypatch):
    monkeypatch.setattr(discovery, "known", lambda: {"null": discovery.BUILT_IN["null"]})
    lines = gradmark("list").out.splitlines()
    assert [line for line in lines if line[:1] not in (" ", "")] == [
        "workloads",
        "engines",
        "runs in .gradmark/runs: none",
    ]
    assert lines.count("") == 2


def test_no_runs(gradmark):
    assert gradmark("list", "runs") == (0, "runs in .gradmark/runs: none\n", "")


@pytest.fixture
def store(tmp_path):
    """Runs of several verbs: finished, interrupted, being written, and damaged."""
    folder = tmp_path / "store"
    folder.mkdir()
    here = Environment(cpu="c", cores=1, memory_bytes=1, os="o", python="p", packages={})
    opened = []

    def kept(name, verb, workloads, engines, *, inspected=0, finished=False):
        cells = [Cell(engine=e, workload=w, suite="s") for w in workloads for e in engines]
        run = Run(
            id=name, started="2026-11-16T14:08:14+00:00", environment=here, settings=Settings(processes=3), verb=verb,
            measurements=[Measurement(cell=cell, status="ok") for cell in cells[:inspected]], planned=cells,
        )  # fmt: skip
        journal = Journal.begin(run, folder)
        if finished:
            journal(Finished())
        opened.append(journal)
        return journal

    many = [f"workload_{k}" for k in range(40)]
    kept("20261116T140814-a45494", "run", many, ["tapegrad", "jax"], inspected=79, finished=True).close()
    kept("20261116T140815-b00000", "hypothesis", ["poly"], [f"engine{k}" for k in range(20)], inspected=20).close()
    kept("20261116T140816-c00000", "contract", ["poly"], ["tapegrad"])
    kept("20261116T140817-d00000", "pytest", ["mine"], ["tapegrad"]).close()
    kept("20261116T140818-e00000", "baseline update", ["poly"], ["tapegrad"], inspected=1, finished=True).close()
    (folder / "zz.jsonl").write_text("{")
    yield folder
    for journal in opened:
        journal.close()


def test_runs_say_what_was_run_and_how_far_it_got(gradmark, store, monkeypatch):
    """Seen: a list of times and counts, from which nobody could tell one run from another."""
    monkeypatch.setenv("COLUMNS", "80")
    called = gradmark("list", "runs", "--store", store)
    assert called.code == 0
    lines = called.out.splitlines()
    assert lines == [
        f"runs in {store} (times are UTC)",
        "  20261116T140814-a45494  2026-11-16 14:08  run         79 of 80 cells ok",
        "      workload_0, workload_1, workload_2 and 37 more on tapegrad, jax",
        "  20261116T140815-b00000  2026-11-16 14:08  hypothesis  interrupted, 25% done",
        "      poly on engine0, engine1 and 18 more",
        f"      continue with: gradmark hypothesis --resume 20261116T140815-b00000 --store {store}",
        "  20261116T140816-c00000  2026-11-16 14:08  contract    running, 0% done",
        "      poly on tapegrad",
        "  20261116T140817-d00000  2026-11-16 14:08  pytest      interrupted, 0% done",
        "      mine on tapegrad",
        "  20261116T140818-e00000  2026-11-16 14:08  baseline    1 of 1 cell ok",
        "      poly on tapegrad",
        "  zz  unreadable",
        "      not a run file, or damaged: Input data was truncated",
    ]
    assert max(len(line) for line in lines if str(store) not in line) <= 80


def test_older_files_are_listed_too(gradmark, tmp_path):
    shutil.copytree(DATA, tmp_path / "store")
    lines = gradmark("list", "runs", "--store", tmp_path / "store").out.splitlines()
    assert lines[1:5] == [
        "  20261101T000000-abc123  2026-11-01 00:00  run         1 of 1 cell ok",
        "      poly on tapegrad",
        "  20261116T140814-a45494  2026-11-16 14:08  run         interrupted, 77% done",
        "      expression, matmul on tapegrad, jax",
    ]


def test_what_there_is_not(gradmark):
    called = gradmark("list", "engine")
    assert called.code == 2
    assert "'engine' is not one of 'workloads', 'engines', 'runs', 'published', 'all'" in called.err
