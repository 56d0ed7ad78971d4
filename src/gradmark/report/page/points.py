"""Points: accuracy beside time, first call against steady state, and Pareto fronts.

In: material. Out: the charts of those sections, drawn from the numbers that the table shows.
"""

from collections.abc import Callable, Sequence

from gradmark import units
from gradmark.analyse.standings import Standing, digits
from gradmark.records.metric import metric
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import number_text
from gradmark.report.model.words import ON_AXIS
from gradmark.report.page.chart import Axis, Chart, Series, View, short
from gradmark.report.page.material import Entry, Material, place_of

ERROR, ULPS, FIRST_CALL, TOTAL = "gradient_error", "error_ulps", "first_call", "total"


def accuracy(material: Material) -> Chart:
    """Digits of the gradient beside the time that it took, one view for each suite."""
    checked = [e for e in material.fine if ERROR in e.row.numbers and e.row.time is not None]
    suites = list(dict.fromkeys(one_line(e.row.cell.suite) for e in checked))
    views = []
    for suite in suites:
        members = [e for e in checked if one_line(e.row.cell.suite) == suite]
        worst = min(members, key=_digits)
        views.append(
            View(
                keys=[suite],
                summary=f"{len(members)} rows. The fewest digits: {_digits(worst):.1f}, {worst.row.place}.",
                x=Axis(title=f"time of value and gradient, {ON_AXIS}", unit="time", log=True),
                y=Axis(title="correct digits; 16: exact"),
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


def _digits(entry: Entry) -> float:
    return digits(entry.row.numbers[ERROR].value)


def _accurate(entry: Entry) -> tuple[float, float, str]:
    row = entry.row
    assert row.time is not None
    errors = [number_text(metric(name), row.numbers[name]) for name in (ERROR, ULPS) if name in row.numbers]
    return row.time.value, _digits(entry), f"{row.place}: error {', '.join(errors)}; {units.time(row.time.value)}"


def first_call(material: Material) -> Chart:
    """What the first call costs (tracing, compiling, caches) against one iteration in the steady state."""
    timed = [e for e in material.fine if FIRST_CALL in e.row.numbers and (e.row.value(TOTAL) or 0.0) > 0]
    views = []
    if timed:
        worst = max(timed, key=_iterations)
        every = [e.row.numbers[name].value for e in timed for name in (TOTAL, FIRST_CALL)]
        same = Series(name="equal", x=[min(every), max(every)], y=[min(every), max(every)], style="dashed", colour=-1)
        views.append(
            View(
                keys=[],
                summary=f"The first call costs most, in iterations, on {worst.row.place}: "
                f"{units.times(_iterations(worst))}.",
                x=Axis(title=f"one iteration, {ON_AXIS}", unit="time", log=True),
                y=Axis(title=metric(FIRST_CALL).title, unit="time", log=True),
                series=[*_by_engine(timed, material.engines, _first), same],
            )
        )
    return Chart(
        id="first-call-chart",
        title=f"First call ({metric(FIRST_CALL).meaning}) against steady state",
        selects=[],
        views=views,
        missing="" if views else "No row has both a first call and a total.",
    )


def _iterations(entry: Entry) -> float:
    return entry.row.numbers[FIRST_CALL].value / entry.row.numbers[TOTAL].value


def _first(entry: Entry) -> tuple[float, float, str]:
    steady, first = (entry.row.numbers[name].value for name in (TOTAL, FIRST_CALL))
    text = (
        f"{entry.row.place}: first {units.time(first)}, then {units.time(steady)}: "
        f"{units.times(_iterations(entry))} iterations"
    )
    return steady, first, text


def pareto(material: Material) -> Chart:
    """Time, memory and accuracy of the engines on one workload; who is Pareto-optimal, as the terminal says."""
    views = []
    for task, row in material.standings.items():
        complete = [s for s in row if s.total_ns > 0 and s.peak_bytes and s.digits is not None]
        if len(complete) > 1:
            views.append(_front(one_line(task), complete, material.engines))
    return Chart(
        id="pareto-chart",
        title="Time, memory and accuracy: what no other engine beats in all three",
        selects=["Workload"],
        views=views,
        missing="" if views else "No workload has time, memory and accuracy on two engines or more.",
    )


def _front(task: str, row: Sequence[Standing], engines: list[str]) -> View:
    best = [f"{one_line(s.engine)} ({s.digits:.1f} digits)" for s in row if s.pareto]
    return View(
        keys=[task],
        summary=f"Pareto-optimal: {', '.join(best)}." + (" Open marks are beaten." if len(best) < len(row) else ""),
        x=Axis(title=f"total, {ON_AXIS}", unit="time", log=True),
        y=Axis(title=metric("peak_bytes").title, unit="bytes", log=True),
        series=[
            Series(
                name=one_line(s.engine) + ("" if s.pareto else ", beaten"),
                x=[short(s.total_ns)],
                y=[short(s.peak_bytes or 0.0)],
                style="points" if s.pareto else "open",
                colour=place_of(one_line(s.engine), engines),
                text=[
                    f"{one_line(s.engine)}: {units.time(s.total_ns)}, peak {units.size(s.peak_bytes or 0.0)}, "
                    f"{s.digits:.1f} digits"
                ],
            )
            for s in row
        ],
    )


def _by_engine(
    members: Sequence[Entry], engines: list[str], point: Callable[[Entry], tuple[float, float, str]]
) -> list[Series]:
    series = []
    for place, engine in enumerate(engines):
        points = [point(e) for e in members if e.row.engine == engine]
        if points:
            series.append(
                Series(
                    name=engine,
                    x=[short(x) for x, _, _ in points],
                    y=[short(y) for _, y, _ in points],
                    text=[text for _, _, text in points],
                    style="points",
                    colour=place,
                )
            )
    return series
