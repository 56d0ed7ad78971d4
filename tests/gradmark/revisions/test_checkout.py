import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from gradmark.errors import RevisionError
from gradmark.revisions import checkout as revision


def git(*arguments):
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main", *arguments],
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Two commits of a file, in a folder below the top."""
    folder = tmp_path / "repository" / "below"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:/elsewhere")
    git("init", "..")
    for text in ("old", "new"):
        Path("engine.txt").write_text(text)
        git("add", ".")
        git("commit", "-m", text)
    return folder


def test_a_revision_has_its_own_files_and_the_present_harness(repository):
    built = revision.build("HEAD~1", "{python} -c \"open('built.txt', 'w').write('yes')\"")
    assert (built.before.folder / "engine.txt").read_text() == "old"
    assert (built.now.folder, built.now.python) == (repository, sys.executable)
    assert (built.before.folder.parent / "built.txt").read_text() == "yes"
    harness, *rest = built.before.path.split(":")
    assert rest == [str(built.before.folder), "/elsewhere"]
    assert built.now.path.split(":") == [harness, str(repository), "/elsewhere"]
    assert (Path(harness) / "gradmark" / "records" / "cell.py").exists()
    code = "import gradmark, numpy, sys; print(gradmark.__file__, numpy.__version__, sys.prefix)"
    said = subprocess.run([built.before.python, "-c", code], env={"PYTHONPATH": built.before.path}, capture_output=True)
    import numpy

    assert said.stdout.decode().split() == [
        f"{harness}/gradmark/__init__.py",
        numpy.__version__,
        str(Path(built.before.python).parents[1]),
    ]


def test_an_environment_is_told_nothing_that_every_python_has(repository):
    """pip takes what .pth files add away from isolated builds: a build lost Python's own modules to that."""
    built = revision.build("HEAD", "")
    (told,) = Path(built.before.python).parents[1].rglob("present_environment.pth")
    entries = told.read_text().split()
    assert sysconfig.get_path("purelib") in entries
    assert sysconfig.get_path("stdlib") not in entries


def test_what_is_built_is_built_once(repository):
    first = revision.build("HEAD", "")
    (first.before.folder / "trace").touch()
    assert (revision.build("main", "").before.folder / "trace").exists()
    assert not (revision.build("main", "{python} -V").before.folder / "trace").exists()


def test_a_build_that_fails_is_no_regression_and_is_tried_again(repository):
    for _ in range(2):
        with pytest.raises(RevisionError) as error:
            revision.build("HEAD~1", "echo no compiler; exit 3")
        assert str(error.value).startswith(
            "the build of HEAD~1 (`echo no compiler; exit 3`) failed with exit code 3; that"
        )
        assert str(error.value).endswith("It said:\nno compiler")


def test_an_unknown_revision(repository):
    with pytest.raises(
        RevisionError, match="no revision is called 'mian'; expected a branch, a tag or a commit of repos"
    ):
        revision.build("mian", "")


def test_outside_of_a_repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RevisionError, match="not a git repository"):
        revision.build("HEAD", "")
