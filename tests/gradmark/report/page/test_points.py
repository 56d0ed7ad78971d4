from typing import Any

import msgspec

from gradmark.records import Accuracy, Memory
from gradmark.report.page import points
from gradmark.report.page.material import Material


def test_digits() -> None:
    assert [points.digits(error) for error in (1e-9, 0.0, 1e-30, 5.0, float("nan"))] == [9.0, 17.0, 17.0, 0.0, 0.0]


def test_accuracy_beside_time(make: Any, material: Material) -> None:
    chart = points.accuracy(material)
    assert [view.keys for view in chart.views] == [["scalar"], ["operators"], ["tensor"]]
    assert chart.views[2].series[0].text == ["mlp/batch=128/dtype=float32 on tapegrad: 2.0e-07 relative; 9.01 µs"]
    assert points.accuracy(Material([make.run(make.failed("crash"))])).missing.startswith("No gradient was checked")


def test_first_call_against_steady_state(material: Material) -> None:
    view = points.first_call(material).views[0]
    assert [(one.name, one.style) for one in view.series][::2] == [("tapegrad", "points"), ("equal", "dashed")]
    assert view.summary.startswith("The first call costs most, in iterations, on ")


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
        measured("fast", 100, 2000, 1e-10),
        measured("small", 200, 1000, 1e-10),
        measured("exact", 300, 3000, 1e-16),
        measured("beaten", 300, 3000, 1e-10),
    )
    (view,) = points.pareto(Material([run])).views
    assert [(one.name, one.style) for one in view.series] == [
        ("fast", "points"),
        ("small", "points"),
        ("exact", "points"),
        ("beaten, beaten", "open"),
    ]
    assert view.summary == (
        "On the front: fast (10.0 digits), small (10.0 digits), exact (16.0 digits). Open marks are beaten."
    )


def test_one_engine_has_no_front(make: Any) -> None:
    missing = "No workload has time, memory and accuracy on two engines or more."
    assert points.pareto(Material([make.run(make.measurement())])).missing == missing


def runs(make: Any, *totals: float) -> list[Any]:
    return [
        make.run(
            make.measurement(samples=[make.sample(times={"total": total})]),
            id=f"r{day}",
            started=f"2026-01-{day:02}T00:00",
        )
        for day, total in enumerate(totals, 1)
    ]


def test_history_is_a_series_with_its_changes(make: Any) -> None:
    chart = points.history(Material(runs(make, *[100.0] * 6, *[200.0] * 6)))
    view, allocations = chart.views
    assert (view.keys, allocations.keys[1]) == (["poly/n=10 · tapegrad", "total, fastest block"], "allocations")
    assert [(one.name, one.style, one.x, one.y) for one in view.series] == [
        ("this machine", "joined", list(range(12)), [100] * 6 + [200] * 6),
        ("change", "change", [6], [200]),
    ]
    assert view.x.names[:2] == ["2026-01-01 00:00", "2026-01-02 00:00"]
    assert view.summary == (
        "From 100 ns to 200 ns over 12 runs. A new level begins at 2026-01-07 00:00. "
        "Times of different days are shown, not judged."
    )


def test_history_tells_other_machines_apart(make: Any) -> None:
    first, second = runs(make, 100.0, 200.0)
    first = msgspec.structs.replace(first, environment=msgspec.structs.replace(first.environment, cpu="M1"))
    view = points.history(Material([first, second])).views[0]
    assert [(one.name, one.x) for one in view.series] == [
        ("this machine", [1]),
        ("another machine or way of measuring", [0]),
    ]


def test_history_needs_two_runs_with_a_row_in_common(make: Any) -> None:
    one = make.run(make.measurement())
    other = make.run(make.measurement(make.cell("tree")), id="run-2")
    assert points.history(Material([one])).missing.startswith("One run was given; `gradmark report RUN RUN …`")
    assert points.history(Material([one, other])).missing == "The runs have no row in common."
