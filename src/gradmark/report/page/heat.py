"""Heat maps: tables whose cells are coloured by their size, so that what is expensive is seen at once.

In: material. Out: operators × what they add, and workloads × engines with the standings that the terminal shows.
"""

import math
from collections.abc import Sequence
from statistics import geometric_mean

from gradmark import units
from gradmark.analyse.standings import Standing, rows_of
from gradmark.records import Measurement, Record
from gradmark.report.model.characters import one_line
from gradmark.report.model.columns import MISSING
from gradmark.report.model.operators import OperatorTable, operator_tables
from gradmark.report.model.rows import WORDS
from gradmark.report.model.sides import LEGEND, mark
from gradmark.report.model.words import time_taken
from gradmark.report.page.material import Material, place_of

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


class Heat(Record, frozen=True, kw_only=True):
    """One heat map."""

    title: str
    corner: str
    heads: list[str]
    rows: list[HeatRow]
    notes: list[str] = []


def operators(material: Material) -> list[Heat]:
    """One map for each engine and kind of operator workload."""
    return [_operators(table) for table in operator_tables(material.run.measurements)]


def _operators(table: OperatorTable) -> Heat:
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
    return Heat(title=table.title, corner="operator", heads=table.heads, rows=rows, notes=[table.note])


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
    engines = sorted(names, key=lambda engine: place_of(one_line(engine), material.engines))
    members = rows_of(material.run.measurements)
    rows = [
        HeatRow(name=one_line(task), squares=_squares(row, members[task], engines)) for task, row in competing.items()
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
        notes=[*LEGEND[:2], mean or "No workload has a time on every engine, so there is no mean."],
    )


def _squares(row: Sequence[Standing], members: Sequence[Measurement], engines: Sequence[str]) -> list[Square]:
    """A square for each engine; what has no time says what became of it."""
    words = [(m.cell, Square(text=WORDS[m.status])) for m in members if m.status != "ok"]
    failed = {name: square for c, square in words for name in (c.engine, f"{c.engine} ({c.device})")}
    timed = {standing.engine: _square(standing) for standing in row}
    return [timed.get(engine) or failed.get(engine) or Square(text=MISSING) for engine in engines]


def _square(standing: Standing) -> Square:
    text = f"{time_taken(standing.total_ns, standing.how)} · × {units.times(standing.ratio)}{mark(standing)}"
    return Square(text=text, heat=_slower(standing.ratio), value=str(standing.total_ns))


def _slower(ratio: float) -> int:
    """A hundred times as slow is as hot as it gets."""
    return min(100, round(50 * math.log10(max(ratio, 1.0)))) if math.isfinite(ratio) else 100
