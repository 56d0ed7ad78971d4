"""Measurements as the inspector makes them, and the baseline of one."""

import pytest

from gradmark.records import Accuracy, Cell, Environment, Measurement, Memory, TapeSize
from gradmark.store.baselines import baseline

HERE = Environment(
    cpu="Z80",
    cores=2,
    memory_bytes=1 << 30,
    os="Linux 6.1",
    python="CPython 3.11.7",
    packages={"numpy": "2.4.6", "memray": "1.20.0", "torch": "2.13.0"},
    machine="x86_64",
)


@pytest.fixture
def here():
    return HERE


@pytest.fixture
def measured():
    def made(workload="poly", status="ok", error=1e-15, dtype="float64", message="", **memory):
        cell = Cell(engine="e", workload=workload, suite="s", dtype=dtype)
        if status != "ok":
            return Measurement(cell=cell, status=status, message=message)
        tape = memory.pop("tape", 20)
        counted = {"allocations": 0.0, "leaked_bytes": 0.0, "peak_bytes": 1000} | memory
        return Measurement(
            cell=cell,
            status="ok",
            memory=Memory(**counted),
            tape=TapeSize(instructions=tape),
            accuracy=Accuracy(reference="r", relative_error=error, tolerance=1e-9),
        )

    return made


@pytest.fixture
def kept(measured):
    return baseline([measured()], HERE)
