from typing import Any

from gradmark.records import Run
from gradmark.report.page import curves
from gradmark.report.page.material import Material


def test_a_view_for_each_metric_that_has_numbers(material: Material) -> None:
    chart = curves.scaling(material)
    assert [view.keys for view in chart.views] == [
        ["poly", name]
        for name in (
            "time, total", "time, forward", "time, backward", "time, primal", "allocations", "tape", "memory, peak"
        )
    ]  # fmt: skip
    assert (chart.selects, chart.missing) == (["Workload", "Metric"], "")


def test_medians_with_intervals_floors_the_fit_and_the_guide(material: Material) -> None:
    view = curves.scaling(material).views[0]
    assert [(one.style, one.colour) for one in view.series] == [
        ("points", 0), ("open", 0), ("line", 0), ("points", 1), ("open", 1), ("line", 1), ("dashed", -1)
    ]  # fmt: skip
    median, floor = view.series[:2]
    assert median.x == floor.x == [20, 200, 2000, 20000]
    assert (median.y[0], median.low[0], median.high[0], floor.y[0]) == (1050, 1010, 1090, 1000)
    assert median.text[0] == "tapegrad, n = 20: 1.05 µs (1.01 µs to 1.09 µs)"
    assert view.summary.startswith("tapegrad grows as n^1.00 (0.98 to 1.02), linear; ")
    guide = view.series[-1]
    assert (guide.x, guide.y) == ([20, 20000], [1000, 1_000_000])
    assert (view.x.title, view.x.log, view.y.unit, view.y.log) == ("n: operations", True, "time", True)


def test_zeros_are_said_not_drawn(material: Material) -> None:
    view = next(view for view in curves.scaling(material).views if view.keys[1] == "allocations")
    assert all(y > 0 for one in view.series for y in one.y)
    assert view.summary.endswith("Zeros have no place on a logarithmic axis.")


def test_too_few_sizes_say_what_to_do(make: Any) -> None:
    chart = curves.scaling(Material([make.run(make.measurement())]))
    assert chart.views == []
    assert chart.missing == (
        "No workload was measured at 4 sizes or more. `gradmark scale poly` or `gradmark run --full` measures enough."
    )


def test_every_block_is_a_dot(material: Material) -> None:
    chart = curves.samples(material)
    assert [view.keys[1] for view in chart.views[:4]] == ["total", "forward", "backward", "primal"]
    view = chart.views[0]
    assert view.keys[0] == "poly/n=10 · tapegrad"
    assert [(one.x, one.y) for one in view.series] == [
        ([1], [1000, 1010, 1020]), ([4], [1040, 1050, 1060]), ([7], [1080, 1090, 1100])
    ]  # fmt: skip
    assert view.summary == (
        "3 processes, 9 blocks. Medians of the processes lie between 1.01 µs and 1.09 µs, "
        "the fastest block took 1.00 µs."
    )


def test_too_many_samples_are_said(several: Run, monkeypatch: Any) -> None:
    monkeypatch.setattr(curves, "MOST_SAMPLES", 10)
    chart = curves.samples(Material([several]))
    assert {view.keys[1] for view in chart.views} == {"total"}
    assert "one phase of each row is shown, the run file has all" in chart.title


def test_no_samples(make: Any) -> None:
    assert curves.samples(Material([make.run(make.failed("crash"))])).missing == "No row has a time."
