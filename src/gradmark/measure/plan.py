"""The plan: what is to be measured, decided before anything starts. Every measuring verb makes one.

In: workloads, engines and settings. Out: cells, in the order in which they were asked for.
"""

import itertools
from collections.abc import Sequence

from gradmark.engines import discovery
from gradmark.records import Cell, Measurement, Record, Settings
from gradmark.workloads.workload import Workload

_HERE = __file__.rsplit("measure", 1)[0]


class Plan(Record, frozen=True, kw_only=True):
    """What a run measures, and what is known of it beforehand."""

    verb: str
    cells: list[Cell]
    settings: Settings
    arguments: list[str] = []  # what was typed after the verb
    known: list[Measurement] = []  # cells that will not run: unsupported, or of a function that cannot be measured


def cells_of(
    workloads: Sequence[Workload], engines: Sequence[str], *, full: bool, dtypes: Sequence[str] = ()
) -> list[Cell]:
    """Every engine on every workload, size and dtype, with the engines that a workload wants beside them.

    Without dtypes: all that a workload has if full, else its first.
    """
    found: dict[str, Cell] = {}
    for workload in workloads:
        usual = workload.dtypes if full else workload.dtypes[:1]
        chosen = [dtype for dtype in workload.dtypes if dtype in dtypes] if dtypes else usual
        beside = [f"{e}{other}" if other.startswith(":") else other for other in workload.also for e in engines]
        together = [*engines, *(b for b in beside if discovery.exists(b))]
        for params, dtype, engine in itertools.product(workload.points(full=full), chosen, together):
            cell = Cell(
                engine=engine,
                workload=workload.name,
                suite=workload.suite,
                params=params,
                kind=workload.kind,
                dtype=dtype,
                device=discovery.DEVICES.get(engine, "cpu"),
                file=None if (workload.file or "").startswith(_HERE) else workload.file,
            )
            found[cell.id] = cell
    return list(found.values())
