"""Histories: series of any metric, and change points that depend on the engine's cells alone."""

import msgspec
import pytest

from gradmark.analyse import histories as module
from gradmark.records import Cell, Environment, Measurement, Memory, Phase, Run, Sample, Settings, TapeSize
from gradmark.records.calibration import Calibration
from gradmark.records.metric import numbers
from gradmark.records.outline import outline

HERE = Environment(
    cpu="Z80", cores=1, memory_bytes=1 << 16, os="CP/M", python="CPython 3.11", packages={}, machine="z80"
)
NIGHTS = 12
FLAT, STEP = [1.0] * NIGHTS, [1.0] * 6 + [1.2] * 6


def histories(runs, *arguments, **more):
    return module.histories([outline(run) for run in runs], *arguments, **more)


def sample(**ns):
    phases = {name: Phase(iterations=1, block_ns=[value]) for name, value in ns.items()}
    return Sample(process=0, phases=phases, once_ns={}, harness_ns=1.0, clock_ns=1.0)


def measured(engine, workload, total, **more):
    return Measurement(
        cell=Cell(engine=engine, workload=workload, suite="s", side=more.pop("side", "")),
        status="ok",
        samples=[sample(primal=more.pop("primal", 50.0), total=100.0 * total)],
        **more,
    )


def a_run(night, measurements, **changes):
    return Run(
        id=f"run{night:02}{changes.get('cpu', '')}",
        started=f"2026-01-{night + 1:02}T00:00:00+00:00",
        environment=msgspec.structs.replace(HERE, commit=f"{night:040}", **changes),
        settings=Settings(),
        measurements=measurements,
    )


def nights(factors, cells=5, **more):
    """A run a night; the factors of each engine, of all its cells or of one alone (`engine/w3`)."""
    return [
        a_run(
            night,
            [
                measured(engine, f"w{k}", factors.get(f"{engine}/w{k}", factors[engine])[night])
                for engine in factors
                if "/" not in engine
                for k in range(cells)
            ],
            **more,
        )
        for night in range(NIGHTS)
    ]


def stepped(found):
    return {series.cell: [change.run for change in series.changes] for series in found.series if series.changes}


def test_a_cell_that_steps_by_itself():
    found = histories(nights({"a": FLAT, "a/w3": STEP, "b": FLAT}))
    assert stepped(found) == {"w3@a": ["run06"]}
    assert found.together == []
    (change,) = next(series for series in found.series if series.changes).changes
    assert (change.ratio, change.step, change.commit, change.reason) == (1.2, "+20.0 %", f"{6:040}", "")


def test_what_all_cells_of_an_engine_do_is_told_once_however_many_engines_there_are():
    """Over the cells of all engines, one engine of many would be a part that moves, and of two each cell's own."""
    for others in ("b", "bcdefg"):
        found = histories(nights({"a": STEP, **dict.fromkeys(others, FLAT)}))
        assert stepped(found) == {}
        assert [(group.engine, [c.run for c in group.changes]) for group in found.together] == [("a", ["run06"])]


def test_what_is_said_of_a_cell_does_not_depend_on_what_is_shown():
    """Alone, w1 would be accused of what all cells of its engine did."""
    runs = nights({"a": STEP})
    found = histories(runs, keep=lambda cell: cell.workload == "w1")
    assert [series.cell for series in found.series] == ["w1@a"]
    assert (stepped(found), found.together) == ({}, histories(runs).together)
    assert histories(runs, keep=lambda cell: False).together == []


@pytest.mark.parametrize(
    ("primal", "cause"), [([50.0 * x for x in STEP], "machine"), ([50.0] * NIGHTS, "machine or engine")]
)
def test_whose_doing_it_is(primal, cause):
    runs = [
        a_run(night, [measured("a", f"w{k}", STEP[night], primal=primal[night]) for k in range(5)])
        for night in range(NIGHTS)
    ]
    (change,) = histories(runs).together[0].changes
    assert change.cause == cause
    assert change.reason.startswith(f"the {cause.replace('or', 'or the')} changed: functions without any engine")


def test_a_part_is_named():
    found = histories(nights({"a": FLAT, "a/w1": STEP, "a/w2": STEP, "a/w3": STEP}, cells=9))
    (change,) = found.together[0].changes
    assert change.cells == ["w1@a", "w2@a", "w3@a"]
    assert change.reason.startswith("only w1@a, w2@a, w3@a; the machine or the engine changed")


def test_points_carry_the_number_that_is_shown():
    """Forward alone is slower than the whole here: it is computed, as in every table."""
    runs = nights({"a": FLAT}, cells=1)
    parts = [sample(forward=130.0, backward=40.0, total=100.0)]
    runs = [msgspec.structs.replace(run, measurements=[replaced(run, samples=parts)]) for run in runs]
    (series,) = histories(runs, "forward").series
    assert {point.number for point in series.points} == {numbers(runs[0].measurements[0])["forward"]}
    assert (series.points[0].number.value, series.points[0].number.how) == (60.0, "derived")


def replaced(run, **changes):
    return msgspec.structs.replace(run.measurements[0], **changes)


def counted(name, values, **part):
    """A history of one cell with these counts; the metric by any of its names."""
    runs = [
        msgspec.structs.replace(run, measurements=[replaced(run, **{key: make(value) for key, make in part.items()})])
        for run, value in zip(nights({"a": FLAT}, cells=1), values, strict=False)
    ]
    return histories(runs[: len(values)], name)


def test_a_count_changed_if_it_differs():
    found = counted("allocations", [0.0, 0.0, 3.0, 3.0, 0.0], memory=lambda n: Memory(allocations=n))
    (series,) = found.series
    assert [point.number.value for point in series.points] == [0.0, 0.0, 3.0, 3.0, 0.0]
    assert [(c.run, c.ratio, c.step) for c in series.changes] == [
        ("run02", None, "no longer 0"),
        ("run04", 0, "-100.0 %"),
    ]


def test_less_than_a_baseline_is_rewritten_for_is_no_change():
    found = counted("peak_bytes", [1000, 1015, 1019, 1030, 1000], memory=lambda n: Memory(peak_bytes=n))
    assert stepped(found) == {"w0@a": ["run03", "run04"]}


def test_an_older_name_of_a_metric():
    found = counted("tape", [7, 7, 9], tape=lambda n: TapeSize(instructions=n))
    assert (found.metric, stepped(found)) == ("tape_instructions", {"w0@a": ["run02"]})


def test_unlike_machines_are_series_of_their_own():
    """The newest run decides which machine is the newest, not the machine that came last."""
    runs = [*nights({"a": STEP}, cells=1)[1:], *nights({"a": FLAT}, cells=1, cpu="6502")[:-1]]
    found = histories(runs[::-1])
    assert [(series.cell, series.machine.split(",")[0], len(series.points)) for series in found.series] == [
        ("w0@a", "6502", 11),
        ("w0@a", "Z80", 11),
    ]
    assert (
        found.newest
        == found.series[1].machine
        == "Z80, z80, 1 core, 1 GiB, CP/M, CPython 3.11, 1 thread, blocks of 500 µs"
    )


def test_a_full_run_is_said_as_it_is_typed():
    quick = a_run(0, [measured("a", "w", 1.0)])
    full = msgspec.structs.replace(quick, settings=msgspec.structs.replace(quick.settings, full=True, threads=2))
    assert histories([full]).newest.endswith(", 2 threads, blocks of 500 µs, --full")


def test_machines_that_read_alike_are_not_one():
    runs = [
        msgspec.structs.replace(a_run(night, [measured("a", "w", 1.0)]), settings=Settings(huge_pages=huge_pages))
        for night, huge_pages in enumerate([True, False])
    ]
    first, second = histories(runs).series
    assert second.machine == f"{first.machine} (2)"


def test_what_failed_was_lost_or_stood_beside_another_build_is_no_point():
    good, failed = measured("a", "w", 1.0), measured("a", "crashed", 1.0)
    others = [
        msgspec.structs.replace(failed, status="crash"),
        measured("a", "short", 0.03),
        measured("a", "w", 1.0, side="before"),
    ]
    assert [series.cell for series in histories([a_run(0, [good, *others])]).series] == ["w@a"]


def test_no_runs():
    found = histories([])
    assert (found.series, found.together, found.newest) == ([], [], "")


def calibrated(run, ns, instance="one"):
    work = {kind: Phase(iterations=1, block_ns=[ns]) for kind in ("integer", "memory", "interpreter")}
    calibration = Calibration(started=run.started, work=work)
    environment = msgspec.structs.replace(run.environment, instance=instance)
    return msgspec.structs.replace(run, calibrations=[calibration], environment=environment)


def test_fixed_work_tells_a_change_of_the_machine_from_one_of_the_engine():
    """All rows of the only engine moved at once; functions without any engine are not there to ask."""
    runs = nights({"a": STEP})
    slower = [calibrated(run, 100.0 * factor) for run, factor in zip(runs, STEP, strict=True)]
    (change,) = histories(slower).together[0].changes
    assert (change.ratio, change.cause) == (1.2, "machine")
    steady = [calibrated(run, 100.0) for run in runs]
    newer = [
        msgspec.structs.replace(run, environment=msgspec.structs.replace(run.environment, packages={"numpy": "3"}))
        if night >= 6
        else run
        for night, run in enumerate(steady)
    ]
    (change,) = histories(newer).together[0].changes
    assert (change.cause, change.software) == ("engine", ["numpy: none, 3"])


def test_a_slow_night_is_seen_as_such():
    runs = [calibrated(run, 130.0 if night == 4 else 100.0) for night, run in enumerate(nights({"a": FLAT}))]
    speeds = [round(point.speed, 6) for point in histories(runs).series[0].points]
    assert speeds == [1.0] * 4 + [1.3] + [1.0] * 7


def test_machines_of_one_class_that_differ_are_told_apart():
    slow = [calibrated(run, 110.0, "slow") for run in nights({"a": FLAT}, cells=1)]
    fast = [
        calibrated(msgspec.structs.replace(run, id=f"{run.id}-fast"), 100.0, "fast")
        for run in nights({"a": FLAT}, cells=1)
    ]
    assert sorted(series.machine.rpartition(", ")[2] for series in histories([*slow, *fast]).series) == [
        "machine fast",
        "machine slow",
    ]
    alike = [calibrated(run, 101.0, "slow") for run in slow]
    (series,) = histories([*alike, *fast]).series
    assert len(series.points) == 2 * NIGHTS
