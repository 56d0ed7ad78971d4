"""The table of operators, which `gradmark ops` and the page show alike."""

from typing import Any

from oracles.watched import never_calm

from gradmark.analyse.operators import Operation, operations
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


def test_times_of_a_machine_that_was_never_calm_are_marked() -> None:
    found = [Operation("exp", 20.0, 8.5, 0.0, 24.0, 0.7, calm=False), Operation("tan", 10.0, 4.0, 0.0, 24.0, 0.7)]
    table = operator_table("tapegrad", found, None)
    assert table.lines[0].texts == ["20 ns?", "8.50 ns?", "0", "24 B", "0.70 ulp"]
    assert table.lines[1].texts[:2] == ["10 ns", "4 ns"]
    assert table.note.endswith("its derivative. ?: the machine was never calm while it was timed; measure again.")


def test_an_operation_is_as_calm_as_the_function_without_it(make: Any) -> None:
    def measured(operation: str) -> Any:
        return make.measurement(make.cell("operator", "tapegrad", None, params={"operation": operation}))

    for slow, marked in (("exp", ["exp"]), ("nothing", ["exp", "tan"])):
        rows = [never_calm(measured(name)) if name == slow else measured(name) for name in ("nothing", "exp", "tan")]
        assert [o.name for o in operations(rows, "tapegrad") if not o.calm] == marked


def test_other_derivatives_have_a_table_of_their_own_with_one_time(make: Any) -> None:
    cells = [
        make.cell("operator", suite="operators", n=None, params={"operation": "exp"}, derivative=derivative)
        for derivative in ("gradient", "jvp")
    ]
    tables = operator_tables([make.measurement(cell) for cell in cells])
    assert [(table.title, table.heads[0]) for table in tables] == [
        ("tapegrad, scalars", "forward"),
        ("tapegrad, scalars, jvp", "total"),
    ]
