"""Replacing a file: whole, by a name that nobody can prepare, readable as the user's other files are."""

import os
import stat

import pytest

from gradmark.errors import StoreError
from gradmark.store import writing
from gradmark.store.writing import replace


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
