"""Verdicts on rows of a device: each at its threshold, and none of a row on the CPU."""

import msgspec
import pytest

from gradmark.analyse.devices import verdicts
from gradmark.records import Cell, Code, DeviceWork, Measurement, Phase, Sample, metric

CELL = Cell(engine="e", workload="w", suite="tensor", kind="tensor", dtype="float32", device="cuda")
CLOCK = 10_000.0


def measured(clocks=((CLOCK, CLOCK),), work=None, roofs=None, **times):
    def phase(ns):
        return Phase(
            iterations=1, block_ns=[ns] * len(clocks), pilots={"device": list(clocks)}, reference={"device": CLOCK}
        )

    phases = {name: phase(ns) for name, ns in ({"total": 1e5, "cold": 1e5, "hot": 9e4, "host": 1e4} | times).items()}
    sample = Sample(process=0, phases=phases, once_ns={}, harness_ns=0.0, clock_ns=0.0, roofs=roofs or {})
    return Measurement(cell=CELL, status="ok", samples=[sample], device_work=work)


def codes(measurement):
    return [warning.code for warning in verdicts(measurement, metric.numbers(measurement))]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ({}, []),
        ({"host": 9e4}, [Code.LAUNCH_BOUND]),
        ({"host": 8.5e4}, []),
        ({"host": 9e4, "work": DeviceWork(busy_ns=8e4)}, [Code.LAUNCH_BOUND]),
        ({"host": 9e4, "work": DeviceWork(busy_ns=8.2e4)}, []),  # the device is at work, whatever the host takes
        ({"hot": 6e4}, [Code.CACHE_FLATTERED]),
        ({"hot": 7e4}, []),
        ({"hot": 6e4, "host": 6e4}, [Code.LAUNCH_BOUND]),  # which explains the other
        ({"work": DeviceWork(read_bytes=5e7, moved_bytes=1e8), "roofs": {"bytes": 3.9e11}}, [Code.BEYOND_MEMORY]),
        ({"work": DeviceWork(read_bytes=5e7, moved_bytes=1e8), "roofs": {"bytes": 4.1e11}}, []),
        ({"work": DeviceWork(kernels=18, apart_kernels=9)}, [Code.DONE_TWICE]),
        ({"work": DeviceWork(kernels=12, apart_kernels=9)}, []),
        ({"work": DeviceWork(kernels=18)}, []),  # nothing to compare with
        ({"clocks": [(CLOCK, CLOCK)] * 9 + [(CLOCK, 1.2 * CLOCK)]}, [Code.THROTTLED]),
        ({"clocks": [(CLOCK, CLOCK)] * 39 + [(CLOCK, 1.2 * CLOCK)]}, []),  # one of forty
    ],
)
def test_a_verdict(made, expected):
    assert codes(measured(**made)) == expected


def test_rows_on_the_cpu_have_none():
    on_cpu = msgspec.structs.replace(measured(host=9e4, hot=1e4), cell=msgspec.structs.replace(CELL, device="cpu"))
    assert codes(on_cpu) == []


def test_how_near_a_row_is_to_the_speed_of_the_device():
    found = metric.numbers(
        msgspec.structs.replace(
            measured(work=DeviceWork(moved_bytes=1e8, busy_ns=4.5e4), roofs={"bytes": 2e12, "flops": 5e13}), flops=1e9
        )
    )
    assert found["bytes_of_roof"].value == 0.5
    assert found["flops_of_roof"].value == 0.2
    assert found["busy"].value == 0.5
