"""History: every row run after run, with the levels that `gradmark history` finds.

In: material. Out: one chart; times are series of one machine and way of measuring, counts are series of all runs.
"""

from collections.abc import Iterator, Sequence

from gradmark import units
from gradmark.analyse.histories import ChangePoint, Histories, History, histories
from gradmark.records import Run, metric
from gradmark.records.metric import Metric
from gradmark.records.times import WHOLE
from gradmark.report.model.characters import one_line
from gradmark.report.page.chart import Axis, Chart, Series, Style, View, short, unit_of
from gradmark.report.page.material import Material


def history(material: Material) -> Chart:
    """Every row that two runs or more have: its total, and its counts where they changed."""
    runs = material.runs
    views = [*_times(runs), *_counts(runs)] if len(runs) > 1 else []
    order = {view.keys[0]: place for place, view in reversed(list(enumerate(views)))}
    one = "One run was given; `gradmark report RUN RUN …` draws the history of several."
    none = "The runs have no row in common."
    return Chart(
        id="history-chart",
        title="Run after run; counts are drawn where they changed. Times of different days are shown, not judged",
        selects=["Row", "Metric"],
        views=sorted(views, key=lambda view: order[view.keys[0]]),
        missing="" if views else one if len(runs) < 2 else none,
    )


def _times(runs: Sequence[Run]) -> Iterator[View]:
    kept = histories(runs, WHOLE)
    rows: dict[str, list[History]] = {}
    for series in kept.series:
        rows.setdefault(series.cell, []).append(series)
    for cell, members in rows.items():
        if sum(len(series.points) for series in members) > 1:
            members.sort(key=lambda series: series.machine != kept.newest)
            yield _time_view(cell, members, kept, runs)


def _time_view(cell: str, members: Sequence[History], kept: Histories, runs: Sequence[Run]) -> View:
    """One row: this machine's series joined, those of others as open marks, and where a level begins."""
    places = {run.id: place for place, run in enumerate(runs)}
    drawn: list[Series] = []
    for series in members:
        own = series.machine == kept.newest
        style: Style = "joined" if own else "open"
        drawn.append(
            Series(
                name="this machine" if own else "another machine or way of measuring",
                x=[float(places[point.run]) for point in series.points],
                y=[short(point.number.value) for point in series.points],
                style=style,
                text=[f"{_named(runs[places[p.run]])}: {units.time(p.number.value)}" for p in series.points],
            )
        )
    first = members[0]
    ns = {point.run: point.number.value for point in first.points}
    begun = [change for change in first.changes if change.run in ns]
    if begun:
        xs, ys = [float(places[change.run]) for change in begun], [short(ns[change.run]) for change in begun]
        drawn.append(Series(name="change", x=xs, y=ys, style="change", colour=1))
    entry = metric.metric(WHOLE)
    every = sorted((places[point.run], point.number.value) for series in members for point in series.points)
    spans = [ns for _, ns in every] if len(first.points) < 2 else [point.number.value for point in first.points]
    said = [_span(entry, spans), *_levels(begun, runs, places), *_shared(first, kept, runs, places)]
    return View(
        keys=[one_line(cell), entry.title],
        summary=" ".join(said),
        x=Axis(title="run", names=[_named(run) for run in runs]),
        y=Axis(title=f"{entry.title}, fastest block", unit=unit_of(entry)),
        series=drawn,
    )


def _levels(begun: Sequence[ChangePoint], runs: Sequence[Run], places: dict[str, int]) -> list[str]:
    names = [f"{_named(runs[places[change.run]])} ({change.step})" for change in begun]
    return [f"A new level begins at {', '.join(names)}."] if names else []


def _shared(series: History, kept: Histories, runs: Sequence[Run], places: dict[str, int]) -> Iterator[str]:
    """What all or several rows of the engine did at once."""
    for group in kept.together:
        if (group.engine, group.machine) == (series.engine, series.machine):
            for change in group.changes:
                when, step = _named(runs[places[change.run]]), change.step
                yield f"Rows of {one_line(group.engine)} moved together at {when} ({step}): {one_line(change.reason)}."


def _counts(runs: Sequence[Run]) -> Iterator[View]:
    """Counts that changed from one run to another; they do not depend on how fast a machine is."""
    counted = [entry for entry in metric.REGISTRY if entry.exact and entry.fitted]
    rows: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for place, run in enumerate(runs):
        for m in run.measurements:
            for entry in counted:
                value = entry.read(m, {}) if m.status == "ok" else None
                if isinstance(value, int | float):
                    rows.setdefault((m.cell.id, entry.name), []).append((place, value))
    names = [_named(run) for run in runs]
    for (cell, name), points in rows.items():
        if len({value for _, value in points}) > 1:
            entry = metric.metric(name)
            yield View(
                keys=[one_line(cell), entry.title],
                summary=_span(entry, [value for _, value in points]),
                x=Axis(title="run", names=names),
                y=Axis(title=entry.title, unit=unit_of(entry)),
                series=[
                    Series(
                        name=entry.title,
                        x=[float(place) for place, _ in points],
                        y=[short(value) for _, value in points],
                        style="joined",
                        text=[f"{names[place]}: {units.text(entry.unit, value)}" for place, value in points],
                    )
                ],
            )


def _span(entry: Metric, values: Sequence[float]) -> str:
    first, last = units.text(entry.unit, values[0]), units.text(entry.unit, values[-1])
    return f"From {first} to {last} over {len(values)} runs."


def _named(run: Run) -> str:
    commit = f" {run.environment.commit[:7]}" if run.environment.commit else ""
    return one_line(f"{run.started[:16].replace('T', ' ')}{commit}")
