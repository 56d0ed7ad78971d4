import csv as csv_module
import io
from typing import Any

import msgspec
import pytest

from gradmark.records import Memory, Run
from gradmark.report.exports import text
from gradmark.report.model.notes import Note


def test_markdown(make: Any) -> None:
    tables = make.tables(
        make.measurement(samples=[make.sample(derived=["backward"])], memory=Memory(reason="no_memray")),
        make.failed("timeout", cell=make.cell("a|b`c`", "<b>*x*_")),
    )
    notes = [Note(level="warning", text="Look at `this` | that.")]
    assert text.markdown(tables, notes) == (
        "### scalar\n"
        "\n"
        "| workload | engine | primal | forward | backward | total | bwd/fwd | grad/primal (theory: ≤ 4) | ops/s"
        " | allocs | peak | tape | error |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| poly/n=10 | tapegrad | 1.00 µs | 2.00 µs | ~500 ns | 2.50 µs | ~0.25 | 2.50 | 8.00 M | n/a | n/a | 20"
        " | 0.50 ulp |\n"
        "| a\\|b\\`c\\`/n=10 | \\<b\\>\\*x\\*\\_ |  |  |  | timed out |  |  |  |  |  |  |  |\n"
        "\n"
        "- \\~ derived, not timed by itself: backward is total less forward\n"
        "- times are medians; ratios and rates are of the fastest blocks\n"
        "- n/a allocs, peak: no_memray\n"
        "\n"
        "- **warning**: Look at \\`this\\` \\| that.\n"
    )


def test_markdown_of_nothing() -> None:
    assert text.markdown([], []) == "Nothing was measured.\n"


def test_a_name_cannot_end_the_table(make: Any) -> None:
    tables = make.tables(make.measurement(make.cell("x\n\n# title", "e\r\n|")))
    lines = text.markdown(tables, []).splitlines()
    assert lines[4].startswith("| x \\# title/n=10 | 1.00 µs |")
    assert {line.replace("\\|", "").count("|") for line in lines[2:5]} == {13}


def read(run: Run, make: Any) -> list[dict[str, str]]:
    return list(csv_module.DictReader(io.StringIO(text.csv(run, make.summaries(run)))))


def test_csv_has_all_numbers_of_a_cell(make: Any) -> None:
    (row,) = read(make.run(make.measurement(samples=[make.sample(derived=["backward"])])), make)
    assert {key: value for key, value in row.items() if value} == {
        "suite": "scalar",
        "workload": "poly",
        "size": "n=10",
        "dtype": "float64",
        "device": "cpu",
        "engine": "tapegrad",
        "status": "ok",
        "processes": "1",
        **{
            f"{phase}{part}_ns": ns
            for phase, ns in (("primal", "1000.0"), ("forward", "2000.0"), ("backward", "500.0"), ("total", "2500.0"))
            for part in ("", "_low", "_high", "_floor")
        },
        "primal_how": "measured",
        "forward_how": "measured",
        "backward_how": "derived",
        "total_how": "measured",
        "steady": "true",
        "spread_ratio": "0.0",
        "backward_forward_ratio": "0.25",
        "gradient_primal_ratio": "2.5",
        "operations": "20",
        "operations_per_s": "8000000.0",
        "allocations_per_iteration": "0.0",
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
        "reasons": "instructions: not asked for",
    }


def test_csv_of_an_empty_run_has_the_header(make: Any) -> None:
    full, empty = make.run(make.measurement()), make.run()
    assert text.csv(empty) == text.csv(full).splitlines(keepends=True)[0]


def test_csv_of_a_failed_cell(make: Any) -> None:
    (row,) = read(make.run(make.failed("crash", "two\nlines, \x1b[1mbold")), make)
    assert (row["status"], row["message"], row["total_ns"], row["processes"]) == ("crash", "two lines, bold", "", "0")
    assert row["reasons"].startswith("primal: crashed; forward: crashed; ")


def test_csv_is_in_reading_order_and_makes_its_estimates(make: Any) -> None:
    run = make.run(make.measurement(make.cell(n=100)), make.measurement(make.cell(n=10), samples=[]))
    rows = list(csv_module.DictReader(io.StringIO(text.csv(run))))
    assert [(row["size"], row["total_floor_ns"], row["import_ns"]) for row in rows] == [
        ("n=10", "", ""),
        ("n=100", "2500.0", "1000000.0"),
    ]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\x1b[0m=1", " =1"])
def test_csv_has_no_formulas(make: Any, name: str) -> None:
    cell = make.cell(name, name, None, suite=name)
    (row,) = read(make.run(make.measurement(cell, message=name, warnings=[name])), make)
    for key in ("suite", "workload", "engine", "message", "warnings"):
        assert row[key][0] == "'"
        assert row[key][1] in "=+-@"


def test_csv_leaves_negative_numbers_alone(make: Any) -> None:
    (row,) = read(make.run(make.measurement(samples=[make.sample(times={"total": -1.5})])), make)
    assert row["total_ns"] == "-1.5"


def test_json_is_the_run(make: Any) -> None:
    run = make.run(make.measurement(), make.failed("crash", 'quo"ted\n', make.cell("[red]")))
    written = text.json(run)
    assert msgspec.json.decode(written, type=Run) == run
    assert written.startswith('{\n  "id": "run-1",\n')
    assert written.endswith("}\n")


def test_csv_has_what_tensors_have(make: Any) -> None:
    (row,) = read(make.run(make.tensor(bytes=5e3)), make)
    keys = (
        "shape",
        "batch",
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
        "128",
        "float32",
        "cpu",
        "x 128×784; w 784×10",
        "10000.0",
        "4000000000.0",
        "5000.0",
        "2000000000.0",
        "2048",
    ]


def test_json_has_what_tensors_have(make: Any) -> None:
    run = make.run(make.tensor())
    assert msgspec.json.decode(text.json(run), type=Run) == run
    assert '"flops": 10000.0' in text.json(run)
