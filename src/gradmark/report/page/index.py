"""The index: what each cell is and where it stands, as the filter of the page reads it.

In: material. Out: lists of names, and for each cell the places of its names and its standing, as short as they can be.
"""

from gradmark.analyse.standings import Standing
from gradmark.records import Number, Record
from gradmark.report.model.characters import one_line
from gradmark.report.model.overview import is_own, own_engine
from gradmark.report.model.sides import mark
from gradmark.report.page.chart import short
from gradmark.report.page.material import Entry, Material


class Place(Record, frozen=True, kw_only=True):
    """Where a cell stands among the engines of its row."""

    ratio: float
    total: float
    mark: str = ""
    low: float | None = None  # the interval of the total
    high: float | None = None
    pareto: bool = False
    peak: float | None = None
    digits: float | None = None


class Indexed(Record, frozen=True, kw_only=True):
    """One cell, by the places of its names in the lists of the index."""

    engine: int
    task: int
    suite: int
    derivative: int
    device: int
    competitor: int
    status: str = "ok"
    timed: bool = False
    steady: bool = True
    calm: bool = True
    allocations: float | None = None
    apart: bool = False  # an operator beside other functions: it competes in a table of its own
    place: Place | None = None


class Index(Record, frozen=True, kw_only=True):
    """Everything that the filter chooses by."""

    engines: list[str]
    tasks: list[str]
    suites: list[str]
    derivatives: list[str]
    devices: list[str]
    competitors: list[str]
    own: list[int]  # engines
    cells: list[Indexed]


def index(material: Material) -> Index:
    """All cells of the page, in reading order."""
    cells = [entry.row.cell for entry in material.entries]
    engines, tasks = material.engines, material.tasks
    names = [one_line(name) for name in dict.fromkeys(material.competitors.values())]
    suites = list(dict.fromkeys(one_line(cell.suite) for cell in cells))
    derivatives: list[str] = list(dict.fromkeys(cell.derivative for cell in cells))
    devices = list(dict.fromkeys(one_line(cell.device) for cell in cells))
    own = own_engine(material.run)
    functions = any("operation" not in cell.params for cell in cells)
    indexed = []
    for entry in material.entries:
        row = entry.row
        allocations = row.value("allocations")
        indexed.append(
            Indexed(
                engine=engines.index(row.engine),
                task=tasks.index(material.task(entry)),
                suite=suites.index(one_line(row.cell.suite)),
                derivative=derivatives.index(row.cell.derivative),
                device=devices.index(one_line(row.cell.device)),
                competitor=names.index(one_line(material.competitors[row.cell.engine, row.cell.device])),
                status=row.status,
                timed=row.status == "ok" and row.time is not None,
                steady=row.steady,
                calm=row.calm,
                allocations=None if allocations is None else short(allocations),
                apart=functions and "operation" in row.cell.params,
                place=_place(entry, material.standing(entry)),
            )
        )
    return Index(
        engines=engines,
        tasks=tasks,
        suites=suites,
        derivatives=derivatives,
        devices=devices,
        competitors=names,
        own=[place for place, engine in enumerate(engines) if is_own(engine, one_line(own))],
        cells=indexed,
    )


def _place(entry: Entry, standing: Standing | None) -> Place | None:
    if standing is None:
        return None
    number: Number = entry.row.numbers["total"]
    return Place(
        ratio=standing.ratio,
        total=standing.total_ns,
        mark=mark(standing),
        low=None if number.low is None else short(min(number.low, number.value)),
        high=None if number.high is None else short(max(number.high, number.value)),
        pareto=standing.pareto,
        peak=standing.peak_bytes,
        digits=standing.digits,
    )
