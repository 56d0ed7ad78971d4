"""Whose a file is, and where a side has its own copy of it: through links, and of what only lies in the folder."""

import pytest

from gradmark.measure.origins import Origins


@pytest.fixture
def sides(tmp_path):
    """A repository with an environment, and another revision inside of it; both as they see files."""
    top = tmp_path / "repository"
    tree = top / ".gradmark" / "tree"
    for folder in (top / "bench", tree / "bench", top / ".venv", tmp_path / "outside"):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(top)
    folders = {str(top / ".gradmark"): "other", str(top / ".venv"): "installed"}
    return (
        Origins(top=str(top), tree=str(tree), folders={**folders, str(top): "other", str(tree): "own"}),
        Origins(top=str(top), tree=str(top), folders={**folders, str(top): "own"}),
    )


@pytest.mark.parametrize(
    ("path", "before", "now"),
    [
        ("repository/bench/w.py", "other", "own"),
        ("link/bench/w.py", "other", "own"),
        ("repository/.gradmark/tree/bench/w.py", "own", "other"),
        ("repository/.gradmark/another/w.py", "other", "other"),
        ("repository/.venv/numpy.py", "installed", "installed"),
        ("repository", "other", "own"),
        ("repository-2/w.py", None, None),
        ("outside/w.py", None, None),
    ],
)
def test_whose_a_file_is(tmp_path, sides, path, before, now):
    assert [side.whose(str(tmp_path / path)) for side in sides] == [before, now]


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("repository/bench/w.py", "repository/.gradmark/tree/bench/w.py"),
        ("repository/bench/../bench/w.py", "repository/.gradmark/tree/bench/w.py"),
        ("link/bench/w.py", "repository/.gradmark/tree/bench/w.py"),
        ("repository", "repository/.gradmark/tree"),
        ("repository/.venv/numpy.py", "repository/.venv/numpy.py"),
        ("outside/w.py", "outside/w.py"),
    ],
)
def test_the_copy_of_the_other_revision(tmp_path, sides, path, own):
    before, _ = sides
    assert before.own(str(tmp_path / path)) == str(tmp_path / own)


def test_the_present_has_its_files_where_they_are(tmp_path, sides):
    _, now = sides
    assert now.own(str(tmp_path / "repository" / "bench" / "w.py")) == str(tmp_path / "repository" / "bench" / "w.py")


def test_a_link_inside_is_kept_and_one_from_outside_is_followed(tmp_path, sides):
    before, _ = sides
    (tmp_path / "repository" / "bench" / "w.py").symlink_to(tmp_path / "outside" / "real.py")
    assert before.own(str(tmp_path / "repository" / "bench" / "w.py")) == f"{before.tree}/bench/w.py"
    (tmp_path / "outside" / "w.py").symlink_to(tmp_path / "repository" / "bench" / "v.py")
    assert before.own(str(tmp_path / "outside" / "w.py")) == f"{before.tree}/bench/v.py"
