"""Machines and runs made by hand; and, where Dask is installed, a real cluster on the loopback."""

import pytest

from gradmark.fleet.machine import Machine
from gradmark.records import Cell, Environment, Measurement, Phase, Run, Sample, Settings
from gradmark.records.event import Inspected, Sampled


@pytest.fixture
def machine_of():
    def make(instance="m1", *, cpu="Zen 3", versions=None, conditions=(), **more):
        environment = Environment(
            cpu=cpu,
            cores=2,
            memory_bytes=1 << 34,
            os="Linux 6.1",
            python="CPython 3.11.7",
            packages={},
            instance=instance,
        )
        versions = {"gradmark's code": "abc", "distributed": "1", "msgspec": "2", "numpy": "3"} | (versions or {})
        address = more.pop("address", f"tcp://{instance}:1")
        return Machine(address=address, environment=environment, versions=versions, conditions=list(conditions), **more)

    return make


@pytest.fixture
def cell_of():
    return lambda workload="poly", engine="a", **more: Cell(engine=engine, workload=workload, suite="scalar", **more)


@pytest.fixture
def run_of(machine_of):
    def make(*cells, **more):
        environment = machine_of("m0").environment
        settings = more.pop("settings", Settings(processes=2))
        return Run(
            id="r", started="2026-01-01T00:00:00+00:00", environment=environment, settings=settings, measurements=[],
            planned=list(cells), **more,
        )  # fmt: skip

    return make


@pytest.fixture
def inspected():
    return lambda cell, **more: Inspected(measurement=Measurement(cell=cell, status="ok", **more))


@pytest.fixture
def sampled():
    def make(cell, process, machine="m1"):
        phase = Phase(iterations=10, block_ns=[100.0 + process])
        sample = Sample(
            process=process, phases={"total": phase}, once_ns={}, harness_ns=1.0, clock_ns=1.0, machine=machine
        )
        return Sampled(cell=cell.id, sample=sample)

    return make
