"""One iteration of a cell, value and gradient, as a plain function that any tool can time.

In: a cell by its name, `poly/n=100@tapegrad`. Out: a function without arguments, warmed up once; it makes the very
calls that a worker of gradmark times as `total`.
"""

from collections.abc import Callable

from gradmark.measure.job import Job
from gradmark.measure.plan import cells_of
from gradmark.measure.worker.prepared import Prepared
from gradmark.records import Cell, Settings
from gradmark.workloads.selection import select_rows


def cell_of(name: str) -> Cell:
    """The cell of a name."""
    row, _, engine = name.partition("@")
    found = {cell.id: cell for cell in cells_of(select_rows([row], None), [engine], full=False)}
    return found[name]


def iteration(name: str) -> Callable[[], None]:
    """The function to time."""
    prepared = Prepared(Job(kind="time", cell=cell_of(name), settings=Settings()))
    calls, finish = prepared.calls(prepared.session), prepared.session.synchronize
    if len(calls) == 1:
        (only,) = calls

        def total() -> None:
            only()
            finish()

        return total
    forward, backward = calls

    def both() -> None:
        forward()
        backward()
        finish()

    return both
