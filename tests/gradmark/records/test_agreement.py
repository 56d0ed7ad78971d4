"""Agreement: when no further process is needed."""

import msgspec
import pytest

from gradmark.records import Cell, Measurement, Phase, Sample
from gradmark.records.agreement import agreed

CELL = Cell(engine="e", workload="w", suite="s")


def measurement(*times, calm=True, phase="total"):
    pilots = {"core": [(10.0, 10.0 if calm else 16.0)] * 3}
    samples = [
        Sample(
            process=number,
            phases={phase: Phase(iterations=1, block_ns=[ns] * 3, pilots=pilots, reference={"core": 10.0})},
            once_ns={},
            harness_ns=0.0,
            clock_ns=1.0,
        )
        for number, ns in enumerate(times)
    ]
    return Measurement(cell=CELL, status="ok", samples=samples)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([100.0] * 8, False),  # fewer than nine are narrow by chance
        ([100.0] * 9, True),
        (
            [90.0, 99.0, 99.0, 100.0, 100.0, 100.0, 101.0, 101.0, 120.0],
            True,
        ),  # one at either end is not of the interval
        ([120.0, 101.0, 100.0, 99.0, 100.0, 101.0, 90.0, 100.0, 99.0], True),
        ([90.0, 99.0, 99.5, 100.0, 100.0, 100.0, 100.5, 101.0, 120.0], True),  # ±1 %
        ([90.0, 98.9, 99.5, 100.0, 100.0, 100.0, 100.5, 101.1, 120.0], False),
        ([100.0] * 5 + [110.0] * 5, False),
    ],
)
def test_nine_processes_must_have_a_narrow_interval(times, expected):
    assert agreed(measurement(*times)) is expected


def test_processes_on_a_slow_machine_do_not_count():
    assert not agreed(measurement(*[100.0] * 9, calm=False))


def test_an_engine_that_only_evaluates_is_judged_by_that():
    assert agreed(measurement(*[100.0] * 9, phase="primal"))


def test_what_does_not_work_needs_no_further_process():
    assert agreed(msgspec.structs.replace(measurement(100.0), status="crash"))
    assert agreed(Measurement(cell=CELL, status="ok"))
