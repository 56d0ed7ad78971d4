"""The roofline: how near tensor rows come to what the machine was seen to do.

In: material. Out: a chart with two views of each device: arithmetic over intensity, and memory traffic over bytes. The
roofs are those of this run, and not of a data sheet: of a CPU the best rates of its rows, of another device what a
product and a copy reached there.
"""

import math
import re
from collections.abc import Callable

import msgspec

from gradmark import units
from gradmark.records import Measurement
from gradmark.records.cell import USUAL_DEVICE
from gradmark.records.readings import roof
from gradmark.report.page.chart import Axis, Chart, Series, Style, View, short
from gradmark.report.page.material import Entry, Material

FLOPS, TRAFFIC = "flops_per_s", "bytes_per_s"
COLD_AND_HOT = "Filled marks are cold, with flushed caches; open ones are hot, back to back."


def roofline(material: Material) -> Chart:
    """One view for what is bound by arithmetic, one for what is bound by memory, of each device."""
    views = []
    devices = list(dict.fromkeys(e.measurement.cell.device for e in material.fine))
    for device in devices:
        entries = [e for e in material.fine if e.measurement.cell.device == device]
        made = _of_cpu if device == USUAL_DEVICE else _of_device
        where = f" on {device}" if len(devices) > 1 else ""
        views += [
            msgspec.structs.replace(view, keys=[f"{key}{where}" for key in view.keys])
            for view in made(entries, material.engines)
        ]
    roofs = [] if USUAL_DEVICE not in devices else ["the best rates of this run"]
    roofs += ["what a product and a copy reach on the device"] if set(devices) - {USUAL_DEVICE} else []
    return Chart(
        id="roofline-chart",
        title=f"Rates of value and gradient. Roofs are {' or '.join(roofs)}",
        selects=["Bound by"],
        views=views,
        missing="" if views else "No row declares its arithmetic or its traffic; rows of the suite `tensor` do.",
    )


def _of_cpu(entries: list[Entry], engines: list[str]) -> list[View]:
    """Roofs are the best rates."""
    busy = [e for e in entries if FLOPS in e.row.numbers and _least_bytes(e.measurement)]
    moving = [e for e in entries if TRAFFIC in e.row.numbers and e.measurement.bytes]
    bandwidth = max((e.row.numbers[TRAFFIC].value for e in moving), default=None)
    views = [_arithmetic(busy, bandwidth, engines)] if busy else []
    return [*views, _traffic(moving, engines)] if moving else views


def _of_device(entries: list[Entry], engines: list[str]) -> list[View]:
    """Roofs are measured; each row has a point for cold and one for hot."""
    timed = [e for e in entries if {"cold", "hot"} <= set(e.row.numbers)]
    busy = [e for e in timed if e.measurement.flops and _least_bytes(e.measurement)]
    moving = [e for e in timed if e.measurement.device_work is not None and e.measurement.device_work.moved_bytes]
    copy = max((rate for e in timed if (rate := roof(e.measurement, "bytes"))), default=None)
    views = []
    if busy:
        work = {id(e): e.measurement.flops or 0.0 for e in busy}
        intensity = {id(e): work[id(e)] / _least_bytes(e.measurement) for e in busy}
        views.append(
            View(
                keys=["arithmetic"],
                summary=f"{_nearest(busy, 'flops_of_roof', 'product')}{COLD_AND_HOT}",
                x=Axis(title="arithmetic per byte that must be moved, FLOP/B", log=True),
                y=Axis(title="arithmetic", unit="flops", log=True),
                series=[*_cold_and_hot(busy, engines, work, intensity, units.flops), *_roofs(busy, intensity, copy)],
                cells=[e.place for e in busy],
            )
        )
    if moving:
        work = {id(e): e.measurement.device_work.moved_bytes or 0.0 for e in moving if e.measurement.device_work}
        line = [] if copy is None else [_line(f"a copy, {units.traffic(copy)}", _ends([*work.values()]), [copy, copy])]
        views.append(
            View(
                keys=["memory traffic"],
                summary=f"{_nearest(moving, 'bytes_of_roof', 'copy')}{COLD_AND_HOT}",
                x=Axis(title="bytes that must be moved: inputs read, gradients written", unit="bytes", log=True),
                y=Axis(title="memory traffic", unit="traffic", log=True),
                series=[*_cold_and_hot(moving, engines, work, work, units.traffic), *line],
                cells=[e.place for e in moving],
            )
        )
    return views


def _nearest(entries: list[Entry], share: str, what: str) -> str:
    """The row that comes nearest to its roof, cold, in words."""
    known = [e for e in entries if share in e.row.numbers]
    if not known:
        return ""
    best = max(known, key=lambda e: e.row.numbers[share].value)
    return f"Nearest to its roof: {best.row.place}, {100 * best.row.numbers[share].value:.0f} % of a {what}. "


def _roofs(busy: list[Entry], intensity: dict[int, float], copy: float | None) -> list[Series]:
    """What a product of each dtype reached, and below it what a copy lets through."""
    products: dict[str, float] = {}
    for entry in busy:
        if rate := roof(entry.measurement, "flops"):
            dtype = entry.measurement.cell.dtype
            products[dtype] = max(rate, products.get(dtype, 0.0))
    low, high = min(intensity.values()), max(intensity.values())
    lines = []
    for dtype, rate in products.items():
        begin = rate / copy if copy else low / 2
        ends = [begin, 2 * max(begin, high)]
        lines.append(_line(f"a product in {dtype}, {units.flops(rate)}", ends, [rate, rate]))
    if copy:
        end = max(products.values()) / copy if products else 2 * high
        begin = min(low, end / 4)
        lines.append(_line(f"a copy, {units.traffic(copy)}", [begin, end], [begin * copy, end * copy]))
    return lines


def _line(name: str, x: list[float], y: list[float]) -> Series:
    return Series(name=name, x=[short(n) for n in x], y=[short(n) for n in y], style="dashed", colour=-1)


def _cold_and_hot(
    entries: list[Entry], engines: list[str], work: dict[int, float], x: dict[int, float], text: Callable[[float], str]
) -> list[Series]:
    """Filled marks with flushed caches, open ones back to back."""
    series = []
    styles: tuple[tuple[str, Style], ...] = (("cold", "points"), ("hot", "open"))
    for phase, style in styles:
        for place, engine in enumerate(engines):
            own = [e for e in entries if e.row.engine == engine]
            rates = [1e9 * work[id(e)] / e.row.numbers[phase].value for e in own]
            if own:
                series.append(
                    Series(
                        name=engine if phase == "cold" else f"{engine}, hot",
                        x=[short(x[id(e)]) for e in own],
                        y=[short(rate) for rate in rates],
                        text=[f"{e.row.place}, {phase}: {text(rate)}" for e, rate in zip(own, rates, strict=True)],
                        style=style,
                        colour=place,
                        cells=[e.place for e in own],
                    )
                )
    return series


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
