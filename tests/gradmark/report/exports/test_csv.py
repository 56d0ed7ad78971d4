"""CSV: every metric of every cell, safe in spreadsheets, with a reason for each that is missing."""

import csv as csv_module
import io
from typing import Any

import pytest
from oracles.watched import never_calm, watched

from gradmark.records import Code, Run, Warning, metric
from gradmark.report.exports.csv import csv


def read(run: Run) -> list[dict[str, str]]:
    return list(csv_module.DictReader(io.StringIO(csv(run))))


def test_csv_has_all_numbers_of_a_cell(make: Any) -> None:
    times = {"primal": 1000.0, "forward": 2000.0, "total": 2500.0}
    (row,) = read(make.run(make.measurement(samples=[make.sample(k, times) for k in range(2)])))
    timed = {"primal": "1000.0", "forward": "2000.0", "total": "2500.0"}
    assert {key: value for key, value in row.items() if value} == {
        "row": "poly/n=10",
        "suite": "scalar",
        "workload": "poly",
        "size": "n=10",
        "kind": "scalar",
        "dtype": "float64",
        "device": "cpu",
        "derivative": "gradient",
        "engine": "tapegrad",
        "status": "ok",
        "processes": "2",
        "calm_processes": "2",
        "steady": "true",
        **{f"{phase}_ns": ns for phase, ns in timed.items()},
        **{f"{phase}_how": "measured" for phase in timed},
        **{f"{phase}_spread_ratio": "0.0" for phase in timed},
        **{
            f"{phase}_median{part}_ns": str(float(ns) + 0.5)  # of each process: halfway between its two blocks
            for phase, ns in timed.items()
            for part in ("", "_low", "_high")
        },
        **{f"{phase}_median_coverage": "0.5" for phase in timed},
        "backward_ns": "500.0",
        "backward_how": "derived",
        "spread_ratio": "0.0",
        "backward_forward_ratio": "0.25",
        "gradient_primal_ratio": "2.5",
        "operations": "20",
        "operations_per_s": "8000000.0",
        "allocations_per_iteration": "0.0",
        "allocated_bytes_per_iteration": "0.0",
        "gross_allocations_per_iteration": "5.0",
        "plain_allocations_per_iteration": "5.0",
        "leaked_bytes_per_iteration": "0.0",
        "retained_bytes": "2048",
        "peak_bytes": "4096",
        "tape_instructions": "20",
        "tape_values": "21",
        "tape_adjoints": "21",
        "tape_bytes": "500",
        "error_ulps": "0.5",
        "relative_error": "1e-16",
        "tolerance": "1e-09",
        "reference": "mpmath",
        "import_ns": "1000000.0",
        "prepare_ns": "3000.0",
        "first_call_ns": "7000.0",
        "warm_up_ns": "5000000.0",
        "harness_ns": "30.0",
        "reasons": "flops_per_s: the workload does not declare its flops; bytes_per_s: the workload does not declare "
        "its bytes; least_allocations: it could not be determined; moved_bytes: the engine does not report it; "
        "instructions: counted only with --instructions",
    }


def test_every_metric_has_its_column_and_every_missing_one_its_reason(make: Any) -> None:
    for one in (make.measurement(), make.tensor(), make.measurement(samples=[]), make.failed("crash")):
        (row,) = read(make.run(one))
        reasons = dict(part.split(": ", 1) for part in row["reasons"].split("; "))
        for entry in metric.REGISTRY:
            if not entry.is_of(one.cell):
                assert row[entry.column] == ""
                assert entry.name not in reasons
                continue
            assert (row[entry.column] == "") == (entry.name in reasons)


def test_csv_of_an_empty_run_has_the_header(make: Any) -> None:
    full, empty = make.run(make.measurement()), make.run()
    assert csv(empty) == csv(full).splitlines(keepends=True)[0]


def test_csv_of_a_failed_cell(make: Any) -> None:
    (row,) = read(make.run(make.failed("crash", "two\nlines, \x1b[1mbold")))
    assert (row["status"], row["message"], row["total_ns"], row["processes"]) == ("crash", "two lines, bold", "", "0")
    assert row["reasons"].startswith("primal: crash; forward: crash; ")


def test_csv_is_in_reading_order_and_makes_its_summaries(make: Any) -> None:
    run = make.run(make.measurement(make.cell(n=100)), make.measurement(make.cell(n=10), samples=[]))
    rows = list(csv_module.DictReader(io.StringIO(csv(run))))
    assert [(row["size"], row["total_ns"], row["import_ns"]) for row in rows] == [
        ("n=10", "", ""),
        ("n=100", "2500.0", "1000000.0"),
    ]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\x1b[0m=1", " =1"])
def test_csv_has_no_formulas(make: Any, name: str) -> None:
    cell = make.cell(name, name, None, suite=name)
    (row,) = read(make.run(make.measurement(cell, message=name, warnings=[Warning(code=Code.OTHER, reason=name)])))
    for key in ("suite", "workload", "engine", "message", "warnings"):
        assert row[key][0] == "'"
        assert row[key][1] in "=+-@"


def test_csv_leaves_negative_numbers_alone(make: Any) -> None:
    (row,) = read(make.run(make.measurement(samples=[make.sample(times={"total": -1.5})])))
    assert row["total_ns"] == "-1.5"


def test_csv_has_what_tensors_have(make: Any) -> None:
    (row,) = read(make.run(make.tensor(bytes=5e3)))
    keys = (
        "shape",
        "size",
        "dtype",
        "device",
        "shapes",
        "flops",
        "flops_per_s",
        "bytes",
        "bytes_per_s",
        "retained_bytes",
    )
    assert [row[key] for key in keys] == [
        "128×784",
        "batch=128",
        "float32",
        "cpu",
        "x 128×784; w 784×10",
        "10000.0",
        "4000000000.0",
        "5000.0",
        "2000000000.0",
        "2048",
    ]


def test_csv_says_how_calm_it_was(make: Any) -> None:
    rows = make.totals(2500.0, 2600.0)
    mixed = make.measurement(make.cell(n=1), samples=[watched(rows[0], calm=3, blocks=4), watched(rows[1], calm=0)])
    slow = never_calm(make.measurement(make.cell(n=2), samples=rows))
    keys = ("processes", "calm_processes", "calm_blocks_share", "warnings")
    assert [[row[key] for key in keys] for row in read(make.run(mixed, slow, make.failed("crash")))] == [
        ["2", "1", "0.375", ""],
        ["2", "0", "0.0", "The machine was never calm: the time is shown, and decides nothing. Measure again; "
         "`gradmark doctor` shows the machine's states."],
        ["0", "", "", ""],
    ]  # fmt: skip
