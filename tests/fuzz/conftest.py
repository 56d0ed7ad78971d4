"""What fuzzed tests share."""

import sys
from pathlib import Path

import pytest

from gradmark.measure import process
from gradmark.measure.job import Result

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """All of them are slow together: `make quick` leaves them out."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _usual_depth():
    """The command has Python's own limit; libraries of other tests in this process raise it (tinygrad: 10,000)."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.fixture(scope="module")
def no_fresh_worker():
    """A fresh worker is what a nursery falls back on; here it answers at once."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(process, "run", lambda job: Result(status="error", message="a fresh worker"))
        yield
