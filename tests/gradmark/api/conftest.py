"""Results of real runs, each measured once for all tests that only read it."""

import os

import pytest

import gradmark

QUICK = {"processes": 1, "memory": False}


def product(ops, x, y):
    return ops.sin(x) * y


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """An empty folder, which is the current one while something is measured in it."""
    return tmp_path_factory.mktemp("api")


@pytest.fixture(scope="session")
def measured(folder):
    """A function of two numbers on two engines."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        return gradmark.run(product, [0.5, 2.0], engines=["tapegrad", "tapegrad:program"], **QUICK)
    finally:
        os.chdir(before)


@pytest.fixture
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder
