"""Curves: cost against size with its fit.

In: material. Out: the chart of the section on scaling.
"""

from gradmark import units
from gradmark.analyse.growth import LEAST_SIZES
from gradmark.analyse.scaling import counted_in, swept, work
from gradmark.records import Fit, Measurement, Number, metric
from gradmark.records.metric import Metric
from gradmark.records.times import WHOLE
from gradmark.report.model.characters import listed, one_line
from gradmark.report.model.columns import number_text
from gradmark.report.model.words import ON_AXIS
from gradmark.report.page.chart import Axis, Chart, Series, View, short, unit_of
from gradmark.report.page.material import Material

CURVE_POINTS = 20

# What one curve is drawn through: each size with the number of its row, and its cell.
Points = list[tuple[float, Number, int]]


def scaling(material: Material) -> Chart:
    """One view for each workload and metric, with a curve for each engine."""
    numbers = {id(m): s.numbers for m, s in zip(material.run.measurements, material.summaries, strict=True)}
    views: dict[tuple[str, str], list[tuple[Fit, list[Measurement], Points]]] = {}
    fits = {family.name: family.fits for family in material.growth.curves}
    for (name, parameter), members in material.families.items():
        workload = one_line(swept(members[0].cell, parameter).row)
        sized = _sized(members, parameter)
        for fit in fits[name]:
            points = [
                (size, numbers[id(m)][fit.metric], material.places[m.cell.id])
                for size, m in sized
                if fit.metric in numbers[id(m)]
            ]
            views.setdefault((workload, fit.metric), []).append((fit, members, points))
    order = {entry.name: place for place, entry in enumerate(metric.REGISTRY)} | {WHOLE: -1}
    names = list(dict.fromkeys(workload for workload, _ in views))
    keys = sorted(views, key=lambda key: (names.index(key[0]), order.get(key[1], len(order))))
    return Chart(
        id="scaling-chart",
        title="Cost against size, both axes logarithmic; the whiskers of a time are its interval",
        selects=["Workload", "Metric"],
        views=[
            _curves(workload, metric.metric(name), views[workload, name], material.engines) for workload, name in keys
        ],
        missing=""
        if keys
        else f"No workload was measured at {LEAST_SIZES} sizes or more. `gradmark scale poly` or `gradmark run --full` "
        "measures enough.",
    )


def _sized(members: list[Measurement], parameter: str) -> list[tuple[float, Measurement]]:
    """Each measurement with its place on the axis, as `fits` has it, the smallest first."""
    counted = all(work(m) for m in members)
    sized = [(float((counted and work(m)) or m.cell.params[parameter]), m) for m in members]
    return sorted(sized, key=lambda pair: pair[0])


def _curves(
    workload: str, entry: Metric, members: list[tuple[Fit, list[Measurement], Points]], engines: list[str]
) -> View:
    series, sentences = [], []
    for fit, measured, points in members:
        engine = one_line(measured[0].cell.engine)
        if any(number.value > 0 for _, number, _ in points):
            sentences.append(f"{engine} grows as n^{fit.p:.2f} ({fit.low:.2f} to {fit.high:.2f}), {fit.verdict}")
        series += _one(fit, entry, points, engine, engines.index(engine))
    drawn = [point for one in series for point in zip(one.x, one.y, strict=True) if point[1] > 0]
    free = [
        one_line(measured[0].cell.engine) for _, measured, points in members if all(n.value <= 0 for _, n, _ in points)
    ]
    if drawn:
        # Through the cheapest point of the smallest size: what is steeper leaves the line upwards.
        first = min(drawn)
        last = max(x for x, _ in drawn)
        guide = [first[1], first[1] * last / first[0]]
        series.append(Series(name="linear", x=[first[0], last], y=guide, style="dashed", colour=-1))
    return View(
        keys=[workload, entry.title],
        summary=" ".join(
            [*([f"{'; '.join(sentences)}."] if sentences else []), *([f"Always 0: {listed(free)}."] if free else [])]
        ),
        x=Axis(title=f"n: {counted_in(members[0][1][0])}", unit="count", log=True),
        y=Axis(title=entry.title + (f", {ON_AXIS}" if entry.phase else ""), unit=unit_of(entry), log=True),
        series=series,
        cells=[cell for _, _, points in members for _, _, cell in points],
    )


def _one(fit: Fit, entry: Metric, points: Points, engine: str, colour: int) -> list[Series]:
    """The numbers as tables show them, and the fit as a curve."""
    marks = Series(
        name=engine,
        x=[size for size, _, _ in points],
        y=[short(max(number.value, 0.0)) for _, number, _ in points],
        low=[short(_ends(number)[0]) for _, number, _ in points] if entry.phase else [],
        high=[short(_ends(number)[1]) for _, number, _ in points] if entry.phase else [],
        style="points",
        colour=colour,
        text=[f"{engine}, n = {size:g}: {number_text(entry, number)}{_spread(number)}" for size, number, _ in points],
        cells=[cell for _, _, cell in points],
    )
    low, high = min(fit.sizes), max(fit.sizes)
    xs = [low * (high / low) ** (k / (CURVE_POINTS - 1)) for k in range(CURVE_POINTS)]
    curve = [(x, fit.a + fit.b * x**fit.p) for x in xs]
    line = Series(
        name=f"{engine}, fit n^{fit.p:.2f}",
        x=[short(x) for x, y in curve if y > 0],
        y=[short(y) for _, y in curve if y > 0],
        style="line",
        colour=colour,
    )
    return [marks, line] if line.x else [marks]


def _ends(number: Number) -> tuple[float, float]:
    """Of the interval; on a logarithmic axis it cannot reach zero. The number itself where it has none."""
    if number.coverage is None or number.low is None or number.high is None or number.low <= 0:
        return number.value, number.value
    return min(number.value, number.low), max(number.value, number.high)


def _spread(number: Number) -> str:
    return "" if number.spread is None else f", spread {units.within(number.spread)}"
