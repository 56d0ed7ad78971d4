"""Levels: the plots of `gradmark history`, one for each engine on a machine.

In: the histories of one machine. Out: lines of text: what stepped and what moved most, and what was left out.
"""

from collections.abc import Iterator, Sequence

from gradmark import units
from gradmark.analyse.histories import ChangePoint, Histories, History
from gradmark.records.metric import metric
from gradmark.report.model.characters import one_line
from gradmark.report.tables.plot import WIDTH, Series, history

# More in one plot hide each other, and more plots scroll what was said above them off the screen.
MOST_SERIES = 6
MOST_PLOTS = 3
NARROWEST = 24  # two days beside each other
MARGIN = 12  # for the numbers on the left


def levels(histories: Histories, machine: str, columns: int) -> list[str]:
    """The plots of one machine, those with changes first; one line where there is nothing to draw."""
    groups: dict[str, list[History]] = {}
    for series in histories.series:
        if series.machine == machine:
            groups.setdefault(series.engine, []).append(series)
    runs = {point.run for members in groups.values() for series in members for point in series.points}
    if len(runs) < 2:
        return ["", "no plot: one run is one point, and two make a line"]
    width = min(WIDTH, columns - MARGIN)
    if width < NARROWEST:
        return ["", f"no plot: {columns} columns are too narrow for one"]
    drawn = [engine for engine, members in groups.items() if any(len(series.points) > 1 for series in members)]
    drawn.sort(key=lambda engine: not _changes(histories, groups[engine]))
    lines = []
    for engine in drawn[:MOST_PLOTS]:
        lines += ["", *_plot(histories, groups[engine], width)]
    if drawn[MOST_PLOTS:]:
        lines += ["", f"not drawn: {', '.join(map(one_line, drawn[MOST_PLOTS:]))}"]
    return lines


def _plot(histories: Histories, members: Sequence[History], width: int) -> Iterator[str]:
    """One engine: its series as multiples of their first points, or, if it has one series, as they are."""
    lines = [series for series in members if len(series.points) > 1]
    ranked = sorted(lines, key=lambda series: (not series.changes, -_moved(series)))
    shown, engine = ranked[:MOST_SERIES], one_line(members[0].engine)
    runs = dict(sorted((point.run, point.started) for series in shown for point in series.points))
    order = sorted(runs, key=lambda run: runs[run])
    places = {run: place for place, run in enumerate(order)}
    days = len({runs[run][:10] for run in order}) == len(order)
    names = [runs[run][:10] if days else runs[run][5:16].replace("T", " ") for run in order]
    steps = sorted({places[change.run] for change in _changes(histories, shown) if change.run in places})
    title = metric(histories.metric).title
    # What began at 0 has no multiples.
    alone = len(shown) == 1 or any(series.points[0].number.value == 0 for series in shown)
    yield from history(
        names,
        [
            Series(
                name=_name(series),
                x=[float(places[point.run]) for point in series.points],
                y=[p.number.value / (1.0 if alone else series.points[0].number.value) for p in series.points],
            )
            for series in shown
        ],
        f"{engine}: {title}" if alone else f"{engine}: {title}, times that of the first run",
        units.FORMS[metric(histories.metric).unit] if alone else "{:.2f}".format,
        steps,
        width,
    )
    if ranked[MOST_SERIES:]:
        yield f"{len(ranked) - MOST_SERIES} more moved less and are not drawn; `gradmark history WORKLOAD` draws them"


def _name(series: History) -> str:
    return one_line(series.row)


def _moved(series: History) -> float:
    """By how much the largest exceeds the smallest."""
    values = [point.number.value for point in series.points]
    return max(values) / min(values) if min(values) > 0 else float(max(values) > 0)


def _changes(histories: Histories, members: Sequence[History]) -> list[ChangePoint]:
    """Those of the series, and those of all of the engine."""
    own = [change for series in members for change in series.changes]
    first = members[0]
    groups = [group for group in histories.together if (group.machine, group.engine) == (first.machine, first.engine)]
    return own + [change for group in groups for change in group.changes]
