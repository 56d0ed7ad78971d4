"""Heat maps: tables whose cells are coloured by their size, so that what is expensive is seen at once.

In: material. Out: operators × what they add, and workloads × engines with the standings that the terminal shows.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import geometric_mean

from gradmark import units
from gradmark.analyse.standings import Standing
from gradmark.records import Record
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import MISSING
from gradmark.report.model.operators import TIMES, OperatorTable, operator_tables
from gradmark.report.model.rows import WORDS
from gradmark.report.model.sides import explained, mark
from gradmark.report.model.words import time_taken
from gradmark.report.page.material import Entry, Material

# What is a thousandth of the largest is cold, however small; else one tiny number makes all others hot.
DECADES = 3.0


class Square(Record, frozen=True, kw_only=True):
    """One cell: its text, its heat from 0 to 100, its number for sorting."""

    text: str
    heat: int = 0
    value: str = ""


class HeatRow(Record, frozen=True, kw_only=True):
    """One row; `problem` stands in place of its cells."""

    name: str
    squares: list[Square]
    problem: str = ""
    cells: str = ""  # the places of its cells


class Heat(Record, frozen=True, kw_only=True):
    """One heat map."""

    title: str
    corner: str
    heads: list[str]
    rows: list[HeatRow]
    notes: list[str] = []
    engine: int | None = None  # the place of the engine that all of it is about
    engines: list[int] = []  # or of that of each column
    key: tuple[str, str]  # what the coldest and the hottest shade stand for


def operators(material: Material) -> list[Heat]:
    """Engines side by side for each kind of operator that several measured; then one map for each engine and kind."""
    tables = operator_tables(material.run.measurements)
    kinds = list(dict.fromkeys(table.kind for table in tables))
    beside = [
        _beside(kind, members, material)
        for kind in kinds
        if len(members := [table for table in tables if table.kind == kind]) > 1
    ]
    return [*beside, *(_operators(table, material.engines.index(table.engine)) for table in tables)]


def _beside(kind: str, tables: Sequence[OperatorTable], material: Material) -> Heat:
    """Operations × engines: what each adds in all, and how many times what it adds on the fastest."""
    times = [{line.name: table.time_ns(line) for line in table.lines if not line.problem} for table in tables]
    problems = [{line.name: line.problem for line in table.lines if line.problem} for table in tables]
    names = dict.fromkeys(line.name for table in tables for line in table.lines)
    known = {name: [ns for one in times if (ns := one.get(name)) is not None and ns > 0] for name in names}
    rows = [
        HeatRow(
            name=name,
            squares=[
                _added(one.get(name), min(known[name], default=None), name in wrong)
                for one, wrong in zip(times, problems, strict=True)
            ],
        )
        for name in sorted(names, key=lambda name: -max(known[name], default=0.0))
    ]
    whole = " and ".join(head for head in tables[0].heads if head in TIMES)
    return Heat(
        title=f"Engines side by side: {kind}",
        corner="operator",
        heads=[table.engine for table in tables],
        rows=rows,
        notes=[f"{whole.capitalize()} together, and as a multiple of the fastest engine's. {tables[0].note}"],
        engines=[material.engines.index(table.engine) for table in tables],
        key=("fastest", "100 times as slow"),
    )


def _added(ns: float | None, least: float | None, failed: bool) -> Square:
    if ns is None:
        return Square(text="failed" if failed else MISSING)
    if least is None or ns <= 0:
        return Square(text=units.time(ns), value=str(ns))
    ratio = ns / least
    return Square(text=f"{units.time(ns)} · × {units.times(ratio)}", heat=_slower(ratio), value=str(ns))


def _operators(table: OperatorTable, engine: int) -> Heat:
    fine = [line for line in table.lines if not line.problem]
    heats = [_heats([line.numbers[place] for line in fine]) for place in range(len(table.heads))]
    rows = [
        HeatRow(
            name=line.name,
            squares=[
                Square(text=text) if number is None else Square(text=text, heat=heats[place][at], value=str(number))
                for place, (text, number) in enumerate(zip(line.texts, line.numbers, strict=True))
            ],
        )
        for at, line in enumerate(fine)
    ]
    rows += [HeatRow(name=line.name, squares=[], problem=line.problem) for line in table.lines if line.problem]
    return Heat(
        title=table.title,
        corner="operator",
        heads=table.heads,
        rows=rows,
        notes=[table.note],
        engine=engine,
        key=("cheapest in its column", "most expensive"),
    )


def _heats(numbers: Sequence[float | None]) -> list[int]:
    """From 0 to 100 for the largest, on a logarithmic scale of three decades at most; zero or below has none."""
    logs = [math.log10(n) for n in numbers if n is not None and n > 0]
    high = max(logs, default=0.0)
    low = max(min(logs, default=0.0), high - DECADES)

    def heat(n: float) -> int:
        return 50 if high == low else round(100 * max(0.0, math.log10(n) - low) / (high - low))

    return [0 if n is None or n <= 0 else heat(n) for n in numbers]


def side_by_side(material: Material) -> Heat | None:
    """Workloads × engines: the total of each, and how many times that of the fastest; None where nobody competes."""
    competing = {task: row for task, row in material.standings.items() if len(row) > 1}
    if not competing:
        return None
    names = dict.fromkeys(standing.engine for row in competing.values() for standing in row)
    called = list(dict.fromkeys(material.competitors.values()))
    engines = sorted(names, key=called.index)
    members = {task: [e for e in material.entries if material.task(e) == one_line(task)] for task in competing}
    rows = [
        HeatRow(
            name=one_line(task),
            squares=_squares(row, members[task], material.competitors, engines),
            cells=" ".join(str(e.place) for e in members[task]),
        )
        for task, row in competing.items()
    ]
    shared = [{s.engine: s.ratio for s in row} for row in competing.values() if len(row) == len(engines)]
    if shared:
        means = [geometric_mean([ratios[engine] for ratios in shared]) for engine in engines]
        squares = [Square(text=f"× {units.times(mean)}", heat=_slower(mean), value=str(mean)) for mean in means]
        rows.append(HeatRow(name=f"geometric mean of {len(shared)}", squares=squares))
    mean = "The mean is over the workloads that all engines have." if shared else ""
    return Heat(
        title="Total, and how many times that of the fastest engine",
        corner="workload",
        heads=[one_line(engine) for engine in engines],
        rows=rows,
        engines=[_of(material, engine) for engine in engines],
        key=("fastest", "100 times as slow, or more"),
        notes=[
            *explained([square.text for one in rows for square in one.squares]),
            mean or "No workload has a time on every engine, so there is no mean.",
        ],
    )


def _of(material: Material, competitor: str) -> int:
    """The place of the engine of a competitor."""
    engine = next(engine for (engine, _), name in material.competitors.items() if name == competitor)
    return material.engines.index(one_line(engine))


def _squares(
    row: Sequence[Standing], members: Sequence[Entry], names: Mapping[tuple[str, str], str], engines: Sequence[str]
) -> list[Square]:
    """A square for each engine; what has no time says what became of it."""
    failed = {
        names[e.row.cell.engine, e.row.cell.device]: Square(text=WORDS[e.row.status])
        for e in members
        if e.row.status != "ok"
    }
    timed = {standing.engine: _square(standing) for standing in row}
    return [timed.get(engine) or failed.get(engine) or Square(text=MISSING) for engine in engines]


def _square(standing: Standing) -> Square:
    text = f"{time_taken(standing.total_ns, standing.how)} · × {units.times(standing.ratio)}{mark(standing)}"
    return Square(text=text, heat=_slower(standing.ratio), value=str(standing.total_ns))


def _slower(ratio: float) -> int:
    """A hundred times as slow is as hot as it gets."""
    return min(100, round(50 * math.log10(max(ratio, 1.0)))) if math.isfinite(ratio) else 100
