"""Points: accuracy beside time, first call against steady state, Pareto fronts, and history.

In: material. Out: the charts of those sections.
"""

import math
from collections.abc import Callable, Sequence

from gradmark import units
from gradmark.analyse.changepoints import changes
from gradmark.records import Run
from gradmark.report.model.characters import one_line
from gradmark.report.model.rows import row_name
from gradmark.report.page.chart import Axis, Chart, Series, View, short
from gradmark.report.page.material import Entry, Material

# What is exact to the last place has no finite number of digits; float64 has 15.95, so none has more than 17.
MOST_DIGITS = 17.0
FASTEST = "total, fastest block"


def digits(relative_error: float) -> float:
    """How many decimal digits are right.

    >>> digits(1e-9), digits(0.0), digits(3.0)
    (9.0, 17.0, 0.0)
    """
    if math.isnan(relative_error):
        return 0.0
    return MOST_DIGITS if relative_error <= 0 else min(MOST_DIGITS, max(0.0, -math.log10(relative_error)))


def accuracy(material: Material) -> Chart:
    """Digits of the gradient beside the time that it took, one view for each suite."""
    checked = [e for e in material.entries if e.row.relative_error is not None and e.row.time is not None]
    suites = list(dict.fromkeys(one_line(e.row.cell.suite) for e in checked))
    views = []
    for suite in suites:
        members = [e for e in checked if one_line(e.row.cell.suite) == suite]
        worst = min(members, key=lambda e: digits(e.row.relative_error or 0.0))
        views.append(
            View(
                keys=[suite],
                summary=f"{len(members)} rows. The fewest digits, {digits(worst.row.relative_error or 0.0):.1f}, has "
                f"{_place(worst)}.",
                x=Axis(title="time of value and gradient", unit="time", log=True),
                y=Axis(title="correct digits; 17: exact"),
                series=_by_engine(members, material.engines, _accurate),
            )
        )
    return Chart(
        id="accuracy-chart",
        title="Digits of the gradient beside its time",
        selects=["Suite"],
        views=views,
        missing="" if views else "No gradient was checked: no engine of this run gives one.",
    )


def _accurate(entry: Entry) -> tuple[float, float, str]:
    row = entry.row
    assert row.time is not None
    error = f"{row.relative_error:.1e} relative" + (f", {units.count(row.ulps)} ulp" if row.ulps is not None else "")
    return (
        row.time.median,
        digits(row.relative_error or 0.0),
        f"{_place(entry)}: {error}; {units.time(row.time.median)}",
    )


def first_call(material: Material) -> Chart:
    """What the first call costs (tracing, compiling, caches) against one iteration in the steady state."""
    timed = [e for e in material.fine if "first_call" in e.summary.once and e.row.total and e.row.total.median > 0]
    views = []
    if timed:
        dear = max(timed, key=_dearness)
        every = [x for e in timed if e.row.total for x in (e.row.total.median, e.summary.once["first_call"].median)]
        same = Series(name="equal", x=[min(every), max(every)], y=[min(every), max(every)], style="dashed", colour=-1)
        views.append(
            View(
                keys=[],
                summary=f"The first call costs most, in iterations, on {_place(dear)}: {_dearness(dear):.3g}.",
                x=Axis(title="one iteration, steady", unit="time", log=True),
                y=Axis(title="first call", unit="time", log=True),
                series=[*_by_engine(timed, material.engines, _first), same],
            )
        )
    return Chart(
        id="first-call-chart",
        title="First call against steady state",
        selects=[],
        views=views,
        missing="" if views else "No row has both a first call and a total.",
    )


def _dearness(entry: Entry) -> float:
    assert entry.row.total is not None
    return entry.summary.once["first_call"].median / entry.row.total.median


def _first(entry: Entry) -> tuple[float, float, str]:
    assert entry.row.total is not None
    steady, first = entry.row.total.median, entry.summary.once["first_call"].median
    text = f"{_place(entry)}: first {units.time(first)}, then {units.time(steady)}: {first / steady:.3g} iterations"
    return steady, first, text


def pareto(material: Material) -> Chart:
    """Time, memory and accuracy of the engines on one workload; on the front is what no other engine beats."""
    groups: dict[str, list[Entry]] = {}
    for e in material.fine:
        if e.row.total and e.row.total.floor > 0 and e.row.peak_bytes and e.row.relative_error is not None:
            groups.setdefault(e.row.workload, []).append(e)
    views = [_front(workload, es, material.engines) for workload, es in groups.items() if len(es) > 1]
    return Chart(
        id="pareto-chart",
        title="Time, memory and accuracy: what no other engine beats in all three",
        selects=["Workload"],
        views=views,
        missing="" if views else "No workload has time, memory and accuracy on two engines or more.",
    )


def _front(workload: str, members: list[Entry], engines: list[str]) -> View:
    def costs(e: Entry) -> tuple[float, float, float]:
        assert e.row.total is not None
        return e.row.total.floor, float(e.row.peak_bytes or 0), -digits(e.row.relative_error or 0.0)

    def beaten(e: Entry) -> bool:
        return any(
            all(a <= b for a, b in zip(costs(o), costs(e), strict=True)) and costs(o) != costs(e) for o in members
        )

    best = [f"{e.row.engine} ({-costs(e)[2]:.1f} digits)" for e in members if not beaten(e)]
    series = [
        Series(
            name=e.row.engine + (", beaten" if beaten(e) else ""),
            x=[short(costs(e)[0])],
            y=[costs(e)[1]],
            style="open" if beaten(e) else "points",
            colour=engines.index(e.row.engine),
            text=[
                f"{e.row.engine}: {units.time(costs(e)[0])}, peak {units.size(costs(e)[1])}, {-costs(e)[2]:.1f} digits"
            ],
        )
        for e in members
    ]
    return View(
        keys=[workload],
        summary=f"On the front: {', '.join(best)}." + (" Open marks are beaten." if len(best) < len(members) else ""),
        x=Axis(title="total, fastest block", unit="time", log=True),
        y=Axis(title="peak memory", unit="bytes", log=True),
        series=series,
    )


def history(material: Material) -> Chart:
    """Every row that two runs or more have, run after run; other machines are open marks, new levels are marked."""
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for run in material.runs:
        for m in run.measurements:
            floors = [s.phases["total"].floor_ns for s in m.samples if "total" in s.phases]
            if m.status == "ok" and floors:
                name = f"{one_line(row_name(m.cell))} · {one_line(m.cell.engine)}"
                rows.setdefault(name, {}).setdefault(FASTEST, {})[run.id] = min(floors)
            if m.memory and m.memory.allocations is not None:
                name = f"{one_line(row_name(m.cell))} · {one_line(m.cell.engine)}"
                rows.setdefault(name, {}).setdefault("allocations", {})[run.id] = m.memory.allocations
    names = [_named(run) for run in material.runs]
    alike = [run for run in material.runs if run.id not in material.left_out]
    timed = {row: metrics.get(FASTEST, {}) for row, metrics in rows.items()}
    # One run has no levels; looking for them would take time for nothing.
    several = {row: [found.get(run.id) for run in alike] for row, found in timed.items()} if len(alike) > 1 else {}
    own = changes(several)[0] if several else {}
    levels = {(row, FASTEST): {alike[change.place].id for change in found} for row, found in own.items()}
    views = [
        _series(row, metric, found, material, names, levels.get((row, metric), set()))
        for row, metrics in rows.items()
        for metric, found in metrics.items()
        if len(found) > 1
    ]
    one = "One run was given; `gradmark report RUN RUN …` draws the history of several."
    none = "The runs have no row in common."
    return Chart(
        id="history-chart",
        title="The fastest block and the allocations, run after run",
        selects=["Row", "Metric"],
        views=views,
        missing="" if views else one if len(material.runs) < 2 else none,
    )


def _series(
    row: str, metric: str, found: dict[str, float], material: Material, names: list[str], levels: set[str]
) -> View:
    timed = metric != "allocations"
    form = units.time if timed else units.count
    points = [(float(at), found[run.id], run) for at, run in enumerate(material.runs) if run.id in found]
    alike = [p for p in points if p[2].id not in material.left_out]
    series = []
    for title, style, chosen in (
        ("this machine", "joined", alike),
        ("another machine or way of measuring", "open", [p for p in points if p[2].id in material.left_out]),
    ):
        if chosen:
            series.append(
                Series(
                    name=title,
                    x=[x for x, _, _ in chosen],
                    y=[short(y) for _, y, _ in chosen],
                    style=style,  # type: ignore[arg-type]  # one of two literals
                    text=[f"{_named(run)}: {form(y)}" for _, y, run in chosen],
                )
            )
    begun = [point for point in alike if point[2].id in levels]
    if begun:
        xs, ys = [x for x, _, _ in begun], [short(y) for _, y, _ in begun]
        series.append(Series(name="change", x=xs, y=ys, style="change", colour=1))
    said = f" A new level begins at {', '.join(_named(run) for _, _, run in begun)}." if begun else ""
    first, last = points[0][1], points[-1][1]
    return View(
        keys=[row, metric],
        summary=f"From {form(first)} to {form(last)} over {len(points)} runs."
        + said
        + (" Times of different days are shown, not judged." if timed else ""),
        x=Axis(title="run", names=names),
        y=Axis(title=metric, unit="time" if timed else "count"),
        series=series,
    )


def _named(run: Run) -> str:
    commit = f" {run.environment.commit[:7]}" if run.environment.commit else ""
    return one_line(f"{run.started[:16].replace('T', ' ')}{commit}")


def _by_engine(
    members: Sequence[Entry], engines: list[str], point: Callable[[Entry], tuple[float, float, str]]
) -> list[Series]:
    found = []
    for place, engine in enumerate(engines):
        points = [point(e) for e in members if e.row.engine == engine]
        if points:
            found.append(
                Series(
                    name=engine,
                    x=[short(x) for x, _, _ in points],
                    y=[short(y) for _, y, _ in points],
                    text=[text for _, _, text in points],
                    style="points",
                    colour=place,
                )
            )
    return found


def _place(entry: Entry) -> str:
    return f"{entry.row.workload} on {entry.row.engine}"
