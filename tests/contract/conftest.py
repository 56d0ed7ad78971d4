"""Every adapter, each workload it refuses, and how to iterate: what the contract's tests share."""

import os
import shutil

import pytest

from gradmark.engines import discovery
from gradmark.errors import UnsupportedError

# Without a compiler tinygrad runs nowhere but on its own interpreter in Python: slow, and right.
if shutil.which("clang") is None:
    os.environ.setdefault("DEV", "PYTHON")


def iterate(session):
    if session.total is not None:
        session.total()
    else:
        session.forward()
        session.backward()
    session.synchronize()


@pytest.fixture(name="iterate")
def _iterate():
    return iterate


@pytest.fixture
def load():
    """An engine; the test is skipped if it runs nothing here, such as without its device."""

    def engine(name):
        found = discovery.load(name)
        if found.capabilities().absent:
            pytest.skip(found.capabilities().absent)
        return found

    return engine


@pytest.fixture
def runs():
    """A session that has run once, or None with the reason kept: an engine may refuse when it is prepared or called."""

    def run(engine, workload, inputs, params):
        try:
            session = engine.prepare(workload, inputs, params)
            if engine.capabilities().gradients:
                iterate(session)
        except UnsupportedError as error:
            return str(error)
        return session

    return run
