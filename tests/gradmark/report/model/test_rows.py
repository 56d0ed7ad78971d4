from typing import Any

import pytest

from gradmark.records import Cell, Instructions, Memory, Param, Settings, TapeSize
from gradmark.report.model.rows import reading_order, row_name, rows

EVALUATES = {"primal": 1000.0}


def test_a_full_row(make: Any) -> None:
    row = make.row()
    assert (row.workload, row.engine, row.status, row.message) == ("poly/n=10", "tapegrad", "ok", "")
    assert (row.primal.median, row.forward.median, row.backward.median, row.total.median) == (1000, 2000, 500, 2500)
    assert (row.ratio, row.gradient_ratio, row.operations_per_s) == (0.25, 2.5, 8e6)
    assert (row.allocations, row.leaked_bytes, row.peak_bytes, row.retained_bytes) == (0.0, 0.0, 4096, 2048)
    assert (row.tape_instructions, row.tape_bytes, row.ulps, row.relative_error) == (20, 500, 0.5, 1e-16)
    assert row.steady
    assert row.instructions is None
    assert row.reasons == {"instructions": "not asked for"}


def test_every_missing_number_has_a_reason(make: Any) -> None:
    measurement = make.measurement(
        samples=[make.sample(times=EVALUATES)], tape=None, memory=None, accuracy=None, operations=None
    )
    only = "the engine only evaluates"
    assert make.row(measurement, Settings(memory=False)).reasons == {
        "forward": only,
        "backward": only,
        "total": only,
        "ratio": only,
        "gradient_ratio": only,
        "operations_per_s": "the workload does not declare its operations",
        "allocations": "not asked for",
        "leaked_bytes": "not asked for",
        "peak_bytes": "not asked for",
        "retained_bytes": "not asked for",
        "tape_instructions": "the engine does not say",
        "tape_bytes": "the engine does not say",
        "ulps": "the gradient was not checked",
        "relative_error": "the gradient was not checked",
        "instructions": "not asked for",
    }


@pytest.mark.parametrize(
    ("fields", "number", "reason"),
    [
        ({"memory": Memory(reason="memray is not installed")}, "allocations", "memray is not installed"),
        ({"memory": Memory(reason="two\nlines")}, "peak_bytes", "two lines"),
        ({"memory": None}, "retained_bytes", "not measured"),
        (
            {"instructions": Instructions(reason="valgrind is not installed")},
            "instructions",
            "valgrind is not installed",
        ),
        ({"instructions": None}, "instructions", "not measured"),
        ({"tape": TapeSize(saved_bytes=8)}, "tape_instructions", "the engine does not say"),
        ({"samples": []}, "total", "no process gave a time"),
        ({"samples": []}, "ratio", "no process gave a time"),
    ],
)
def test_the_reason_is_the_nearest_cause(make: Any, fields: dict[str, Any], number: str, reason: str) -> None:
    row = make.row(make.measurement(**fields), Settings(instructions=True))
    assert getattr(row, number) is None
    assert row.reasons[number] == reason


@pytest.mark.parametrize(
    ("missing", "number", "reason"),
    [
        ("primal", "primal", "the engine does not evaluate without recording"),
        ("primal", "gradient_ratio", "the engine does not evaluate without recording"),
        ("backward", "backward", "the engine does not do backward by itself"),
        ("forward", "ratio", "the engine does not do forward by itself"),
    ],
)
def test_the_reason_of_a_missing_phase(make: Any, missing: str, number: str, reason: str) -> None:
    times = {name: 100.0 for name in ("primal", "forward", "backward", "total") if name != missing}
    assert make.row(make.measurement(samples=[make.sample(times=times)])).reasons[number] == reason


def test_a_ratio_of_times_that_were_lost(make: Any) -> None:
    row = make.row(ratio=None, operations_per_s=None)
    lost = "a time is too short: it was lost in the subtraction of the harness"
    assert (row.reasons["ratio"], row.reasons["operations_per_s"]) == (lost, lost)


def test_ulps_of_a_tensor(make: Any) -> None:
    accuracy = make.measurement().accuracy
    tensor = type(accuracy)(reference="differences", relative_error=1e-7, tolerance=1e-5)
    row = make.row(make.measurement(accuracy=tensor))
    assert (row.ulps, row.relative_error) == (None, 1e-7)
    assert row.reasons["ulps"] == "only scalars have units of the last place"


def test_a_failed_row_says_so_for_every_number(make: Any) -> None:
    row = make.row(make.failed("timeout", "no result\nafter 60 s"))
    assert row.message == "no result after 60 s"
    assert set(row.reasons.values()) == {"timed out"}
    assert len(row.reasons) == 16


def test_names_are_safe_to_print(make: Any) -> None:
    row = make.row(make.measurement(make.cell("\x1b[31mp\x1b[0m\n", "e\x07\u202e", None), message="\x1b]0;x\x07m"))
    assert (row.workload, row.engine, row.message) == ("p", "e", "m")


def test_warnings_are_not_repeated(make: Any) -> None:
    assert make.row(make.measurement(warnings=["a", "b"]), warnings=["b", "c"]).warnings == ["a", "b", "c"]


def test_the_time_of_a_row_is_its_total(make: Any) -> None:
    assert make.row().time.median == 2500
    assert make.row(make.measurement(samples=[make.sample(times=EVALUATES)])).time.median == 1000
    assert make.row(make.measurement(samples=[])).time is None


def test_spread_is_that_of_the_least_steady_phase(make: Any) -> None:
    phases = {
        "primal": make.estimate(10.0, high=90.0),  # too short to be judged
        "forward": make.estimate(100.0, low=95.0, high=120.0, floor=90.0),
        "total": make.estimate(200.0, low=190.0, high=201.0, floor=150.0),
    }
    assert make.row(phases=phases).spread == 0.25
    assert make.row(phases={"total": make.estimate(10.0)}).spread is None
    assert make.row(phases={}).spread is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "poly/n=10"),
        ({"dtype": "float32"}, "poly/n=10/dtype=float32"),
        ({"device": "cuda"}, "poly/n=10/device=cuda"),
        ({"dtype": "float32", "device": "cuda"}, "poly/n=10/dtype=float32/device=cuda"),
    ],
)
def test_unusual_dtypes_and_devices_are_named(make: Any, fields: dict[str, str], expected: str) -> None:
    assert row_name(make.cell(**fields)) == expected


def in_order(make: Any, *cells: Cell, planned: tuple[Cell, ...] = ()) -> list[str]:
    run = make.run(*(make.measurement(cell) for cell in cells), planned=list(planned))
    return [f"{run.measurements[place].cell.row} {run.measurements[place].cell.engine}" for place in reading_order(run)]


def test_workloads_as_seen_sizes_ascending_engines_as_seen(make: Any) -> None:
    cells = [
        make.cell("z", "b", 100),
        make.cell("a", "a", 9),
        make.cell("z", "a", 9),
        make.cell("a", "b", 9),
        make.cell("z", "b", 9),
    ]
    assert in_order(make, *cells) == ["z/n=9 b", "z/n=9 a", "z/n=100 b", "a/n=9 b", "a/n=9 a"]


def test_the_plan_says_the_order_before_the_measurements_do(make: Any) -> None:
    one, two = make.cell(engine="one"), make.cell(engine="two")
    assert in_order(make, two, one, planned=(one, two)) == ["poly/n=10 one", "poly/n=10 two"]


def test_any_two_sizes_can_be_compared(make: Any) -> None:
    sizes: list[dict[str, Param]] = [{"n": "many"}, {"n": 2.5}, {}, {"n": 2, "m": 1}, {"n": 2}, {"n": "few"}]
    assert in_order(make, *(make.cell(params=size) for size in sizes)) == [
        "poly tapegrad",
        "poly/n=2 tapegrad",
        "poly/n=2/m=1 tapegrad",
        "poly/n=2.5 tapegrad",
        "poly/n=few tapegrad",
        "poly/n=many tapegrad",
    ]


def test_rows_are_made_with_the_estimates_of_the_run(make: Any) -> None:
    run = make.run(make.measurement(make.cell(n=100)), make.measurement(make.cell(n=10)))
    made = rows(run)
    assert [row.workload for row in made] == ["poly/n=10", "poly/n=100"]
    assert [row.total.floor for row in made if row.total] == [2500.0, 2500.0]


def test_summaries_must_be_as_many_as_measurements(make: Any) -> None:
    with pytest.raises(ValueError, match="zip"):
        rows(make.run(make.measurement()), [])


def test_a_tensor_row(make: Any) -> None:
    row = make.row(make.tensor())
    assert (row.workload, row.shape, row.flops_per_s, row.bytes_per_s) == (
        "mlp/batch=128/dtype=float32",
        "128×784",
        4e9,
        None,
    )
    assert row.reasons["bytes_per_s"] == "the workload does not declare its bytes"
    assert "flops_per_s" not in make.row().reasons
