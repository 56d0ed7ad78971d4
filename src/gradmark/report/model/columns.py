"""Columns: a row's numbers as short text, the same on a terminal and in markdown.

In: rows. Out: cells by the key of their column, and the legend that explains the marks in them.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from gradmark import units
from gradmark.records import Estimate, Record
from gradmark.report.model.characters import one_line, some
from gradmark.report.model.rows import WORDS, Row

MISSING = "n/a"
OF_FLOORS = ("ratio", "gradient_ratio", "operations_per_s", "rate")


class Column(Record, frozen=True, kw_only=True):
    """One column. `rank` says how soon it gives way on a narrow terminal: the largest first, 0 never."""

    key: str
    header: str
    rank: int
    numbers: list[str] = []  # the numbers that it shows one of, for the reasons of missing ones


COLUMNS = [
    Column(key="workload", header="workload", rank=0),
    Column(key="shape", header="shape", rank=13),
    Column(key="dtype", header="dtype", rank=0),
    Column(key="device", header="device", rank=0),
    Column(key="engine", header="engine", rank=0),
    Column(key="primal", header="primal", rank=7, numbers=["primal"]),
    Column(key="forward", header="forward", rank=2, numbers=["forward"]),
    Column(key="backward", header="backward", rank=1, numbers=["backward"]),
    Column(key="total", header="total", rank=0, numbers=["total"]),
    Column(key="spread", header="spread", rank=0),
    Column(key="ratio", header="bwd/fwd", rank=8, numbers=["ratio"]),
    # Theory: a gradient costs at most about four evaluations, however many inputs there are.
    Column(key="gradient_ratio", header="grad/primal (theory: ≤ 4)", rank=6, numbers=["gradient_ratio"]),
    Column(key="operations_per_s", header="ops/s", rank=9, numbers=["operations_per_s"]),
    Column(key="rate", header="rate", rank=3, numbers=["flops_per_s", "bytes_per_s"]),
    Column(key="allocations", header="allocs", rank=4, numbers=["allocations"]),
    Column(key="peak_bytes", header="peak", rank=10, numbers=["peak_bytes"]),
    Column(key="retained_bytes", header="retained", rank=12, numbers=["retained_bytes"]),
    Column(key="tape", header="tape", rank=11, numbers=["tape_instructions", "tape_bytes"]),
    Column(key="instructions", header="instrs", rank=14, numbers=["instructions"]),
    Column(key="error", header="error", rank=5, numbers=["ulps", "relative_error"]),
]


def columns(rows: Sequence[Row]) -> list[Column]:
    """The columns that say something: not those that are empty; engine, dtype, device only if there are several."""
    texts = [cells(row) for row in rows]
    silent = {column.key for column in COLUMNS if not any(text[column.key] for text in texts)}
    silent |= {key for key in ("engine", "dtype", "device") if len({text[key] for text in texts}) < 2}
    if all(row.instructions is None for row in rows):
        # Counted only on request: else it would be a column of n/a in every table.
        silent.add("instructions")
    # For an engine that only evaluates, primal is the one time there is: it must not give way.
    kept = "primal" if any(row.primal and not row.total for row in rows) else ""
    return [
        msgspec.structs.replace(column, rank=0) if column.key == kept else column
        for column in COLUMNS
        if column.key not in silent
    ]


def cells(row: Row) -> dict[str, str]:
    """The row's text for each column. A row that failed has words in place of its time."""
    cell = row.cell
    named = {
        "workload": one_line(cell.row),
        "shape": row.shape,
        "dtype": cell.dtype,
        "device": one_line(cell.device),
        "engine": row.engine,
    }
    if row.status != "ok":
        error = _error(row) if row.status == "wrong-gradient" and row.relative_error is not None else ""
        return {column.key: "" for column in COLUMNS} | named | {"total": WORDS[row.status], "error": error}
    return named | {
        "primal": _time(row.primal),
        "forward": _time(row.forward),
        "backward": _time(row.backward),
        "total": _time(row.total),
        "spread": "" if row.steady else "±" if row.spread is None else f"±{row.spread * 100:.0f} %",
        "ratio": _number(row.ratio, "{:.2f}".format, row.backward, row.forward),
        "gradient_ratio": _number(row.gradient_ratio, "{:.2f}".format, row.total, row.primal),
        # Calls on arrays per second say little; bytes retained say little of numbers.
        "operations_per_s": "" if row.shape else _number(row.operations_per_s, units.count, row.total),
        "rate": _rate(row) if row.shape else "",
        "allocations": _number(row.allocations, units.count),
        "peak_bytes": _number(row.peak_bytes, units.size),
        "retained_bytes": _number(row.retained_bytes, units.size) if row.shape else "",
        "tape": _number(row.tape_bytes, units.size)
        if row.tape_instructions is None
        else units.count(row.tape_instructions),
        "instructions": _number(row.instructions, units.count),
        "error": _error(row),
    }


def legend(rows: Sequence[Row], shown: Sequence[Column]) -> list[str]:
    """One line for each mark that the shown cells have, and one for each reason of a missing number."""
    fine = [row for row in rows if row.status == "ok"]
    texts = [(column, text[column.key]) for text in map(cells, fine) for column in shown if column.numbers]
    lines = []
    if any(text.startswith("~") for _, text in texts):
        lines.append("~ derived, not timed by itself: backward is total less forward")
    if any(not row.steady for row in fine):
        lines.append("± unsteady: how far the least steady phase strays from its median")
    if any(text != MISSING and column.key in OF_FLOORS for column, text in texts):
        lines.append("times are medians; ratios and rates are of the fastest blocks")
    gaps: dict[str, Gap] = {}
    for column in shown:
        for place, row in enumerate(fine):
            if cells(row)[column.key] == MISSING:
                gap = gaps.setdefault(row.reasons[column.numbers[0]], Gap({}, {}))
                gap.headers[column.header.split()[0]] = None
                gap.rows[place] = row
    return lines + [
        f"{MISSING} {', '.join(gap.headers)}{_where(list(gap.rows.values()), fine)}: {reason}"
        for reason, gap in gaps.items()
    ]


class Gap(NamedTuple):
    """What is missing for one reason, and where."""

    headers: dict[str, None]
    rows: dict[int, Row]


def _where(where: list[Row], fine: list[Row]) -> str:
    """Which rows are meant, if not all: by engine where there are several."""
    if len(where) == len(fine):
        return ""
    several = len({row.engine for row in fine}) > 1
    return f" ({some(list(dict.fromkeys(row.engine if several else row.workload for row in where)))})"


def _time(estimate: Estimate | None) -> str:
    return MISSING if estimate is None else _number(estimate.median, units.time, estimate)


def _number(number: float | None, form: Callable[[float], str], *sources: Estimate | None) -> str:
    """The number, marked if it comes from a derived one."""
    if number is None:
        return MISSING
    return ("~" if any(source and source.how == "derived" for source in sources) else "") + form(number)


def _rate(row: Row) -> str:
    """Arithmetic where it is declared, else traffic."""
    if row.flops_per_s is not None:
        return _number(row.flops_per_s, units.flops, row.total)
    return _number(row.bytes_per_s, units.traffic, row.total)


def _error(row: Row) -> str:
    if row.ulps is not None:
        return f"{units.count(row.ulps)} ulp"
    return _number(row.relative_error, "{:.1e}".format)
