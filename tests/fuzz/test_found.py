"""Inputs that once broke something. A new one is a file in `found/`, named after what is wrong with it."""

from pathlib import Path

import pytest

from fuzz import everything
from fuzz.test_runs import BESIDE, read

FOUND = sorted((Path(__file__).parent / "found").iterdir())
# What can be used in spite of it; all others are refused.
USABLE = {"operator-without-operation", "planned-twice", "system-without-a-name", "time-of-almost-nothing"}


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_stays_found(path, tmp_path):
    run = read(path.read_bytes(), tmp_path)
    assert (run is not None) == (path.stem in USABLE)
    if run is not None:
        everything.done_with(run, BESIDE)
