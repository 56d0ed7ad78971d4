"""Reading: what is no file is not opened; it would be waited for, or fill the memory."""

import os
from pathlib import Path

import pytest

from gradmark.errors import StoreError
from gradmark.store import baselines, runs
from gradmark.store.reading import contents

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has neither")


def test_a_file(tmp_path):
    (tmp_path / "x").write_bytes(b"\xff\0")
    assert contents(tmp_path / "x") == b"\xff\0"


@pytest.fixture(params=["pipe", "device", "link"])
def special(request, tmp_path):
    path = tmp_path / "a.jsonl"
    if request.param == "pipe":
        os.mkfifo(path)
        return path
    path.symlink_to("/dev/zero")
    return path if request.param == "link" else Path("/dev/zero")


def test_a_run_that_is_no_file(special):
    """Seen: `history` waited for ever, `compare` filled the memory."""
    with pytest.raises(StoreError, match=r"(a\.jsonl|zero) cannot be read: it is a pipe or a device, not a file; "):
        runs.load(special)


def test_a_baseline_that_is_no_file(special):
    with pytest.raises(StoreError, match="cannot be read: it is a pipe or a device, not a file"):
        baselines.load(special)
