"""The icicle: where a row's time goes. Total above, its phases below, and below them the operations that make them up.

In: material. Out: a chart whose views are boxes; their widths are times.
"""

from collections.abc import Iterator

from gradmark import units
from gradmark.analyse.breakdown import Part, breakdown
from gradmark.analyse.operators import operations
from gradmark.report.model.characters import listed, one_line, plural
from gradmark.report.page.chart import Axis, Box, Chart, View, short
from gradmark.report.page.material import Entry, Material

REST = "the rest"
# Narrower boxes are a pixel or two: what is less than this of the total is drawn as one box.
LEAST = 0.004
# Operations that the summary names.
NAMED = 3


def icicle(material: Material) -> Chart:
    """One view for each row of numbers whose operations were counted, and timed one by one on its engine."""
    costs = {
        engine: operations(material.run.measurements, engine)
        for engine in dict.fromkeys(m.cell.engine for m in material.run.measurements if "operation" in m.cell.params)
    }
    views = [
        _view(entry, parts)
        for entry in material.fine
        if "operation" not in entry.row.cell.params
        and (parts := breakdown(entry.measurement, costs.get(entry.row.cell.engine, [])))
    ]
    counted = any(entry.measurement.calls for entry in material.fine)
    return Chart(
        id="icicle-chart",
        title="Where the time of a function of numbers goes: each box is as wide as its time. Calls are counted in one "
        "evaluation; gradmark ops measures what a call costs; the rest is what that leaves of the phase, such as "
        "Python's own loop.",
        selects=["Workload", "Engine"],
        views=views,
        missing=""
        if views
        else "Where a function's time goes is shown here once its operations have been timed one by one: `gradmark ops "
        "scalar -e ENGINE`, then `gradmark report latest RUN`."
        if counted
        else "Where a function's time goes is shown for functions of numbers: measure one, and `gradmark ops scalar` "
        "on the same engine.",
    )


def _view(entry: Entry, parts: list[Part]) -> View:
    row = entry.row
    whole = sum(part.ns for part in parts)
    return View(
        keys=[row.workload, row.engine],
        summary=" ".join(_sentences(parts)),
        x=Axis(title="time of an iteration", unit="time"),
        y=Axis(title=""),
        series=[],
        boxes=list(_boxes(parts, whole)),
        cells=[entry.place],
    )


def _boxes(parts: list[Part], whole: float) -> Iterator[Box]:
    """Level by level, from left to right."""
    names = " + ".join(part.name for part in parts)
    yield Box(name=names, level=0, start=0.0, width=short(whole), text=f"{names}: {units.time(whole)}", colour=-1)
    start = 0.0
    colours: dict[str, int] = {}
    for part in parts:
        yield Box(
            name=part.name, level=1, start=short(start), width=short(part.ns), colour=-1,
            text=f"{part.name}: {units.time(part.ns)}, {_percent(part.ns, whole)} of the iteration",
        )  # fmt: skip
        at, small = start, 0.0
        for share in part.shares:
            if share.ns < LEAST * whole:
                small += share.ns
                continue
            each = share.ns / share.calls
            yield Box(
                name=one_line(share.operation), level=2, start=short(at), width=short(share.ns),
                colour=colours.setdefault(share.operation, len(colours)),
                text=f"{share.operation} in {part.name}: {units.time(share.ns)}, {_percent(share.ns, part.ns)} of it; "
                f"{share.calls:,} × {units.time(each)}",
            )  # fmt: skip
            at += share.ns
        for name, ns in (("other operations", small), (REST, part.rest_ns)):
            if ns > 0:
                text = f"{name} of {part.name}: {units.time(ns)}, {_percent(ns, part.ns)} of it"
                yield Box(name=name, level=2, start=short(at), width=short(ns), text=text, colour=-1)
                at += ns
        start += part.ns


def _sentences(parts: list[Part]) -> Iterator[str]:
    for part in parts:
        named = [
            f"{one_line(share.operation)} {_percent(share.ns, part.ns)} ({plural(share.calls, 'call')})"
            for share in part.shares[:NAMED]
        ]
        rest = [f"the rest {_percent(part.rest_ns, part.ns)}"] if part.rest_ns > 0 else []
        yield f"{part.name.capitalize()}, {units.time(part.ns)}: {', '.join([*named, *rest])}."
        if part.times_as_long > 1.0:
            yield (
                f"Timed one by one, its operations take {units.times(part.times_as_long)} times as long; the boxes "
                "show shares."
            )
    unknown = list(dict.fromkeys(name for part in parts for name in part.unknown))
    if unknown:
        yield f"{listed([one_line(name) for name in unknown])}: cost unknown on this engine, so part of the rest."


def _percent(ns: float, whole: float) -> str:
    share = 100 * ns / whole if whole > 0 else 0.0
    return f"{share:.0f} %" if share >= 0.95 or share == 0 else f"{share:.1f} %"
