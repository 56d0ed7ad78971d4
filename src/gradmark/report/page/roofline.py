"""The roofline: how near tensor rows come to what the machine was seen to do.

In: material. Out: a chart with two views: arithmetic over intensity, and memory traffic over bytes moved. The roofs are
the best rates of this run, and not those of a data sheet.
"""

import math
import re

from gradmark import units
from gradmark.records import Measurement
from gradmark.report.page.chart import Axis, Chart, Series, View, short
from gradmark.report.page.material import Entry, Material

FLOPS, TRAFFIC = "flops_per_s", "bytes_per_s"


def roofline(material: Material) -> Chart:
    """One view for what is bound by arithmetic, one for what is bound by memory."""
    busy = [e for e in material.fine if FLOPS in e.row.numbers and _least_bytes(e.measurement)]
    moving = [e for e in material.fine if TRAFFIC in e.row.numbers and e.measurement.bytes]
    bandwidth = max((e.row.numbers[TRAFFIC].value for e in moving), default=None)
    views = []
    if busy:
        views.append(_arithmetic(busy, bandwidth, material.engines))
    if moving:
        views.append(_traffic(moving, material.engines))
    return Chart(
        id="roofline-chart",
        title="Rates of value and gradient. Roofs are the best rates of this run",
        selects=["Bound by"],
        views=views,
        missing="" if views else "No row declares its arithmetic or its traffic; rows of the suite `tensor` do.",
    )


def _least_bytes(m: Measurement) -> float:
    """What must be moved at least: inputs are read once, their gradients written once."""
    bits = re.search(r"\d+", m.cell.dtype)
    width = int(bits.group()) / 8 if bits else 8.0
    return 2.0 * width * sum(math.prod(shape) for shape in m.shapes.values())


def _arithmetic(busy: list[Entry], bandwidth: float | None, engines: list[str]) -> View:
    best = max(busy, key=lambda e: e.row.numbers[FLOPS].value)
    peak = best.row.numbers[FLOPS].value
    intensity = {id(e): (e.measurement.flops or 0.0) / _least_bytes(e.measurement) for e in busy}
    low, high = min(intensity.values()), max(intensity.values())
    ridge = peak / bandwidth if bandwidth else low / 2
    flat = [short(ridge), short(2 * max(ridge, high))]
    roofs = [Series(name=f"best rate, {units.flops(peak)}", x=flat, y=[peak, peak], style="dashed", colour=-1)]
    if bandwidth:
        start = min(low, ridge / 4)
        name = f"best traffic, {units.traffic(bandwidth)}"
        ends = [short(start * bandwidth), short(peak)]
        roofs.append(Series(name=name, x=[short(start), short(ridge)], y=ends, style="dashed", colour=-1))
    return View(
        keys=["arithmetic"],
        summary=f"The best: {units.flops(peak)}, {best.row.place}. Intensity counts each input read once and each "
        "gradient written once.",
        x=Axis(title="arithmetic per byte that must be moved, FLOP/B", log=True),
        y=Axis(title="arithmetic", unit="flops", log=True),
        series=[*_by_engine(busy, engines, FLOPS, intensity), *roofs],
        cells=[e.place for e in busy],
    )


def _traffic(moving: list[Entry], engines: list[str]) -> View:
    best = max(moving, key=lambda e: e.row.numbers[TRAFFIC].value)
    rate = best.row.numbers[TRAFFIC].value
    moved = {id(e): e.measurement.bytes or 0.0 for e in moving}
    roof = Series(name=f"best rate, {units.traffic(rate)}", x=_ends(list(moved.values())), y=[rate, rate],
                  style="dashed", colour=-1)  # fmt: skip
    return View(
        keys=["memory traffic"],
        summary=f"The best: {units.traffic(rate)}, {best.row.place}. What fits into caches may lie above what memory "
        "gives.",
        x=Axis(title="bytes moved if no operation is fused with another", unit="bytes", log=True),
        y=Axis(title="memory traffic", unit="traffic", log=True),
        series=[*_by_engine(moving, engines, TRAFFIC, moved), roof],
        cells=[e.place for e in moving],
    )


def _ends(values: list[float]) -> list[float]:
    return [short(min(values) / 2), short(max(values) * 2)]


def _by_engine(entries: list[Entry], engines: list[str], name: str, x: dict[int, float]) -> list[Series]:
    text = units.flops if name == FLOPS else units.traffic
    series = []
    for place, engine in enumerate(engines):
        own = [e for e in entries if e.row.engine == engine]
        if own:
            series.append(
                Series(
                    name=engine,
                    x=[short(x[id(e)]) for e in own],
                    y=[short(e.row.numbers[name].value) for e in own],
                    text=[f"{e.row.place}: {text(e.row.numbers[name].value)}" for e in own],
                    style="points",
                    colour=place,
                    cells=[e.place for e in own],
                )
            )
    return series
