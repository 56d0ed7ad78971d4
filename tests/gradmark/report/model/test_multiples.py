"""Function first, then derivative / function for each engine."""

from typing import Any

from gradmark.records import Cell, Run
from gradmark.report.exports import markdown
from gradmark.report.model.multiples import FUNCTION, multiples


def run(make: Any, *measurements: Any) -> Run:
    return make.run(*measurements)


def cell(engine: str, workload: str = "poly") -> Cell:
    return Cell(engine=engine, workload=workload, suite="scalar", params={"n": 10})


def timed(make: Any, engine: str, primal: float, total: float, workload: str = "poly") -> Any:
    times = {"primal": primal, "total": total}
    return make.measurement(cell(engine, workload), samples=[make.sample(k, times) for k in range(6)])


def test_one_function_time_for_all_engines(make: Any) -> None:
    table = multiples(run(make, timed(make, "mine", 200.0, 800.0), timed(make, "other", 100.0, 200.0)))
    assert table.engines == ["mine", "other"]
    assert table.lines == [("poly/n=10", "100 ns", ["8.00 × (800 ns)", "2.00 × (200 ns) ◀"])]
    assert table.best == [[False, True]]


def test_what_has_no_place_says_why(make: Any) -> None:
    table = multiples(
        run(
            make,
            timed(make, "mine", 2.0, 800.0),  # the function is too short to be a measure
            make.failed("timeout", cell=cell("other")),
            timed(make, "mine", 100.0, 300.0, "tree"),
        )
    )
    assert table.lines == [
        ("poly/n=10", "n/a", ["800 ns ◀", "timed out"]),
        ("tree/n=10", "100 ns", ["3.00 × (300 ns) ◀", ""]),
    ]


def test_in_markdown_the_rest_is_folded(make: Any) -> None:
    table = multiples(run(make, timed(make, "mi|ne", 200.0, 800.0), timed(make, "other", 100.0, 200.0)))
    assert markdown.multiples(table, ["a*b"], "details\n") == (
        "- a\\*b\n"
        "\n"
        "| workload | function | mi\\|ne | other |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| poly/n=10 | 100 ns | 8.00 × (800 ns) | **2.00 × (200 ns) ◀** |\n"
        "\n"
        f"- {FUNCTION}\n- ◀ fastest\n- times: measured in calm moments, at one clock speed\n"
        "\n"
        "<details>\n<summary>All numbers</summary>\n\ndetails\n\n</details>\n"
    )
