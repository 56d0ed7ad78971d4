"""Curves: cost against size with its fit, and the raw samples of every process.

In: material. Out: the charts of the sections on scaling and on samples.
"""

from gradmark import units
from gradmark.analyse.growth import LEAST_SIZES
from gradmark.analyse.scaling import counted_in, swept, work
from gradmark.records import Fit, Measurement, Number, metric
from gradmark.records.metric import Metric
from gradmark.records.times import WHOLE, is_timed
from gradmark.report.model.characters import one_line, plural
from gradmark.report.model.columns import number_text
from gradmark.report.page.chart import Axis, Chart, Series, View, short, shorts, unit_of
from gradmark.report.page.material import Entry, Material

# With one phase of 880 rows, 176,000 samples, a page is 4.8 MB (benchmarks/report.py); it is to stay below 8.
MOST_SAMPLES = 180_000
CURVE_POINTS = 20

# What one curve is drawn through: each size with the number of its row.
Points = list[tuple[float, Number]]


def scaling(material: Material) -> Chart:
    """One view for each workload and metric, with a curve for each engine."""
    numbers = {id(m): s.numbers for m, s in zip(material.run.measurements, material.summaries, strict=True)}
    views: dict[tuple[str, str], list[tuple[Fit, list[Measurement], Points]]] = {}
    fits = {family.name: family.fits for family in material.growth.curves}
    for (name, parameter), members in material.families.items():
        workload = one_line(swept(members[0].cell, parameter).row)
        sized = _sized(members, parameter)
        for fit in fits[name]:
            points = [(size, numbers[id(m)][fit.metric]) for size, m in sized if fit.metric in numbers[id(m)]]
            views.setdefault((workload, fit.metric), []).append((fit, members, points))
    order = {entry.name: place for place, entry in enumerate(metric.REGISTRY)} | {WHOLE: -1}
    names = list(dict.fromkeys(workload for workload, _ in views))
    keys = sorted(views, key=lambda key: (names.index(key[0]), order.get(key[1], len(order))))
    return Chart(
        id="scaling-chart",
        title="Cost against size, both axes logarithmic; the whisker of a time reaches to the typical process",
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
    series, said = [], []
    for fit, measured, points in members:
        engine = one_line(measured[0].cell.engine)
        said.append(f"{engine} grows as n^{fit.p:.2f} ({fit.low:.2f} to {fit.high:.2f}), {fit.verdict}")
        series += _one(fit, entry, points, engine, engines.index(engine))
    drawn = [point for one in series for point in zip(one.x, one.y, strict=True) if point[1] > 0]
    if drawn:
        # Through the cheapest point of the smallest size: what is steeper leaves the line upwards.
        first = min(drawn)
        last = max(x for x, _ in drawn)
        guide = [first[1], first[1] * last / first[0]]
        series.append(Series(name="linear", x=[first[0], last], y=guide, style="dashed", colour=-1))
    zero = any(number.value <= 0 for _, _, points in members for _, number in points)
    return View(
        keys=[workload, entry.title],
        summary="; ".join(said) + "." + (" Zeros have no place on a logarithmic axis." if zero else ""),
        x=Axis(title=f"n: {counted_in(members[0][1][0])}", unit="count", log=True),
        y=Axis(title=f"{entry.title}, fastest block" if entry.phase else entry.title, unit=unit_of(entry), log=True),
        series=series,
    )


def _one(fit: Fit, entry: Metric, points: Points, engine: str, colour: int) -> list[Series]:
    """The numbers as tables show them, and the fit as a curve."""
    positive = [(size, number) for size, number in points if number.value > 0]
    marks = Series(
        name=engine,
        x=[size for size, _ in positive],
        y=[short(number.value) for _, number in positive],
        high=[short(_typical(number)) for _, number in positive] if entry.phase else [],
        style="points",
        colour=colour,
        text=[f"{engine}, n = {size:g}: {number_text(entry, number)}{_spread(number)}" for size, number in positive],
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
    return [marks, line] if marks.x else [line]


def _typical(number: Number) -> float:
    return number.value * (1.0 + (number.spread or 0.0))


def _spread(number: Number) -> str:
    return "" if number.spread is None else f", spread {units.above(number.spread)}"


def samples(material: Material) -> Chart:
    """One view for each cell and phase: every timed block, process after process."""
    timed = [entry for entry in material.fine if any(s.phases for s in entry.measurement.samples)]
    count = sum(len(p.block_ns) for e in timed for s in e.measurement.samples for p in s.phases.values())
    views = []
    for entry in timed:
        phases = _phases(entry.measurement)
        views += [_dots(entry, phase) for phase in (phases[:1] if count > MOST_SAMPLES else phases)]
    left = f" This run has {count:,} samples: one phase of each row is shown, the run file has all."
    return Chart(
        id="samples-chart",
        title="Every timed block, process after process." + (left if count > MOST_SAMPLES else ""),
        selects=["Row", "Phase"],
        views=views,
        missing="" if views else "No row has a time.",
    )


def _phases(measurement: Measurement) -> list[str]:
    """The phases that were timed, the whole first."""
    timed = [
        entry.name
        for entry in metric.metrics_of(measurement)
        if entry.phase and any(is_timed(sample, entry.name) for sample in measurement.samples)
    ]
    return sorted(timed, key=lambda name: name != WHOLE)


def _dots(entry: Entry, phase: str) -> View:
    timed = [(s.process, s.phases[phase].block_ns) for s in entry.measurement.samples if is_timed(s, phase)]
    times = shorts([ns for _, blocks in timed for ns in blocks])
    series, begin = [], 1
    for process, blocks in timed:
        end = begin + len(blocks)
        ys = times[begin - 1 : end - 1]
        name = f"process {process + 1}"
        series.append(Series(name=name, x=[float(begin)], y=ys, style="dots", colour=process))
        begin = end
    fastest = [min(blocks) for _, blocks in timed]
    apart = f"; those of the processes lie between that and {units.time(max(fastest))}" if len(fastest) > 1 else ""
    return View(
        keys=[one_line(entry.row.cell.id), phase],
        summary=f"{plural(len(series), 'process')}, {plural(begin - 1, 'block')}. "
        f"The fastest block took {units.time(min(fastest))}{apart}.",
        x=Axis(title="block, in the order of measuring"),
        y=Axis(title=f"{phase}, time of an iteration", unit="time"),
        series=series,
    )
