"""Files and engines that do harm when they are imported: every verb says which one did what, and exits with 2."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from faults.files import ENDLESS, ENGINE, HARMLESS, HARMS, HYPOTHESIS, WORKLOAD

from gradmark.store import baselines

QUICK = ["--processes", "1", "--no-memory"]
SHORT = ["--timeout", "2"]
VERBS = {
    "run": ["run", "mine.py", "-e", "null", *SHORT],
    "a row of run": ["run", "mine.py:f/n=2", "-e", "null", *SHORT],
    "run --dry-run": ["run", "mine.py", "--dry-run", *SHORT],
    "check": ["check", "mine.py", "-e", "null", *SHORT],
    "baseline update": ["baseline", "update", "mine.py", "-e", "null", *SHORT],
    "scale": ["scale", "mine.py", "-e", "null", *SHORT],
    "hypothesis": ["hypothesis", "mine.py", *SHORT],
    "report": ["report", "--hypothesis", "mine.py"],
}
OF_ALL = ["os._exit", "segfault"]


@pytest.fixture
def folder(gradmark, tmp_path):
    """The current folder, with a baseline."""
    (tmp_path / "pyproject.toml").write_text("")
    baselines.save(baselines.Baseline(cells={}, environment={}), tmp_path / "gradmark-baseline.json")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("harm", OF_ALL)
@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_does_harm(gradmark, folder, verb, harm):
    """Seen: `gradmark check` exited with 0 and said nothing; a segfault took all along."""
    first, said = HARMS[harm]
    (folder / "mine.py").write_text(f"{first}\n{WORKLOAD}{HYPOTHESIS}")
    called = gradmark(*VERBS[verb])
    assert (called.code, called.out) == (2, "")
    assert called.err == f"gradmark: mine.py cannot be loaded: {said}\n"
    assert not (folder / ".gradmark").exists()


@pytest.mark.slow
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "report"])
def test_a_file_that_never_ends(gradmark, folder, verb):
    (folder / "mine.py").write_text(f"{ENDLESS}\n{WORKLOAD}{HYPOTHESIS}")
    called = gradmark(*VERBS[verb])
    assert (called.code, called.out) == (2, "")
    assert called.err == (
        "gradmark: mine.py cannot be loaded: not done after 2 s, its limit; does it wait for something or "
        "loop forever?\n"
    )


@pytest.mark.slow
def test_a_file_that_pyproject_names(gradmark, folder):
    (folder / "pyproject.toml").write_text('[tool.gradmark]\nselect = ["mine.py"]\nengines = ["null"]\n')
    (folder / "mine.py").write_text(f"import os; os._exit(0)\n{WORKLOAD}")
    called = gradmark("check")
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith("gradmark: mine.py cannot be loaded: its process ended with exit code 0")


@pytest.mark.slow
@pytest.mark.parametrize("what", HARMLESS)
def test_a_file_that_does_odd_things_is_measured(gradmark, folder, what):
    (folder / "mine.py").write_text(f"{HARMLESS[what]}\n{WORKLOAD}")
    called = gradmark("run", "mine.py:f/n=2", "-e", "null", *QUICK, "--format", "csv")
    assert called.code == 0, called.err
    assert [row["status"] for row in csv.DictReader(called.out.splitlines())] == ["ok"]
    assert Path.cwd() == folder


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["run", "contract", "ops", "check"])
@pytest.mark.parametrize("harm", OF_ALL)
def test_an_engine_that_does_harm(gradmark, folder, verb, harm):
    (folder / "own.py").write_text(f"{HARMS[harm][0]}\n{ENGINE}")
    select = ["expression"] if verb in ("run", "check") else []
    called = gradmark(verb, *select, "-e", "own:Own", *SHORT)
    assert (called.code, called.out) == (2, "")
    ended = "ended without a result (exit code 0" if harm == "os._exit" else "was ended by SIGSEGV"
    assert f"gradmark: engine 'own:Own' cannot be asked what it can do (crash): the worker {ended}" in called.err


@pytest.mark.slow
def test_a_process_that_waits_for_input_is_not_this_one(folder):
    """Seen: an engine that read standard input took what was meant for gradmark, or hung."""
    (folder / "mine.py").write_text(f"import sys; sys.stdin.read()\n{WORKLOAD}")
    (folder / "own.py").write_text(f"import sys; sys.stdin.read()\n{ENGINE}")
    command = [sys.executable, "-c", "from gradmark.commands.main import main; main()"]
    ours, theirs = os.pipe()  # open, with nothing in it
    try:
        done = subprocess.run(
            [*command, "run", "mine.py:f/n=2", "-e", "own:Own", *QUICK], stdin=ours, capture_output=True, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0, done.stderr
