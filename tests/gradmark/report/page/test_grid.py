import csv
from typing import Any

from oracles.watched import all_watched

from gradmark.records import Accuracy, Run
from gradmark.report.exports.csv import csv as exported
from gradmark.report.model.columns import cells
from gradmark.report.model.sides import TO_FASTEST, comparison
from gradmark.report.page.grid import WIDEST, Field, Grid, grid
from gradmark.report.page.material import Material


def column(found: Grid, key: str) -> list[Field]:
    place = [head.key for head in found.heads].index(key)
    return [line.fields[place] for line in found.lines]


def test_a_number_is_the_fastest_block_with_its_median_and_spread_on_demand(material: Material) -> None:
    found = grid(material)
    assert column(found, "total")[0] == Field(
        text="1.00 µs", value="1000.0", more="median 1.05 µs (range 1.01 µs to 1.09 µs); spread ±3.8 %"
    )
    assert column(found, "allocations")[1] == Field(text="20", value="20.0")
    assert column(found, "first_call")[0].text == "25.0 µs"  # prepare is part of it
    assert (found.suites, found.engines[0]) == (["scalar", "operators", "tensor"], "tapegrad")


def test_a_number_of_calm_blocks_has_its_interval_and_the_spread(make: Any) -> None:
    samples = [make.sample(process, {"total": 1000.0 + 10 * process}) for process in range(9)]
    found = grid(Material([make.run(all_watched(make.measurement(samples=samples)))]))
    assert column(found, "total")[0] == Field(
        text="1.04 µs", value="1040.0", more="1.01 µs to 1.07 µs, 96 %; spread ±2.9 %"
    )
    assert found.times == "measured in calm moments, at one clock speed"


def test_an_interval_states_its_coverage(make: Any) -> None:
    samples = [make.sample(process, {"total": 1000.0 + process}) for process in range(10)]
    found = grid(Material([make.run(make.measurement(samples=samples))]))
    assert column(found, "total")[0].more == "median 1.00 µs (1.00 µs to 1.01 µs, 98 %); spread ±0.3 %"


def test_every_text_is_the_terminals_and_every_number_that_of_csv_files(noisy: Run) -> None:
    material = Material([noisy])
    found = grid(material)
    lines = list(csv.DictReader(exported(noisy).splitlines()))
    assert len(lines) == len(found.lines) == len(material.rows)
    sides = {(side.title, engine): text for side in comparison(noisy).sides for label, texts in side.lines
             if label == TO_FASTEST for engine, text in zip(side.engines, texts, strict=True)}  # fmt: skip
    for line, row, kept in zip(found.lines, material.rows, lines, strict=True):
        terminal = cells(row, material.columns) | {"times_fastest": sides.get((row.workload, row.engine), "")}
        for head, field in zip(found.heads, line.fields, strict=True):
            if head.key != "suite":
                assert field.text == terminal[head.key]
            if head.key == "times_fastest":
                assert line.best == (field.text[-1:] in ("◀", "="))
            elif head.number:
                assert field.value == (kept[head.csv[field.which]] if field.value else "")
            else:
                assert field.text == kept[head.csv[0]]
        assert line.status == kept["status"]


def test_every_ratio_is_the_quotient_of_the_numbers_beside_it(noisy: Run) -> None:
    found = grid(Material([noisy]))
    numbers = {head.key: [field.value for field in column(found, head.key)] for head in found.heads}
    assert sum(map(bool, numbers["backward_forward"])) >= 13
    for ratio, above, below in (("backward_forward", "backward", "forward"), ("gradient_primal", "total", "primal")):
        for quotient, a, b in zip(numbers[ratio], numbers[above], numbers[below], strict=True):
            assert not quotient or float(quotient) == float(a) / float(b)
    for total, *parts in zip(*(numbers[key] for key in ("total", "forward", "backward")), strict=True):
        assert all(float(part) <= float(total) for part in parts if part)


def test_what_is_missing_says_why(material: Material) -> None:
    found = grid(material)
    rows = [field.text for field in column(found, "workload")]
    assert column(found, "peak_bytes")[rows.index("bare/n=1")] == Field(text="n/a", more="memray is not installed")
    assert column(found, "total")[rows.index("tree/n=4")] == Field(text="wrong gradient", more="off by <b>2</b>")
    assert column(found, "retained_bytes")[0] == Field(text="")  # of numbers it says nothing
    assert any(line.startswith("n/a allocs") for line in found.legend)


def test_a_computed_part_says_so(make: Any) -> None:
    found = grid(
        Material([make.run(make.measurement(samples=[make.sample(times={"forward": 1.0e3, "total": 4.0e3})]))])
    )
    assert column(found, "backward")[0] == Field(
        text="~3.00 µs", value="3000.0", more="computed: total − the other part"
    )
    assert column(found, "backward_forward")[0] == Field(text="~3.00", value="3.0")


def test_columns_are_there_if_some_row_has_their_number(make: Any, material: Material) -> None:
    shown = {head.key: head.shown for head in grid(material).heads}
    assert "instructions" not in shown
    assert (shown["workload"], shown["total"], shown["suite"], shown["peak_bytes"]) == (True, True, False, False)
    assert "engine" in [head.key for head in grid(Material([make.run(make.measurement())])).heads]


def test_an_error_that_is_not_a_number_is_a_number_of_its_column(make: Any) -> None:
    """Asking whether the text has more than the letters of n/a took "nan" for nothing."""
    accuracy = Accuracy(reference="r", relative_error=float("nan"), tolerance=1e-4)
    found = grid(Material([make.run(make.tensor(accuracy=accuracy))]))
    assert column(found, "error_ulps")[0] == Field(text="nan", value="nan", which=1)


def test_metrics_that_share_a_column_keep_their_names_in_csv(make: Any) -> None:
    found = grid(Material([make.run(make.measurement(), make.tensor())]))
    heads = {head.key: head.csv for head in found.heads}
    assert heads["error_ulps"] == ["error_ulps", "relative_error"]
    assert [(field.text, field.which) for field in column(found, "error_ulps")] == [("0.50 ulp", 0), ("2.0e-07", 1)]
    assert heads["workload"] == ["row"]


def test_columns_are_as_wide_as_their_numbers_but_long_names_are_folded(material: Material) -> None:
    widths = {head.key: head.width for head in grid(material).heads}
    assert widths["total"] == len("wrong gradient")
    assert widths["gradient_primal"] == len("grad/primal") + 1
    assert widths["engine"] == WIDEST
