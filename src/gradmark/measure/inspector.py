"""The inspector: exact metrics of cells, without any timing, so several processes may work at once.

In: cells and settings. Out: a measurement without samples for each, handed out as soon as it is there.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import msgspec

from gradmark.measure import environment, process
from gradmark.measure.job import Job, Result
from gradmark.records import Cell, Measurement, Settings


def of(cell: Cell, result: Result) -> Measurement:
    """What an inspection says, as a measurement."""
    return Measurement(
        cell=cell,
        status=result.status,
        message=result.message,
        tape=result.tape,
        memory=result.memory,
        accuracy=result.accuracy,
        operations=result.operations,
        flops=result.flops,
        bytes=result.bytes,
        shapes=result.shapes,
        warnings=result.warnings,
    )


def inspect(cells: Sequence[Cell], settings: Settings) -> Iterator[Measurement]:
    """Every cell in a process of its own, as many at once as there are cores."""
    free = msgspec.structs.replace(settings, pin=False)  # else all would share one core

    def one(cell: Cell) -> Measurement:
        return of(cell, process.run(Job(kind="inspect", cell=cell, settings=free)))

    with ThreadPoolExecutor(environment.cores()) as pool:
        futures = [pool.submit(one, cell) for cell in cells]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
