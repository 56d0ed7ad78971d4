from typing import Any

from oracles.watched import all_watched

from gradmark.report.page import curves
from gradmark.report.page.material import Material


def test_a_view_for_each_metric_that_has_numbers(material: Material) -> None:
    chart = curves.scaling(material)
    assert [view.keys for view in chart.views] == [
        ["poly/n=*", title] for title in ("total", "primal", "forward", "backward", "allocs", "peak", "tape")
    ]  # fmt: skip
    assert (chart.selects, chart.missing) == (["Workload", "Metric"], "")


def test_the_numbers_of_the_table_with_their_spread_the_fit_and_the_guide(material: Material) -> None:
    view = curves.scaling(material).views[0]
    assert [(one.style, one.colour) for one in view.series] == [
        ("points", 0), ("line", 0), ("points", 1), ("line", 1), ("dashed", -1)
    ]  # fmt: skip
    marks = view.series[0]
    assert marks.x == [20, 200, 2000, 20000]
    assert (marks.y[0], marks.low[0], marks.high[0]) == (1000, 1000, 1090)
    assert marks.text[0] == "tapegrad, n = 20: 1.00 µs, spread ±3.8 %"
    assert view.summary.startswith("tapegrad grows as n^1.00 (0.98 to 1.02), linear; ")
    guide = view.series[-1]
    assert (guide.x, guide.y) == ([20, 20000], [1000, 1_000_000])
    assert (view.x.title, view.x.log, view.y.unit, view.y.log) == ("n: operations", True, "time", True)


def test_the_whiskers_of_a_time_are_its_interval(make: Any) -> None:
    def timed(n: int) -> Any:
        samples = [make.sample(process, {"total": n * (1000.0 + 10 * process)}) for process in range(9)]
        return all_watched(make.measurement(make.cell(n=n), samples=samples, operations=n))

    view = curves.scaling(Material([make.run(*map(timed, (1, 10, 100, 1000)))])).views[0]
    marks = view.series[0]
    assert (view.keys[1], view.y.title) == ("total", "total, calm time")
    assert (marks.low[1], marks.y[1], marks.high[1]) == (10_100, 10_400, 10_700)
    assert marks.text[1] == "tapegrad, n = 10: 10.4 µs, spread ±2.9 %"


def test_what_never_allocates_is_on_the_plot_and_in_its_words(material: Material) -> None:
    view = next(view for view in curves.scaling(material).views if view.keys[1] == "allocs")
    marks = {one.name: one.y for one in view.series if one.style == "points"}
    assert marks["tapegrad"] == [0, 0, 0, 0]
    assert not any(one.name.startswith("tapegrad, fit") for one in view.series)
    assert "tapegrad grows" not in view.summary
    assert view.summary.endswith(" Always 0: tapegrad.")


def test_too_few_sizes_say_what_to_do(make: Any) -> None:
    chart = curves.scaling(Material([make.run(make.measurement())]))
    assert chart.views == []
    assert chart.missing == (
        "No workload was measured at 4 sizes or more. `gradmark scale poly` or `gradmark run --full` measures enough."
    )
