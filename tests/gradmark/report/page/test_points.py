from typing import Any

from gradmark.records import Accuracy, Memory, Run
from gradmark.report.model import sides
from gradmark.report.page import heat, points
from gradmark.report.page.material import Material


def test_accuracy_beside_time(make: Any, material: Material) -> None:
    chart = points.accuracy(material)
    assert [view.keys for view in chart.views] == [["scalar"], ["operators"], ["tensor"]]
    assert chart.views[2].series[0].text == ["mlp/batch=128 on tapegrad: error 2.0e-07; 9.00 µs"]
    assert points.accuracy(Material([make.run(make.failed("crash"))])).missing.startswith("No gradient was checked")


def test_first_call_against_steady_state(material: Material) -> None:
    view = points.first_call(material).views[0]
    assert [(one.name, one.style) for one in view.series][::2] == [("tapegrad", "points"), ("equal", "dashed")]
    assert view.summary == "The first call costs most, in iterations, on poly/n=10 on tapegrad: 25.0."
    assert view.series[0].text[0] == "poly/n=10 on tapegrad: first 25.0 µs, then 1.00 µs: 25.0 iterations"


def test_the_front_is_what_nobody_beats(make: Any) -> None:
    def measured(engine: str, total: float, peak: int, error: float) -> Any:
        times = {"forward": total / 2, "backward": total / 2, "total": total}
        return make.measurement(
            make.cell(engine=engine),
            samples=[make.sample(times=times)],
            memory=Memory(peak_bytes=peak),
            accuracy=Accuracy(reference="r", relative_error=error, tolerance=1.0),
        )

    run = make.run(
        measured("fast", 100, 2 << 20, 1e-10),
        measured("small", 200, 1 << 20, 1e-10),
        measured("exact", 300, 3 << 20, 1e-16),
        measured("beaten", 1400, (1 << 20) - 20_000, 1e-10),
    )
    (view,) = points.pareto(Material([run])).views
    assert [(one.name, one.style) for one in view.series] == [
        ("fast", "points"),
        ("small", "points"),
        ("exact", "points"),
        ("beaten, beaten", "open"),
    ]
    assert view.summary == (
        "Pareto-optimal: fast (10.0 digits), small (10.0 digits), exact (16.0 digits). Open marks are beaten."
    )


def test_winners_ratios_fronts_and_digits_are_the_terminals(noisy: Run) -> None:
    material = Material([noisy])
    terminal = {side.title: side for side in sides.comparison(noisy).sides}
    fronts = {view.keys[0]: view for view in points.pareto(material).views}
    maps = heat.side_by_side(material)
    assert maps is not None
    assert len(fronts) == len(maps.rows) - 1
    for row in maps.rows[:-1]:
        side = terminal[row.name]
        lines = dict(side.lines)
        squares = dict(zip(maps.heads, row.squares, strict=True))
        for place, engine in enumerate(side.engines):
            assert squares[engine].text == f"{lines['total'][place]} · × {lines['× fastest'][place]}"
        best = min(float(square.value) for square in row.squares if square.value)
        for standing in material.standings[row.name]:
            assert standing.ratio == float(squares[standing.engine].value) / best
        optimal = {e for e, mark in zip(side.engines, lines["Pareto"], strict=True) if mark}
        assert {one.name for one in fronts[row.name].series if one.style == "points"} == optimal
        assert sum("◀" in square.text for square in row.squares) <= 1


def test_one_engine_has_no_front(make: Any) -> None:
    missing = "No workload has time, memory and accuracy on two engines or more."
    assert points.pareto(Material([make.run(make.measurement())])).missing == missing
