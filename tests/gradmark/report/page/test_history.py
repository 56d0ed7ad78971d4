from typing import Any

import msgspec

from gradmark.analyse.histories import histories
from gradmark.records import Memory
from gradmark.records.identity import class_of
from gradmark.records.outline import outline
from gradmark.report.page.history import history
from gradmark.report.page.material import Material


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
    chart = history(Material(runs(make, *[100.0] * 6, *[200.0] * 6)))
    (view,) = chart.views
    assert view.keys == ["poly/n=10@tapegrad", "total"]
    assert [(one.name, one.style, one.x, one.y) for one in view.series] == [
        ("this class of machine", "joined", list(range(12)), [100] * 6 + [200] * 6),
        ("change", "change", [6], [200]),
    ]
    assert view.x.names[:2] == ["2026-01-01 00:00", "2026-01-02 00:00"]
    assert view.summary == ("From 100 ns to 200 ns over 12 runs. A new level begins at 2026-01-07 00:00 (+100.0 %).")


def test_history_tells_other_machines_apart(make: Any) -> None:
    first, second = runs(make, 100.0, 200.0)
    first = msgspec.structs.replace(first, environment=msgspec.structs.replace(first.environment, cpu="M1"))
    view = history(Material([first, second])).views[0]
    assert [(one.name, one.x) for one in view.series] == [
        ("this class of machine", [1]),
        (f"{class_of(first.environment).name}, or measured otherwise", [0]),
    ]


def test_history_needs_two_runs_with_a_row_in_common(make: Any) -> None:
    one = make.run(make.measurement())
    other = make.run(make.measurement(make.cell("tree")), id="run-2")
    assert history(Material([one])).missing.startswith("A history needs two runs or more: `gradmark report RUN RUN …`")
    assert history(Material([one, other])).missing == "The runs have no row in common."


def test_counts_are_drawn_where_they_changed(make: Any) -> None:
    before, now = (
        make.run(make.measurement(memory=Memory(allocations=count, peak_bytes=4096)), id=name, started=name)
        for count, name in ((0.0, "2026-01-01"), (3.0, "2026-01-02"))
    )
    views = history(Material([before, now])).views
    assert [(view.keys[1], view.summary) for view in views] == [
        ("total", "From 2.50 µs to 2.50 µs over 2 runs."),
        ("allocs", "From 0 to 3 over 2 runs. A new level begins at 2026-01-02 (no longer 0)."),
    ]


def test_changes_are_those_of_the_terminal_engine_by_engine(make: Any) -> None:
    """Two engines step in the same night: of one row each this is no step that both share."""

    def night(day: int, times: dict[str, float]) -> Any:
        rows = [
            make.measurement(make.cell(engine=engine), samples=[make.sample(times={"total": ns})])
            for engine, ns in times.items()
        ]
        return make.run(*rows, id=f"r{day}", started=f"2026-01-{day:02}T00:00")

    kept = [night(day, {"a": 100.0 if day < 7 else 200.0, "b": 50.0 if day < 7 else 80.0}) for day in range(1, 13)]
    terminal = {
        series.cell: [change.run for change in series.changes]
        for series in histories([outline(run) for run in kept]).series
    }
    drawn = {
        view.keys[0]: [f"r{int(x) + 1}" for one in view.series if one.style == "change" for x in one.x]
        for view in history(Material(kept)).views
    }
    assert drawn == terminal
    assert drawn["poly/n=10@a"] == ["r7"]
