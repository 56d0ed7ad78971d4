"""`check --against` for a user's engine in a repository of its own."""

import subprocess
from pathlib import Path

import pytest

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
def repository(gradmark, tmp_path):
    """An engine that does not record constants, committed; the build command does nothing."""
    Path("pyproject.toml").write_text(
        '[tool.gradmark]\nengines = ["mine:Mine"]\nselect = ["constants"]\nbuild = ""\n'
        '[tool.gradmark.budgets]\ntime = "900%"\n'  # on a busy machine two pairs are little
    )
    Path("mine.py").write_text(ENGINE.format(False, ""))
    Path(".gitignore").write_text("/.gradmark/\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    return gradmark


def test_nothing_changed(repository):
    called = repository(*CHECK, "--against", "HEAD")
    assert called.code == 0, called.out
    assert called.out.splitlines()[0] == (
        "note         times: floors of 2 interleaved pairs of processes, 4 where they were flagged"
    )


def test_a_change_of_the_engine_is_seen(repository):
    Path("mine.py").write_text(ENGINE.format(True, ""))
    called = repository(*CHECK, "--against", "HEAD")
    assert called.code == 1
    assert "fail         constants/n=1000@mine:Mine tape_instructions: 10 → 1000" in called.out


def test_an_engine_that_does_not_work_any_more(repository):
    Path("mine.py").write_text(ENGINE.format(False, "raise RuntimeError('broken today')"))
    called = repository(*CHECK, "--against", "HEAD")
    assert called.code == 1
    assert "status: error (ok before): mine.py, line 10, " in called.out


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
