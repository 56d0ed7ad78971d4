"""Replacing a file: whole, by a name that nobody can prepare, readable as the user's other files are."""

import os
import stat
from pathlib import Path

import pytest

from gradmark.errors import StoreError
from gradmark.store import writing
from gradmark.store.writing import refuse_special, replace


def test_the_old_file_is_replaced(tmp_path):
    path = tmp_path / "x"
    replace(path, b"old")
    replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["x"]


def test_a_link_in_the_way_is_not_followed(tmp_path, monkeypatch):
    """Seen: the temporary name was the file's with the process id, so that a link could wait there."""
    monkeypatch.setattr(writing.secrets, "token_hex", lambda count: "guessed")
    (tmp_path / "victim").write_text("mine")
    (tmp_path / ".x.guessed").symlink_to(tmp_path / "victim")
    with pytest.raises(StoreError, match="cannot be written: File exists"):
        replace(tmp_path / "x", b"data")
    assert (tmp_path / "victim").read_text() == "mine"
    assert not (tmp_path / "x").exists()


def test_the_umask_counts(tmp_path):
    before = os.umask(0o027)
    try:
        replace(tmp_path / "x", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


def test_the_system_may_take_a_part_at_a_time(tmp_path, monkeypatch):
    system_write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: system_write(file, data[:3]))
    replace(tmp_path / "x", b"0123456789")
    assert (tmp_path / "x").read_bytes() == b"0123456789"


@pytest.mark.skipif(os.name == "nt", reason="Windows has none")
def test_a_pipe_is_not_replaced(tmp_path):
    """Seen: `run --json /dev/null` of root put a file in the place of /dev/null."""
    os.mkfifo(tmp_path / "x")
    with pytest.raises(StoreError, match="x is a pipe or a device, and files are replaced as a whole"):
        replace(tmp_path / "x", b"data")
    assert stat.S_ISFIFO((tmp_path / "x").stat().st_mode)
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has none")
@pytest.mark.parametrize("name", ["/dev/null", "/dev/stdout", "/dev/fd/0", "/proc/self/fd/0", "/proc/self/comm"])
def test_names_of_what_is_no_file(name):
    """Also where standard output is a file, which the name would then seem to be."""
    if Path(name).exists():
        with pytest.raises(StoreError, match="is a pipe or a device"):
            refuse_special(Path(name))


@pytest.mark.parametrize("name", ["x", "folder/x", "."])
def test_what_may_be_written(tmp_path, name):
    (tmp_path / "x").touch()
    refuse_special(tmp_path / name)
