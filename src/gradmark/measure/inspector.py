"""The inspector: exact metrics of cells, without any timing, so several processes may work at once.

In: cells and settings. Out: a measurement without samples for each, handed out as soon as it is there.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from gradmark.measure import environment
from gradmark.measure.job import Job, Result
from gradmark.records import Cell, Measurement, Settings

FAILED = ("crash", "timeout", "out-of-memory", "error")


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


def inspect(
    cells: Sequence[Cell],
    run: Callable[[Job], Result],
    stop: Callable[[], None],
    settings: Settings,
    known: Sequence[Measurement] = (),
) -> Iterator[tuple[Measurement, Result]]:
    """Is each right, and what does it hold? As many at once as there are cores.

    run: does a job; stop: ends all that run. Larger sizes of what failed, here or in what is known, are not tried.
    """
    free = msgspec.structs.replace(settings, pin=False)  # else all would share one core
    done: queue.SimpleQueue[tuple[Measurement, Result] | BaseException] = queue.SimpleQueue()
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:  # sizes one after another; all of an engine, if they come from one process
        groups.setdefault((cell.engine, "" if settings.forked else cell.workload), []).append(cell)

    over = threading.Event()

    def work(members: list[Cell]) -> None:
        failed = [m for m in known if m.status in FAILED and m.cell.engine == members[0].engine]
        try:
            for cell in members:
                if over.is_set():
                    return
                before = next((m for m in failed if smaller(m.cell, cell)), None)
                if before is not None:
                    result = Result(status="skipped", message=f"{before.cell.row} failed: {before.status}")
                else:
                    result = run(Job(kind="inspect", cell=cell, settings=free))
                measurement = of(cell, result)
                if result.status in FAILED:
                    failed.append(measurement)
                done.put((measurement, result))
        except BaseException as error:
            done.put(error)

    with ThreadPoolExecutor(environment.cores()) as pool:
        for members in groups.values():
            pool.submit(work, members)
        try:
            for _ in cells:
                found = done.get()
                if isinstance(found, BaseException):
                    raise found
                yield found
        except BaseException:  # interrupted: the pool waits for its threads, and they for their processes
            over.set()
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise


def smaller(one: Cell, other: Cell) -> bool:
    """Whether all numbers among the parameters are at most as large, one is smaller, and all else is equal."""
    if (one.workload, one.dtype, one.device) != (other.workload, other.dtype, other.device):
        return False
    if one.params.keys() != other.params.keys():
        return False
    less = False
    for key, value in one.params.items():
        against = other.params[key]
        if isinstance(value, str) or isinstance(against, str):
            if value != against:
                return False
        elif value > against:
            return False
        else:
            less = less or value < against
    return less
