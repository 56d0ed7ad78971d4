"""Memory: allocations, leaks, peak and retained bytes, counted by memray in a pass that is not timed.

In: a prepared session, and the same function on plain floats or NumPy arrays. Out: a `Memory` record, or the reason why
there is none.
"""

import sys
import tempfile
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

from gradmark.records import Memory

# Iterations of the shorter of two counting runs: enough to see an allocation in each, few enough to be quick. Long
# iterations are those of large arrays, which allocate the same each time: fewer show that.
LEAST, MOST = 20, 200
LEAST_OF_LONG, LEAST_OF_VERY_LONG = 10, 1
COUNTING_NS = 3e6
LONG_NS, VERY_LONG_NS = 1e6, 20e6
# A leak leaves something behind in at least every other iteration; less is a cache that grew.
LEAKING = 0.5

Call = Callable[[], Any]


def iterations_for(iteration_ns: float) -> int:
    """How many iterations to count over."""
    least = LEAST_OF_VERY_LONG if iteration_ns > VERY_LONG_NS else LEAST_OF_LONG if iteration_ns > LONG_NS else LEAST
    return int(min(MOST, max(least, COUNTING_NS / max(iteration_ns, 1.0))))


def measure(
    make: Callable[[], tuple[Call, ...]],
    record: Callable[[], tuple[Call, ...]],
    plain: tuple[Call, ...],
    iteration_ns: float,
) -> Memory:
    """make prepares a session and gives the calls of an iteration, record those of a forward alone.

    plain is an iteration of the same function on floats or NumPy arrays.
    """
    try:
        import memray  # noqa: F401
    except ImportError as error:
        return Memory(reason=f"memray is not installed ({error}); pip install memray (Linux and macOS)")
    with tempfile.TemporaryDirectory() as folder:
        counter = _Counter(Path(folder))
        peak, _ = counter.peak_and_alive(lambda: _run(make(), 1))
        _, retained = counter.peak_and_alive(lambda: _run(record(), 1), keep=True)
        count = iterations_for(iteration_ns)
        calls = make()
        warm = count if count < LEAST_OF_LONG else max(LEAST, count)  # caches and free lists go on filling for some
        _run(calls, warm)
        _run(plain, warm)
        ours = counter.per_iteration(calls, count)
        theirs = counter.per_iteration(plain, count)
    return Memory(
        # rounded down to nothing only where it is less than one allocation over the whole pass
        allocations=max(0.0, _net(ours[0], theirs[0], count)),
        gross_allocations=ours[0],
        plain_allocations=theirs[0],
        allocated_bytes=max(0.0, ours[2] - theirs[2]) if _net(ours[0], theirs[0], count) > 0 else 0.0,
        leaked_bytes=max(0.0, _net(ours[1], theirs[1], count)),
        retained_bytes=retained,
        peak_bytes=peak,
    )


def _run(calls: tuple[Call, ...], times: int) -> tuple[Call, ...]:
    for _ in repeat(None, times):  # not range: its numbers above 256 are allocations
        for call in calls:
            call()
    return calls


def _times(calls: tuple[Call, ...], times: int) -> Call:
    def work() -> None:
        _run(calls, times)

    return work


def _net(ours: float, theirs: float, count: int) -> float:
    """The difference, without the one or two allocations that the counting itself may add to a whole pass."""
    net = ours - theirs
    return 0.0 if abs(net) * count <= 2 else net


class _Counter:
    """memray over a function, one file after another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = 0

    def _track(self, work: Call) -> Path:
        import memray

        self.files += 1
        path = self.folder / str(self.files)
        with memray.Tracker(path, trace_python_allocators=True):
            # Without memray's profile hook, which makes CPython build a frame object for each call of a Python function
            # and a bound method for each call of a C method. It is there for call stacks, which are not needed here.
            sys.setprofile(None)
            work()
        return path

    def per_iteration(self, calls: tuple[Call, ...], count: int) -> tuple[float, float, float]:
        """Allocations, bytes left alive, bytes allocated, per iteration: of 3K less of 2K iterations, divided by K.

        Bytes must be left alive by the second K and the third: what is left only once is a cache that grew, not a leak.
        """
        totals = [self._totals(self._track(_times(calls, n * count))) for n in (1, 2, 3)]
        made, blocks, alive, asked = zip(*totals, strict=True)
        left = min(blocks[1] - blocks[0], blocks[2] - blocks[1])
        leaked = min(alive[1] - alive[0], alive[2] - alive[1]) if left >= LEAKING * count else 0
        return (made[2] - made[1]) / count, leaked / count, (asked[2] - asked[1]) / count

    def _totals(self, path: Path) -> tuple[int, int, int, int]:
        """Allocations made, those alive at the end and their bytes, bytes asked for."""
        import memray

        # what `memray stats` prints; to go through the records in Python gives the same and takes 25 times as long
        from memray._memray import compute_statistics

        stats = compute_statistics(str(path), report_progress=False, num_largest=1)
        blocks = alive = 0
        with memray.FileReader(path) as reader:
            for record in reader.get_leaked_allocation_records(merge_threads=True):
                blocks += record.n_allocations
                alive += record.size
        return stats.total_num_allocations, blocks, alive, stats.total_memory_allocated

    def peak_and_alive(self, work: Callable[[], Any], *, keep: bool = False) -> tuple[int, int]:
        """The peak during work, and what is alive at its end; keep holds on to what work returns."""
        import memray

        kept: list[Any] = []

        def body() -> None:
            result = work()
            if keep:
                kept.append(result)

        path = self._track(body)
        with memray.FileReader(path) as reader:
            peak = int(reader.metadata.peak_memory)
        return peak, self._totals(path)[2]
