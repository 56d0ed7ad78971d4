"""Heat maps: tables whose cells are coloured by their size, so that what is dear is seen at once.

In: material. Out: operators × (forward, backward, saved bytes, allocations, error), and workloads × engines.
"""

import math
from collections.abc import Sequence
from statistics import geometric_mean

from gradmark import units
from gradmark.analyse.operators import Operation, operations
from gradmark.records import Record
from gradmark.report.model.characters import one_line
from gradmark.report.page.material import Material

# What is a thousandth of the largest is cold, however small; else one tiny number makes all others hot.
DECADES = 3.0
WORKLOADS = ("operator", "tensor_operator")


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
    note: str = ""


def operators(material: Material) -> list[Heat]:
    """One map for each engine and kind of operator workload."""
    measured = [m for m in material.run.measurements if m.cell.workload in WORKLOADS and "operation" in m.cell.params]
    kinds = dict.fromkeys((m.cell.engine, m.cell.workload, m.cell.dtype) for m in measured)
    found = []
    for engine, workload, dtype in kinds:
        same = [m for m in measured if (m.cell.workload, m.cell.dtype) == (workload, dtype)]
        found.append(_operators(engine, operations(same, engine), dtype if workload == WORKLOADS[1] else ""))
    return found


def _operators(engine: str, found: Sequence[Operation], dtype: str) -> Heat:
    kind = f"tensors, {dtype}" if dtype else "scalars"
    forms = [units.time, units.time, units.size, "{:.3g}".format, "{:.1e}".format if dtype else "{:.2f} ulp".format]

    def of(operation: Operation) -> list[float | None]:
        o = operation
        return [o.forward_ns, o.backward_ns, o.saved_bytes, o.allocations, o.error]

    fine = [operation for operation in found if not operation.problem]
    columns = [_heats([of(operation)[place] for operation in fine]) for place in range(len(forms))]
    rows = [
        HeatRow(
            name=one_line(operation.name),
            squares=[
                Square(text="n/a")
                if number is None
                else Square(text=form(number), heat=columns[place][at], value=f"{number:.5g}")
                for place, (number, form) in enumerate(zip(of(operation), forms, strict=True))
            ],
        )
        for at, operation in enumerate(fine)
    ]
    rows += [HeatRow(name=one_line(o.name), squares=[], problem=one_line(o.problem)) for o in found if o.problem]
    return Heat(
        title=f"{one_line(engine)}, {kind}",
        corner="operator",
        heads=["forward", "backward", "saved", "allocations", "error"],
        rows=rows,
        note="What one call adds to the sum of 64×64 numbers; the error is that of its derivative, relative."
        if dtype
        else "What one call adds to a loop of 50 additions; the error is that of its derivative.",
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
    """Workloads × engines: the fastest total of each, and how many times that of the fastest engine; None for one."""
    # An engine that only evaluates, or does nothing at all, gives no gradient: it does not compete.
    times: dict[str, dict[str, float]] = {}
    for entry in material.fine:
        total = entry.row.total
        if total is not None and total.floor > 0 and entry.measurement.accuracy is not None:
            times.setdefault(entry.row.workload, {})[entry.row.engine] = total.floor
    shared = {workload: row for workload, row in times.items() if len(row) > 1}
    engines = [engine for engine in material.engines if any(engine in row for row in shared.values())]
    if not shared:
        return None
    rows = []
    ratios: dict[str, list[float]] = {engine: [] for engine in engines}
    for workload, row in shared.items():
        best = min(row.values())
        if len(row) == len(engines):
            for engine in engines:
                ratios[engine].append(row[engine] / best)
        rows.append(HeatRow(name=workload, squares=[_against(row.get(engine), best) for engine in engines]))
    counted = len(ratios[engines[0]])
    if counted:
        means = [geometric_mean(ratios[engine]) for engine in engines]
        squares = [Square(text=f"{mean:.2f} ×", heat=_slower(mean), value=f"{mean:.5g}") for mean in means]
        rows.append(HeatRow(name=f"geometric mean of {counted}", squares=squares))
    return Heat(
        title="Total, fastest block, and how many times that of the fastest engine",
        corner="workload",
        heads=engines,
        rows=rows,
        note="The mean is over the workloads that all engines have."
        if counted
        else "No workload has a time on every engine, so there is no mean.",
    )


def _against(floor: float | None, best: float) -> Square:
    if floor is None:
        return Square(text="n/a")
    return Square(text=f"{units.time(floor)} · {floor / best:.2f} ×", heat=_slower(floor / best), value=f"{floor:.5g}")


def _slower(ratio: float) -> int:
    """A hundred times as slow is as hot as it gets."""
    return min(100, round(50 * math.log10(max(ratio, 1.0))))
