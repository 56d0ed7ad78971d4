"""Curves: cost against size with its fit, and the raw samples of every process.

In: material. Out: the charts of the sections on scaling and on samples.
"""

from statistics import median

from gradmark import units
from gradmark.analyse.estimates import PHASES
from gradmark.analyse.growth import LEAST_SIZES
from gradmark.analyse.scaling import counted_in, work
from gradmark.records import Fit, Measurement, Summary
from gradmark.report.model.characters import one_line
from gradmark.report.page.chart import Axis, Chart, Series, Unit, View, short, shorts
from gradmark.report.page.material import Entry, Material

METRICS = {
    "total": "time, total",
    "forward": "time, forward",
    "backward": "time, backward",
    "primal": "time, primal",
    "allocations": "allocations",
    "tape": "tape",
    "peak_bytes": "memory, peak",
}
UNITS: dict[str, Unit] = {**dict.fromkeys(PHASES, "time"), "peak_bytes": "bytes"}
FORMS = {"time": units.time, "bytes": units.size, "count": units.count}
# With one phase of 880 rows, 176,000 samples, a page is 4.6 MB (benchmarks/report.py); it is to stay below 8.
MOST_SAMPLES = 180_000
CURVE_POINTS = 20

Sized = list[tuple[float, Measurement]]


def scaling(material: Material) -> Chart:
    """One view for each workload and metric, with a curve for each engine."""
    groups: dict[tuple[str, str], list[tuple[Fit, Sized]]] = {}
    found = dict(material.growth[0])
    for (name, parameter), members in material.families.items():
        engine = members[0].cell.engine
        workload = one_line(name.removesuffix(f" {engine}"))
        for fit in found[name]:
            groups.setdefault((workload, fit.metric), []).append((fit, _sized(members, parameter)))
    order = list(METRICS)
    names = list(dict.fromkeys(workload for workload, _ in groups))
    keys = sorted(groups, key=lambda key: (names.index(key[0]), order.index(key[1])))
    summaries = {id(m): s for m, s in zip(material.run.measurements, material.summaries, strict=True)}
    return Chart(
        id="scaling-chart",
        title="Cost against size, both axes logarithmic",
        selects=["Workload", "Metric"],
        views=[_curves(key, groups[key], material.engines, summaries) for key in keys],
        missing=""
        if keys
        else f"No workload was measured at {LEAST_SIZES} sizes or more. `gradmark scale poly` or `gradmark run --full` "
        "measures enough.",
    )


def _sized(members: list[Measurement], parameter: str) -> Sized:
    """Each measurement with its place on the axis, as `fits` has it."""
    counted = all(work(m) for m in members)
    return [(float((counted and work(m)) or m.cell.params[parameter]), m) for m in members]


def _curves(
    key: tuple[str, str],
    members: list[tuple[Fit, Sized]],
    engines: list[str],
    summaries: dict[int, Summary],
) -> View:
    workload, metric = key
    unit = UNITS.get(metric, "count")
    series, said = [], []
    for fit, sized in members:
        engine = one_line(sized[0][1].cell.engine)
        said.append(f"{engine} grows as n^{fit.p:.2f} ({fit.low:.2f} to {fit.high:.2f}), {fit.verdict}")
        series += _one(fit, sized, engine, engines.index(engine), summaries)
    drawn = [point for one in series for point in zip(one.x, one.y, strict=True) if point[1] > 0]
    if drawn:
        # Through the cheapest point of the smallest size: what is steeper leaves the line upwards.
        first = min(drawn)
        last = max(x for x, _ in drawn)
        guide = [first[1], first[1] * last / first[0]]
        series.append(Series(name="linear", x=[first[0], last], y=guide, style="dashed", colour=-1))
    what = counted_in(members[0][1][0][1])
    zero = any(cost <= 0 for fit, _ in members for cost in fit.costs)
    return View(
        keys=[workload, METRICS[metric]],
        summary="; ".join(said) + "." + (" Zeros have no place on a logarithmic axis." if zero else ""),
        x=Axis(title=f"n: {what}", unit="count", log=True),
        y=Axis(title=METRICS[metric], unit=unit, log=True),
        series=series,
    )


def _one(fit: Fit, members: Sized, engine: str, colour: int, summaries: dict[int, Summary]) -> list[Series]:
    """The fit as a curve; medians with intervals and floors of times, or counts."""
    form = FORMS[UNITS.get(fit.metric, "count")]
    positive = [(n, cost) for n, cost in zip(fit.sizes, fit.costs, strict=True) if cost > 0]
    found = [
        Series(
            name=f"{engine}, fastest block" if fit.metric in PHASES else engine,
            x=[n for n, _ in positive],
            y=[short(cost) for _, cost in positive],
            style="open" if fit.metric in PHASES else "points",
            colour=colour,
            text=[f"{engine}, n = {n:g}: {form(cost)}" for n, cost in positive],
        )
    ]
    if fit.metric in PHASES:
        timed = [(size, summaries[id(m)].phases.get(fit.metric)) for size, m in members]
        points = sorted(((n, e) for n, e in timed if e and e.median > 0), key=lambda point: point[0])
        found.insert(
            0,
            Series(
                name=f"{engine}, median",
                x=[float(n) for n, _ in points],
                y=[short(e.median) for _, e in points],
                low=[short(e.low) for _, e in points],
                high=[short(e.high) for _, e in points],
                style="points",
                colour=colour,
                text=[f"{engine}, n = {n:g}: {form(e.median)} ({form(e.low)} to {form(e.high)})" for n, e in points],
            ),
        )
    low, high = min(fit.sizes), max(fit.sizes)
    xs = [low * (high / low) ** (k / (CURVE_POINTS - 1)) for k in range(CURVE_POINTS)]
    curve = [(x, fit.a + fit.b * x**fit.p) for x in xs]
    return [
        *(one for one in found if one.x),
        Series(
            name=f"{engine}, fit n^{fit.p:.2f}",
            x=[short(x) for x, y in curve if y > 0],
            y=[short(y) for _, y in curve if y > 0],
            style="line",
            colour=colour,
        ),
    ]


def samples(material: Material) -> Chart:
    """One view for each cell and phase: every timed block, process after process."""
    timed = [entry for entry in material.fine if any(s.phases for s in entry.measurement.samples)]
    count = sum(len(p.block_ns) for e in timed for s in e.measurement.samples for p in s.phases.values())
    phases = ("total", "forward", "backward", "primal")
    views = []
    for entry in timed:
        has = [name for name in phases if any(name in s.phases for s in entry.measurement.samples)]
        for phase in has[:1] if count > MOST_SAMPLES else has:
            views.append(_dots(entry, phase))
    left = f" This run has {count:,} samples: one phase of each row is shown, the run file has all."
    return Chart(
        id="samples-chart",
        title="Every timed block, process after process." + (left if count > MOST_SAMPLES else ""),
        selects=["Row", "Phase"],
        views=views,
        missing="" if views else "No row has a time.",
    )


def _dots(entry: Entry, phase: str) -> View:
    timed = [(s.process, s.phases[phase].block_ns) for s in entry.measurement.samples if phase in s.phases]
    times = shorts([ns for _, blocks in timed for ns in blocks])
    series, begin = [], 1
    for process, blocks in timed:
        end = begin + len(blocks)
        ys = times[begin - 1 : end - 1]
        name = f"process {process + 1}"
        series.append(Series(name=name, x=[float(begin)], y=ys, style="dots", colour=process))
        begin = end
    medians = [median(blocks) for _, blocks in timed]
    return View(
        keys=[f"{entry.row.workload} · {entry.row.engine}", phase],
        summary=f"{len(series)} processes, {begin - 1} blocks. Medians of the processes lie between "
        f"{units.time(min(medians))} and {units.time(max(medians))}, the fastest block took {units.time(min(times))}.",
        x=Axis(title="block, in the order of measuring"),
        y=Axis(title=f"{phase}, time of an iteration", unit="time"),
        series=series,
    )
