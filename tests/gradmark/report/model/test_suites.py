from typing import Any

from gradmark.records import Run
from gradmark.report.model.suites import tables


def test_one_table_for_each_suite(make: Any) -> None:
    found = make.tables(
        make.measurement(make.cell(suite="tensor", workload="mlp")),
        make.measurement(make.cell(n=100)),
        make.measurement(make.cell(suite="tensor", workload="conv")),
        make.measurement(make.cell(n=10)),
    )
    assert [(table.suite, [row.workload for row in table.rows]) for table in found] == [
        ("tensor", ["mlp/n=10", "conv/n=10"]),
        ("scalar", ["poly/n=10", "poly/n=100"]),
    ]


def test_an_empty_run_has_no_tables(make: Any) -> None:
    empty: Run = make.run()
    assert tables(empty) == []


def test_a_run_with_only_failed_cells_has_its_rows(make: Any) -> None:
    run = make.run(make.failed("crash", "SIGSEGV"), make.failed("skipped", cell=make.cell(n=100)))
    (table,) = tables(run)
    assert [(row.workload, row.status, row.message) for row in table.rows] == [
        ("poly/n=10", "crash", "SIGSEGV"),
        ("poly/n=100", "skipped", ""),
    ]


def test_the_names_of_suites_are_safe_to_print(make: Any) -> None:
    (table,) = make.tables(make.measurement(make.cell(suite="\x1b[1mbold\x07")))
    assert table.suite == "bold"


def test_the_title_of_tensors_says_what_all_rows_have(make: Any) -> None:
    def title(*kinds: tuple[str, str]) -> str:
        rows = [make.tensor(make.tensor_cell(dtype=dtype, device=device)) for dtype, device in kinds]
        return str(make.tables(*rows)[0].title)

    assert title(("float32", "cpu")) == "tensor, float32, cpu"
    assert title(("float32", "cpu"), ("float64", "cpu")) == "tensor, cpu"
    assert title(("float32", "cpu"), ("float64", "gpu")) == "tensor"
    assert make.tables(make.measurement())[0].title == "scalar"
