"""What all tests share: the same random cases on every run, and what becomes of a test that needs other engines."""

import gc
import importlib.util
import os
import runpy
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# A failure on one machine is a failure on all.
settings.register_profile("deterministic", derandomize=True, database=None)
settings.load_profile("deterministic")

# Run files are sealed with a key that the user has: tests have one of their own.
STATE = tempfile.TemporaryDirectory(prefix="gradmark-tests-")
os.environ["XDG_STATE_HOME"] = STATE.name

# Two seconds before each run that times anything; tests of calibrations say how long theirs are.
os.environ["GRADMARK_CALIBRATION_S"] = "0"

THAW = gc.unfreeze
HIDING = Path(__file__).parent / "without_peers"


def pytest_configure(config):
    """A suite without peers finds none by chance: a test that needs one, and is not marked, fails."""
    if "not peers" in config.option.markexpr:
        runpy.run_path(str(HIDING / "sitecustomize.py"))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HIDING), os.environ.get("PYTHONPATH")]))


def pytest_collection_finish():
    """Five thousand tests are a million objects, which each search for garbage would look at: a quarter of the time."""
    gc.collect()
    gc.freeze()
    gc.unfreeze = gc.freeze  # what counts memory in this process would thaw them when it has done so


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL of our own, for all tests."""
    import database

    if missing := database.missing():
        pytest.skip(missing)
    running = database.Server()
    yield running
    running.close()


@pytest.fixture
def empty_database(server):
    """The URL of a database that nobody has written to."""
    return server.new()


@pytest.fixture
def url(empty_database):
    """The URL of a database that is a store, without a run."""
    from gradmark.store.connection import Address

    Address(empty_database).migrate()
    return empty_database


@pytest.fixture
def thawed(monkeypatch):
    """Objects as a worker has them: none is frozen, and what is thawed stays so."""
    monkeypatch.setattr(gc, "unfreeze", THAW)
    THAW()
    yield
    gc.freeze()


def pytest_runtest_setup(item):
    for marker in item.iter_markers("peers"):
        for package in marker.args:
            if importlib.util.find_spec(package) is None:
                pytest.skip(f"{package} is not installed")
