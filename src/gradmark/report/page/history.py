"""History: every row run after run, with the levels that `gradmark history` finds.

In: material. Out: one chart; a series is of one class of machines and way of measuring.
"""

import itertools
from collections.abc import Iterator, Sequence
from statistics import median

import msgspec

from gradmark import units
from gradmark.analyse.calm import is_as_fast
from gradmark.analyse.histories import ChangePoint, Histories, History, Point, histories
from gradmark.records import Run, metric
from gradmark.records.metric import Unit
from gradmark.records.outline import outline
from gradmark.records.times import WHOLE
from gradmark.report.model.characters import one_line
from gradmark.report.model.words import ON_AXIS
from gradmark.report.page.chart import Axis, Chart, Series, Style, View, short, unit_of
from gradmark.report.page.material import Material

# With fewer runs nobody can tell noise from change.
LEAST_RUNS = 4
FARTHEST = 1e9


def history(material: Material) -> Chart:
    """Every row that two runs or more have: its total, and its counts where they changed."""
    runs = material.runs
    views = [*_views(material, runs, WHOLE), *_counts(material)] if len(runs) > 1 else []
    moved = {view.keys[0]: max(v.change for v in views if v.keys[0] == view.keys[0]) for view in views}
    one = "A history needs two runs or more: `gradmark report RUN RUN …`."
    none = "The runs have no row in common."
    return Chart(
        id="history-chart",
        title="Run after run; counts are drawn where they changed. Times of different days are shown, not judged",
        selects=["Row", "Metric"],
        views=sorted(views, key=lambda view: -moved[view.keys[0]]),
        missing="" if views else one if len(runs) < 2 else none,
        by_engine=False,
    )


def _counts(material: Material) -> Iterator[View]:
    """Exact metrics of the rows on which they changed. Most never do, and a page of them would be long."""
    runs = material.runs
    for entry in metric.REGISTRY:
        if entry.exact and entry.fitted:
            values_of_cell: dict[str, set[float]] = {}
            for m in (m for run in runs for m in run.measurements if m.status == "ok"):
                value = entry.read(m, {})
                if isinstance(value, int | float):
                    values_of_cell.setdefault(m.cell.id, set()).add(value)
            moved = [
                msgspec.structs.replace(
                    run, measurements=[m for m in run.measurements if len(values_of_cell.get(m.cell.id, ())) > 1]
                )
                for run in runs
            ]
            yield from _views(material, moved, entry.name)


def _views(material: Material, runs: Sequence[Run], name: str) -> Iterator[View]:
    kept = histories([outline(run, [name, "primal"]) for run in runs], name)
    rows: dict[str, list[History]] = {}
    for series in kept.series:
        rows.setdefault(series.cell, []).append(series)
    for cell, members in rows.items():
        if sum(len(series.points) for series in members) > 1:
            members.sort(key=lambda series: series.machine != kept.newest)
            place = material.places.get(cell)
            view = _view(cell, members, kept, runs)
            yield msgspec.structs.replace(view, cells=[] if place is None else [place])


def _view(cell: str, members: Sequence[History], kept: Histories, runs: Sequence[Run]) -> View:
    """One row: this machine's series joined, those of others as open marks, and where a level begins."""
    entry = metric.metric(kept.metric)
    places = {run.id: place for place, run in enumerate(runs)}
    drawn = [_series(series, kept, runs, places) for series in members]
    first = members[0]  # this machine's, if it has any
    numbers = {point.run: point.number.value for point in first.points}
    if first.changes:
        xs, ys = [float(places[c.run]) for c in first.changes], [short(numbers[c.run]) for c in first.changes]
        drawn.append(Series(name="change", x=xs, y=ys, style="change", colour=1))
    every = sorted((places[point.run], point.number.value) for series in members for point in series.points)
    values = list(numbers.values()) if len(numbers) > 1 else [value for _, value in every]
    begin, end = (units.text(entry.unit, values[place]) for place in (0, -1))
    sentences = [
        f"From {begin} to {end} over {len(values)} runs.",
        *_levels(first.changes, runs, places),
        *_shared(first, kept, runs, places),
    ]
    return View(
        keys=[one_line(cell), entry.title],
        summary=" ".join(sentences),
        x=Axis(title="run", names=[_named(run) for run in runs]),
        y=Axis(title=f"{entry.title}, {ON_AXIS}" if entry.phase else entry.title, unit=unit_of(entry)),
        series=drawn,
        change=_moved(values),
        band=_band(list(numbers.values())),
    )


def _moved(values: Sequence[float]) -> float:
    """How far the last lies from the first, as a factor of at least 1, whichever way; beside 0 all is farthest."""
    low, high = sorted((values[0], values[-1]))
    return 1.0 if high == low else short(high / low) if low > 0 else FARTHEST


def _band(values: Sequence[float]) -> list[float]:
    """The noise: where the middle half of the changes from run to run would lead from the typical value."""
    if len(values) < LEAST_RUNS:
        return []
    middle = median(values)
    step = median(abs(b - a) for a, b in itertools.pairwise(values))
    return [short(middle - step), short(middle + step)]


def _series(series: History, kept: Histories, runs: Sequence[Run], places: dict[str, int]) -> Series:
    own, unit = series.machine == kept.newest, metric.metric(kept.metric).unit
    style: Style = "joined" if own else "open"
    return Series(
        name="this class of machine" if own else f"{series.machine_class}, or measured otherwise",
        x=[float(places[point.run]) for point in series.points],
        y=[short(point.number.value) for point in series.points],
        style=style,
        text=[_said(runs[places[p.run]], p, unit) for p in series.points],
    )


def _said(run: Run, point: Point, unit: Unit) -> str:
    """A point in words: when, how much, with which version of the engine, and how fast its machine was."""
    speed = (
        f"; the machine took {units.percent(point.speed)}"
        if point.speed is not None and not is_as_fast(point.speed)
        else ""
    )
    version = f", {one_line(point.version)}" if point.version else ""
    return f"{_named(run)}: {units.text(unit, point.number.value)}{version}{speed}"


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


def _named(run: Run) -> str:
    commit = f" {run.environment.commit[:7]}" if run.environment.commit else ""
    return one_line(f"{run.started[:16].replace('T', ' ')}{commit}")
