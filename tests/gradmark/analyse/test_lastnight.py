"""Last night: a shift of the whole machine is told from one of an engine, and that from one of a row."""

import msgspec
import pytest

from gradmark.analyse.lastnight import last_night
from gradmark.records import Calibration, Cell, Environment, Measurement, Phase, Run, Sample, Settings
from gradmark.records.outline import outline

HERE = Environment(
    cpu="Z80", cores=1, memory_bytes=1 << 30, os="CP/M", python="CPython 3.13", packages={"torch": "2.12"}
)
NIGHTS = 8
LAST = f"2026-01-{NIGHTS:02}"


def run(night, factors, fixed=None, **changes):
    """Two engines with four rows each; factors by engine or by row."""
    measurements = []
    for engine in ("tapegrad", "torch"):
        for k in range(4):
            noise = 1.0 if night == NIGHTS - 1 else 1.0 + 0.002 * ((night + k) % 3 - 1)
            factor = factors.get(engine, 1.0) * factors.get(f"w{k}@{engine}", 1.0)
            phases = {"total": Phase(iterations=1, block_ns=[1000.0 * noise * factor])}
            sample = Sample(process=0, phases=phases, once_ns={}, harness_ns=1.0, clock_ns=1.0)
            cell = Cell(engine=engine, workload=f"w{k}", suite="s")
            measurements.append(Measurement(cell=cell, status="ok", samples=[sample]))
    started = f"2026-01-{night + 1:02}T02:00:00+00:00"
    work = {"integer": Phase(iterations=1, block_ns=[100.0 * fixed])} if fixed is not None else {}
    return outline(
        Run(
            id=f"run{night}",
            started=started,
            environment=msgspec.structs.replace(HERE, instance="i1", **changes),
            settings=Settings(),
            measurements=measurements,
            calibrations=[Calibration(started=started, work=work)] if work else [],
        )
    )


def nights(factors, fixed=(None, None), **changes):
    """Quiet nights, and a last one with these factors."""
    quiet = [run(night, {}, fixed[0]) for night in range(NIGHTS - 1)]
    return [*quiet, run(NIGHTS - 1, factors, fixed[1], **changes)]


def told(factors, fixed=(None, None), **more):
    night = last_night(nights(factors, fixed), LAST, **more)
    return [(shift.whose, shift.engine, shift.step, shift.rows) for shift in night.shifts]


ALL = {"tapegrad": 1.2, "torch": 1.2}


def test_a_quiet_night():
    night = last_night(nights({}), LAST)
    assert (night.shifts, night.machines, night.rows, night.unjudged) == ([], 1, 8, 0)


def test_one_row():
    assert told({"w2@torch": 1.3}) == [("row", "torch", "+30.0 %", ["w2"])]


def test_an_engine_and_what_else_changed_with_it():
    (shift,) = last_night(nights({"torch": 0.8}, packages={"torch": "2.13"}), LAST).shifts
    assert (shift.whose, shift.engine, shift.step, shift.of) == ("engine", "torch", "-20.0 %", 4)
    assert shift.software == ["torch: 2.12, 2.13"]


def test_an_engine_and_one_of_its_rows_beside_it():
    assert told({"torch": 1.2, "w1@torch": 1.5}) == [
        ("engine", "torch", "+20.0 %", ["w0", "w1", "w2", "w3"]),
        ("row", "torch", "+50.0 %", ["w1"]),
    ]


def test_a_slow_night_of_the_machine_accuses_nobody():
    assert told(ALL, (1.0, 1.2)) == [("machine", "", "+20.0 %", [])]


def test_without_calibrations_all_engines_together_are_the_machine():
    assert told(ALL) == [("machine", "", "+20.0 %", [])]


def test_fixed_work_that_did_not_move_says_that_it_was_not_the_machine():
    assert [shift[:3] for shift in told(ALL, (1.0, 1.0))] == [
        ("engine", "tapegrad", "+20.0 %"),
        ("engine", "torch", "+20.0 %"),
    ]


def test_a_row_beside_a_slow_machine():
    assert told({**ALL, "w0@torch": 1.4}, (1.0, 1.2)) == [
        ("machine", "", "+20.0 %", []),
        ("row", "torch", "+40.0 %", ["w0"]),
    ]


def test_only_what_was_asked_for():
    factors = {"torch": 1.2, "w3@tapegrad": 1.5}
    assert [shift[:2] for shift in told(factors, keep=lambda cell: cell.engine == "tapegrad")] == [("row", "tapegrad")]


def test_too_few_nights_before():
    night = last_night(nights({"torch": 2.0})[-3:], LAST)
    assert (night.shifts, night.rows, night.unjudged) == ([], 0, 8)


@pytest.mark.parametrize("since", ["2026-02-01", "2027"])
def test_no_run_since_then(since):
    assert last_night(nights({}), since).machines == 0
