"""Each of two revisions loads its own files of the repository; one that does not stops the check.

What is changed here shows in a count, so that nothing depends on times: recorded constants make one instruction 100.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradmark.errors import RevisionError
from gradmark.measure import process
from gradmark.measure.job import Job
from gradmark.records import Cell, Settings
from gradmark.revisions import checkout

pytestmark = pytest.mark.slow
ENGINE = """
from gradmark.engines.tapegrad import Tapegrad

class Mine(Tapegrad):
    name = "mine"
    constants_are_variables = {}
"""
OLD, NEW = ENGINE.format(False), ENGINE.format(True)
WORKLOAD = """
import gradmark
{}

@gradmark.workload(suite="mine", stresses="constants")
def shift(ops, x):
    c = ops.constant(1.0)
    for _ in range(99):
        c = c * 0.5
    return x * c
"""
PLAIN = WORKLOAD.format("")
OTHER = PLAIN.replace("def shift", "def other")
SETTINGS = Settings(memory=False, pin=False)


def git(*arguments):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], check=True, capture_output=True)


def write(files):
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def commit(files):
    write({".gitignore": "/.gradmark/\n", **files})
    git("add", ".")
    git("commit", "-m", "next")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """The current folder: an empty repository."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    git("init")
    return folder


def inspected(engine="duals:Mine", file: str | Path = "shift.py"):
    """What the two sides say of the workload, before and now."""
    places = checkout.build("HEAD", "").places
    cell = Cell(engine=engine, workload="shift", suite="mine", file=os.path.abspath(file))
    return [process.run(Job(kind="inspect", cell=cell, settings=SETTINGS), place=places[s]) for s in ("before", "now")]


def counts(*arguments, **named):
    results = inspected(*arguments, **named)
    assert [result.status for result in results] == ["ok", "ok"], results
    return [result.tape.instructions for result in results]


def test_a_module_beside_the_workload(repository):
    """The workload imports the engine: the worker has it before it is asked for."""
    commit({"shift.py": WORKLOAD.format("import duals"), "duals.py": OLD})
    write({"duals.py": NEW})
    assert counts() == [1, 100]


def test_what_the_workload_imports_from_beside_it(repository):
    text = WORKLOAD.format("from beside import AGAIN").replace("x * c", "x * c * x if AGAIN else x * c")
    commit({"shift.py": text, "beside.py": "AGAIN = False\n", "duals.py": OLD})
    write({"beside.py": "AGAIN = True\n"})
    assert counts() == [1, 2]


def test_the_workload_itself(repository):
    commit({"shift.py": PLAIN, "duals.py": OLD})
    write({"shift.py": PLAIN.replace("x * c", "x * c * x")})
    assert counts() == [1, 2]


def test_a_package_of_the_repository(repository, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ".")
    commit({"bench/shift.py": WORKLOAD.format("from mypkg import C"), "mypkg/__init__.py": f"{OLD}\nC = 1\n"})
    write({"mypkg/__init__.py": f"{NEW}\nC = 1\n"})
    assert counts("mypkg:Mine", "bench/shift.py") == [1, 100]


@pytest.mark.parametrize("through", ["relative", "absolute", "link"])
def test_folders_on_the_path(repository, tmp_path, monkeypatch, through):
    (tmp_path / "link").symlink_to(repository)
    entry = {"relative": "src", "absolute": repository / "src", "link": tmp_path / "link" / "src"}[through]
    monkeypatch.setenv("PYTHONPATH", str(entry))
    commit({"shift.py": WORKLOAD.format("import duals"), "src/duals.py": OLD})
    write({"src/duals.py": NEW})
    assert counts() == [1, 100]


def test_a_repository_that_is_reached_through_a_link(repository, tmp_path, monkeypatch):
    commit({"below/shift.py": WORKLOAD.format("import duals"), "below/duals.py": OLD})
    write({"below/duals.py": NEW})
    (tmp_path / "link").symlink_to(repository / "below")
    monkeypatch.chdir(tmp_path / "link")
    assert counts(file=tmp_path / "link" / "shift.py") == [1, 100]


def test_a_link_inside_of_the_repository_is_each_revisions_own(repository):
    write({"old.py": OLD, "new.py": NEW, "shift.py": WORKLOAD.format("import duals")})
    Path("duals.py").symlink_to("old.py")
    commit({})
    Path("duals.py").unlink()
    Path("duals.py").symlink_to("new.py")
    assert counts() == [1, 100]


# --- what only one side has


@pytest.mark.parametrize(
    ("committed", "present", "message"),
    [
        ({"duals.py": OLD}, {"shift.py": PLAIN}, "there is no file shift.py"),
        ({"duals.py": OLD, "shift.py": OTHER}, {"shift.py": PLAIN}, "shift.py has no workload called 'shift'"),
        ({"duals.py": OLD, "shift.py": "C = 1\n"}, {"shift.py": PLAIN}, "has no workload"),
        ({"shift.py": PLAIN}, {"duals.py": OLD}, "No module named 'duals'"),
        ({"shift.py": PLAIN, "duals.py": "C = 1\n"}, {"duals.py": OLD}, "duals has no 'Mine'"),
    ],
)
def test_what_the_other_revision_does_not_have_is_new(repository, committed, present, message):
    commit(committed)
    write(present)
    before, now = inspected()
    assert (before.status, before.new, now.status, now.new) == ("unsupported", True, "ok", False)
    assert message in before.message


def test_what_it_has_but_cannot_import_is_not_new(repository, monkeypatch):
    """As if it had to be built: the engine's module is there, but nowhere on the path."""
    commit({"shift.py": PLAIN, "lib/mypkg/duals.py": OLD, "lib/mypkg/__init__.py": ""})
    shutil.copytree("lib/mypkg", "mypkg")
    before, now = inspected("mypkg.duals:Mine")
    assert (before.status, before.new, now.status) == ("error", False, "ok")


def test_a_module_that_an_engine_lacks_does_not_make_it_new(repository):
    commit({"shift.py": PLAIN, "duals.py": f"import fast\n{OLD}"})
    write({"fast.py": ""})
    before, now = inspected()
    assert (before.status, before.new, now.status) == ("error", False, "ok")
    assert "No module named 'fast'" in before.message


def test_a_folder_that_the_other_revision_does_not_have(repository, monkeypatch):
    commit({"README": ""})
    write({"below/shift.py": PLAIN, "below/duals.py": OLD})
    monkeypatch.chdir("below")
    before, now = inspected()
    assert (before.new, now.status) == (True, "ok")


# --- what is of neither, or of both


def test_files_outside_of_the_repository_are_shared_and_told(repository, tmp_path, monkeypatch):
    outside = tmp_path / "outside"
    write({outside / "shift.py": WORKLOAD.format("import beside, whole.part"), outside / "beside.py": ""})
    write({outside / "whole" / "__init__.py": "", outside / "whole" / "part.py": ""})
    commit({"duals.py": OLD})
    write({"duals.py": NEW})
    before, now = inspected(file=outside / "shift.py")
    assert [before.tape.instructions, now.tape.instructions] == [1, 100]
    told = [path for path in now.shared if "tapegrad" not in path]  # which may be installed as an editable
    assert told == [str(outside / name) for name in ("beside.py", "shift.py", "whole")]
    assert before.shared == now.shared


# --- what stops the check


def refused(*arguments, **named):
    with pytest.raises(RevisionError) as caught:
        inspected(*arguments, **named)
    return str(caught.value)


def test_a_module_of_the_other_side(repository):
    commit({"shift.py": WORKLOAD.format(f"import sys; sys.path.insert(0, {str(repository)!r}); import beside")})
    commit({"duals.py": OLD, "beside.py": ""})
    message = refused()
    assert message.startswith(
        f"beside was loaded from {repository}/beside.py, through {repository} on sys.path, which is not of the revision"
    )
    assert "Look for the absolute path of a repository in sys.path.insert, PYTHONPATH, a .pth file" in message


def test_code_that_is_run_without_becoming_a_module(repository):
    lines = (
        f"path = {str(repository / 'duals.py')!r}; space = dict(__name__='x')\n"
        "exec(compile(open(path).read(), path, 'exec'), space)\nMine = space['Mine']"
    )
    commit({"shift.py": WORKLOAD.format(lines), "duals.py": f"{OLD}\n    def helper(self): pass\n"})
    assert refused().startswith(f"duals.py was loaded from {repository}/duals.py")


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say which libraries are loaded")
def test_a_library_of_the_other_side(repository):
    import msgspec._core

    library = repository / "fast.so"
    shutil.copy(msgspec._core.__file__, library)
    commit({"shift.py": WORKLOAD.format(f"import ctypes; ctypes.CDLL({str(library)!r})"), "duals.py": OLD})
    assert refused().startswith(f"fast.so was loaded from {library}")


def test_a_committed_link_to_the_other_side(repository):
    write({"real.py": OLD, "shift.py": WORKLOAD.format("import duals")})
    Path("duals.py").symlink_to(repository / "real.py")
    commit({})
    assert refused().startswith(f"duals was loaded from {repository}/real.py")


def test_another_checkout_of_the_same_repository(repository, tmp_path, monkeypatch):
    commit({"shift.py": WORKLOAD.format("import duals"), "duals.py": OLD})
    git("worktree", "add", str(tmp_path / "second"))
    Path("duals.py").unlink()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "second"))
    assert refused().startswith(f"duals was loaded from {tmp_path}/second/duals.py")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder of packages that both sides see."""
    folder = tmp_path / "environment" / "site-packages"
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def test_an_installed_copy_that_both_sides_would_use(repository, installed):
    """As after `pip install .` with an empty build command: the other revision is never seen."""
    commit({"shift.py": PLAIN, "duals.py": OLD})
    write({"duals.py": NEW, installed / "duals.py": NEW})
    message = refused()
    assert message.startswith(f"duals was loaded from {installed}/duals.py, through {installed} on sys.path, in place")
    assert "`build` in [tool.gradmark] must install {tree}" in message


def test_an_installed_copy_that_is_out_of_date(repository, installed):
    commit({"shift.py": PLAIN, "duals.py": OLD})
    write({"duals.py": NEW, installed / "duals.py": OLD})
    now = checkout.build("HEAD", "").now
    cell = Cell(engine="duals:Mine", workload="shift", suite="mine", file=os.path.abspath("shift.py"))
    job = Job(kind="inspect", cell=cell, settings=SETTINGS)
    with pytest.raises(RevisionError, match="Install the present one again"):
        process.run(job, place=now)
    write({installed / "duals.py": NEW})
    assert process.run(job, place=now).tape.instructions == 100


def test_samples_are_held_to_it_as_well(repository):
    """A module that is only imported when it is first needed."""
    late = f"\n    def capabilities(self):\n        import sys; sys.path.insert(0, {str(repository)!r}); import late\n"
    commit({"shift.py": PLAIN, "late.py": "", "duals.py": f"{OLD}{late}        return super().capabilities()\n"})
    cell = Cell(engine="duals:Mine", workload="shift", suite="mine", file=os.path.abspath("shift.py"))
    for kind in ("survey", "time"):
        with pytest.raises(RevisionError, match=r"late was loaded from"):
            process.run(Job(kind=kind, cell=cell, settings=SETTINGS), place=checkout.build("HEAD", "").before)
