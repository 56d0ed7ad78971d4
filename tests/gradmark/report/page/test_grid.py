from typing import Any

from gradmark.report.page.grid import WIDEST, Field, grid
from gradmark.report.page.material import Material


def column(found: Any, key: str) -> list[Field]:
    place = [head.key for head in found.heads].index(key)
    return [line.fields[place] for line in found.lines]


def test_a_number_has_its_value_and_its_interval(material: Material) -> None:
    found = grid(material)
    assert column(found, "total")[0] == Field(text="1.05 µs", value="1050", more="1.01 µs to 1.09 µs, fastest 1.00 µs")
    assert column(found, "allocations")[1] == Field(text="20", value="20")
    assert column(found, "first_call")[0].text == "20.8 µs"
    assert (found.suites, found.engines[0]) == (["scalar", "operators", "tensor"], "tapegrad")


def test_what_is_missing_says_why(material: Material) -> None:
    found = grid(material)
    rows = [field.text for field in column(found, "workload")]
    assert column(found, "peak_bytes")[rows.index("bare/n=1")] == Field(text="n/a", more="memray is not installed")
    assert column(found, "total")[rows.index("tree/n=4")] == Field(text="wrong gradient", more="off by <b>2</b>")
    assert column(found, "retained_bytes")[0] == Field(text="", value="600")


def test_columns_are_there_if_they_say_something_and_shown_if_they_are_needed(make: Any, material: Material) -> None:
    shown = {head.key: head.shown for head in grid(material).heads}
    assert "instructions" not in shown
    assert (shown["workload"], shown["total"], shown["dtype"], shown["peak_bytes"]) == (True, True, False, False)
    twice = [make.tensor(make.cell("mlp", suite="tensor", dtype=dtype)) for dtype in ("float32", "float64")]
    assert {head.key: head.shown for head in grid(Material([make.run(*twice)])).heads}["dtype"]


def test_columns_are_as_wide_as_their_numbers_but_long_names_are_folded(material: Material) -> None:
    widths = {head.key: head.width for head in grid(material).heads}
    assert widths["total"] == len("wrong gradient")
    assert widths["gradient_ratio"] == len("grad/primal") + 1
    assert widths["engine"] == WIDEST
