"""A small run, and what happens in it."""

import msgspec
import pytest

from gradmark.records import FORMAT_VERSION, Cell, Environment, Instructions, Measurement, Phase, Run, Sample, Settings
from gradmark.records.event import Counted, Finished, Inspected, Sampled, Stopped

FIRST, SECOND, THIRD = (Cell(engine=engine, workload="wörk", suite="s", params={"n": 3}) for engine in ("e", "f", "g"))


def sample(process):
    phases = {"total": Phase(iterations=1, block_ns=[2.5, 3.5])}
    return Sample(process=process, phases=phases, once_ns={"import": 7.0}, harness_ns=1.0, clock_ns=1.0)


@pytest.fixture
def begun():
    """A run of which one cell is known not to work, and nothing else yet."""

    def named(name="20260101T000000-abc123", verb="contract"):
        return Run(
            id=name,
            started="2026-01-01T00:00:00+00:00",
            environment=Environment(cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={"numpy": "2"}),
            settings=Settings(processes=2),
            measurements=[Measurement(cell=THIRD, status="unsupported", message="has no\nwörk")],
            planned=[FIRST, SECOND, THIRD],
            verb=verb,
            arguments=["wörk", "-e", "e"],
            format_version=FORMAT_VERSION,
        )

    return named


@pytest.fixture
def events():
    return [
        Inspected(measurement=Measurement(cell=FIRST, status="ok")),
        Inspected(measurement=Measurement(cell=SECOND, status="ok")),
        Sampled(cell=FIRST.id, sample=sample(0)),
        Sampled(cell=SECOND.id, sample=sample(0)),
        Stopped(cell=SECOND.id, status="crash", message="it died"),
        Sampled(cell=FIRST.id, sample=sample(1)),
        Counted(cell=FIRST.id, instructions=Instructions(total=12.0)),
        Finished(),
    ]


@pytest.fixture
def complete(begun):
    """What the begun run and the events add up to."""
    return msgspec.structs.replace(
        begun(),
        measurements=[
            Measurement(cell=FIRST, status="ok", samples=[sample(0), sample(1)], instructions=Instructions(total=12.0)),
            Measurement(cell=SECOND, status="crash", message="it died", samples=[sample(0)]),
            Measurement(cell=THIRD, status="unsupported", message="has no\nwörk"),
        ],
        finished=True,
    )
