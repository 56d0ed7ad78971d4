"""Rows: what is shown of a cell, safe to print, in the order in which people read."""

from typing import Any

import pytest

from gradmark.analyse.summary import summarise
from gradmark.records import Cell, Memory, Param, Status
from gradmark.report.model.rows import WORDS, reading_order, row_of, rows


def test_a_row_is_its_summary_with_names(make: Any) -> None:
    measurement = make.measurement(samples=make.totals(2500.0, 2600.0))
    row, summary = row_of(measurement), summarise(measurement)
    assert (row.workload, row.engine, row.place) == ("poly/n=10", "tapegrad", "poly/n=10 on tapegrad")
    assert (row.numbers, row.reasons, row.steady) == (summary.numbers, summary.reasons, True)
    assert row.time is row.numbers["total"]


def test_every_status_has_words() -> None:
    assert WORDS.keys() == set(Status.__args__)  # type: ignore[attr-defined]


def test_names_messages_and_reasons_are_safe_to_print(make: Any) -> None:
    row = make.row(
        make.measurement(
            make.cell("\x1b[31mp\x1b[0m\n", "e\x07\u202e", None),
            message="\x1b]0;x\x07m",
            memory=Memory(reason="two\nlines"),
        )
    )
    assert (row.workload, row.engine, row.message, row.reasons["peak_bytes"]) == ("p", "e", "m", "two lines")


def test_rows_of_a_run_take_the_summaries_that_were_made(make: Any) -> None:
    run = make.run(make.measurement(make.cell(n=100)), make.measurement(make.cell(n=10)))
    assert [row.workload for row in rows(run)] == ["poly/n=10", "poly/n=100"]
    assert rows(run) == rows(run, make.summaries(run))


@pytest.mark.parametrize(
    ("status", "message", "why"),
    [
        ("unsupported", "tapegrad has no tensors, and poly takes tensors", "it has no tensors, and this takes tensors"),
        ("unsupported", "tapegrad-2 and polygon are other names", "tapegrad-2 and polygon are other names"),
        ("unsupported", "", ""),
        ("skipped", "poly/n=3 failed: error", "poly/n=3 failed: error"),
        ("error", "NameError: name 'poly' is not defined", "NameError: name 'poly' is not defined"),
    ],
)
def test_equal_reasons_are_equal_texts(make: Any, status: str, message: str, why: str) -> None:
    assert make.row(make.failed(status, message)).why == why


def test_a_tensor_row(make: Any) -> None:
    row = make.row(make.tensor())
    assert (row.workload, row.shape, row.value("flops_per_s"), row.value("bytes_per_s")) == (
        "mlp/batch=128",
        "128×784",
        4e9,
        None,
    )
    assert row.reasons["bytes_per_s"] == "the workload does not declare its bytes"


# --- reading order


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


def test_dtypes_and_devices_of_one_size_stand_together(make: Any) -> None:
    cells = [make.tensor_cell(dtype=dtype, params={"n": n}) for dtype in ("float32", "float64") for n in (8, 256)]
    assert in_order(make, *cells) == [
        "mlp/n=8 tapegrad",
        "mlp/n=8/dtype=float64 tapegrad",
        "mlp/n=256 tapegrad",
        "mlp/n=256/dtype=float64 tapegrad",
    ]


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
