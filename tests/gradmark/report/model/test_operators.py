"""The table of operators, which `gradmark ops` and the page show alike."""

from typing import Any

from gradmark.analyse.operators import Operation
from gradmark.report.model.operators import OperatorLine, operator_table, operator_tables


def test_numbers_have_units_and_what_is_missing_says_so() -> None:
    found = [Operation("exp", 20.0, 8.5, None, 24.0, 0.7), Operation("tan", *[None] * 5, "crash:\nSIGSEGV")]
    table = operator_table("tapegrad", found, None)
    assert (table.title, table.heads) == ("tapegrad, scalars", ["forward", "backward", "allocs", "saved", "error"])
    assert table.lines == [
        OperatorLine(
            name="exp",
            numbers=[20.0, 8.5, None, 24.0, 0.7],
            texts=["20 ns", "8.50 ns", "n/a", "24 B", "0.70 ulp"],
        ),
        OperatorLine(name="tan", problem="crash: SIGSEGV"),
    ]


def test_a_table_for_each_engine_and_dtype(make: Any) -> None:
    cells = [
        make.cell("operator", "tapegrad", None, params={"operation": "nothing"}),
        *(make.tensor_cell("tensor_operator", "torch", dtype=d, params={"operation": "exp"}) for d in ("a", "b")),
    ]
    titles = [table.title for table in operator_tables([make.measurement(cell) for cell in cells])]
    assert titles == ["tapegrad, scalars", "torch, tensors, a", "torch, tensors, b"]
