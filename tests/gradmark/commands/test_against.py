"""`check --against` for a user's engine in a repository of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradmark.store import runs
from gradmark.store.journal import Journal

ENGINE = """
from gradmark.engines.tapegrad import Tapegrad


class Mine(Tapegrad):
    name = "mine"
    constants_are_variables = {}

    def capabilities(self):
        {}
        return super().capabilities()
"""
CHECK = ["check", "--pairs", "2"]


def git(*arguments):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(gradmark, tmp_path, monkeypatch):
    """An engine that does not record constants, committed; the build command does nothing."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("pyproject.toml").write_text(
        '[tool.gradmark]\nengines = ["mine:Mine"]\nselect = ["constants"]\nbuild = ""\n'
        # on a busy machine two pairs are little
        '[tool.gradmark.budgets]\ntime = "900%"\nimport = "900%"\nprepare = "9s"\nfirst_call = "9s"\n'
    )
    Path("mine.py").write_text(ENGINE.format(False, ""))
    Path(".gitignore").write_text("/.gradmark/\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    yield gradmark
    for name in ("mine", "beside"):  # of another folder in the next test
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_nothing_changed(repository):
    called = repository(*CHECK, "--against", "HEAD")
    assert called.code == 0, called.out
    assert called.out.splitlines()[0] == (
        "note         times: calm blocks of 2 interleaved pairs of processes, 4 where they were flagged"
    )


@pytest.mark.slow
def test_a_change_of_the_engine_is_seen(repository):
    Path("mine.py").write_text(ENGINE.format(True, ""))
    called = repository(*CHECK, "--against", "HEAD")
    assert called.code == 1
    assert "fail         constants/n=1000@mine:Mine tape_instructions: 10 → 1000" in called.out


WORKLOAD = """
import gradmark, mine

@gradmark.workload(suite="own", stresses="a product")
def squared(ops, x):
    return x * x
"""


@pytest.mark.slow
def test_a_wrong_gradient_of_an_engine_that_the_workload_imports(repository):
    """The workload's folder comes first on the path: the other revision must have its own."""
    Path("bench.py").write_text(WORKLOAD)
    git("add", ".")
    git("commit", "-m", "a workload")
    assert repository(*CHECK, "bench.py", "--against", "HEAD").code == 0
    wrong = "\n    def prepare(self, workload, inputs, params):\n        import dataclasses\n"
    wrong += "        session = super().prepare(workload, inputs, params)\n        gradients = session.gradients\n"
    wrong += "        scaled = lambda: [g * (1 + 1e-7) for g in gradients()]\n"
    wrong += "        return dataclasses.replace(session, gradients=scaled)\n"
    Path("mine.py").write_text(ENGINE.format(False, "") + wrong)
    called = repository(*CHECK, "bench.py", "--against", "HEAD")
    assert called.code == 1
    assert "squared@mine:Mine of bench.py gradient_error: " in called.out
    assert "wrong-gradient, was ok" in called.out


@pytest.mark.slow
def test_a_workload_that_is_new_or_changed_is_told(repository):
    Path("bench.py").write_text(WORKLOAD)
    called = repository(*CHECK, "bench.py", "--against", "HEAD")
    assert called.code == 0
    assert called.out.splitlines()[0] == (
        "new          squared@mine:Mine of bench.py: nothing to compare with in the other revision: there is no file "
        "bench.py"
    )
    assert called.out.splitlines()[-1].endswith(": 1 cell is new")
    git("add", ".")
    git("commit", "-m", "a workload")
    Path("bench.py").write_text(WORKLOAD + "# more\n")
    called = repository(*CHECK, "bench.py", "--against", "HEAD")
    assert called.code == 0
    assert ", so that each side runs its own: bench.py\n" in called.out


@pytest.mark.slow
def test_a_module_of_the_other_side_stops_the_check(repository):
    Path("bench.py").write_text(f"import sys\nsys.path.insert(0, {os.getcwd()!r})\nimport beside\n{WORKLOAD}")
    Path("beside.py").touch()
    git("add", ".")
    git("commit", "-m", "a workload")
    called = repository(*CHECK, "bench.py", "--against", "HEAD")
    assert (called.code, called.out) == (2, "")
    assert f"gradmark: beside was loaded from {os.getcwd()}/beside.py, through {os.getcwd()} on sys.path" in called.err


@pytest.mark.slow
def test_an_engine_that_does_not_work_any_more(repository):
    Path("mine.py").write_text(ENGINE.format(False, "raise RuntimeError('broken today')"))
    called = repository(*CHECK, "--against", "HEAD")
    assert called.code == 1
    assert "constants/n=1000@mine:Mine status: error, was ok: engine 'mine:Mine': capabilities() failed: " in called.out


@pytest.mark.slow
def test_an_engine_that_never_worked_is_wrong_usage(repository):
    called = repository(*CHECK, "--against", "HEAD", "-e", "mine:Other")
    assert (called.code, called.out) == (2, "")
    assert "mine has no 'Other'" in called.err


@pytest.mark.slow
def test_it_goes_on_after_an_interruption_with_the_same_commit(repository, monkeypatch):
    real, kept = Journal.__call__, []

    def keep(journal, event):
        if len(kept) == 3:  # two inspections, and one side of a pair
            raise KeyboardInterrupt
        kept.append(event)
        real(journal, event)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "__call__", keep)
        assert repository(*CHECK, "--against", "HEAD").code == 130
    (path,) = Path(".gradmark/runs").iterdir()
    half = runs.load(path)
    (commit,) = (word for word in half.arguments if len(word) == 40)
    assert half.arguments == ["--pairs", "2", "--against", commit]
    called = repository("check", "--resume", "latest")
    assert (called.code, called.out.splitlines()[-1][:12]) == (0, "pass against")
    assert {len(m.samples) for m in runs.load(path).measurements} <= {2, 4}
    git("commit", "--allow-empty", "-m", "second")
    assert repository("check", "--resume", path).code == 0  # finished: it is only shown


@pytest.mark.slow
def test_another_commit_is_not_mixed_in(repository, monkeypatch):
    def keep(journal, event):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "__call__", keep)
        assert repository(*CHECK, "--against", "HEAD").code == 130
    git("commit", "--allow-empty", "-m", "second")
    called = repository("check", "--resume", "latest")
    assert (called.code, called.out) == (2, "")
    assert "check that commit out, or start a new run" in called.err


@pytest.mark.parametrize(
    ("reference", "build", "message"),
    [
        ("mian", "", "no revision is called 'mian'"),
        ("HEAD", "exit 7", "the build of HEAD (`exit 7`) failed with exit code 7; that is no regression"),
    ],
)
def test_no_reference_is_wrong_usage(repository, reference, build, message):
    text = Path("pyproject.toml").read_text()
    Path("pyproject.toml").write_text(text.replace('build = ""', f'build = "{build}"'))
    called = repository(*CHECK, "--against", reference)
    assert (called.code, called.out) == (2, "")
    assert f"gradmark: {message}" in called.err
