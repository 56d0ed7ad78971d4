"""Memory: allocations, leaks, peak and retained bytes, counted by memray in a pass that is not timed.

In: a prepared session, and the same function on plain floats or NumPy arrays. Out: a `Memory` record, or the reason why
there is none.
"""

import gc
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
# Allocations that counting itself may add to a pass.
OF_COUNTING = 2
# What looks like a leak is looked at over so many times as many iterations, and over twice that; fewer of long ones.
LONGER, LONGER_OF_LONG, LONGER_NS = 30, 3, 2e8
# The second half of those leaves at least this share of what the first half left.
STEADY = 0.75

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
        return Memory(
            reason=f"memray is not installed ({error}); pip install memray (Linux and macOS)", lacks_tool=True
        )
    gc.collect()
    gc.freeze()  # what is there already need not be looked at again
    with tempfile.TemporaryDirectory() as folder:
        counter = _Counter(Path(folder))
        peak = counter.peak(lambda: _run(make(), 1))
        _run(record(), 1)  # what a compiling engine does in its first call is not kept for backward
        retained = counter.retained(lambda: _run(record(), 1))
        count = iterations_for(iteration_ns)
        calls = make()
        warm = count if count < LEAST_OF_LONG else max(LEAST, count)  # caches and free lists go on filling for some
        _run(calls, warm)
        _run(plain, warm)
        longer = int(min(LONGER, max(LONGER_OF_LONG, LONGER_NS / max(count * iteration_ns, 1.0))))
        ours = counter.per_iteration(calls, count, longer)
        theirs = counter.per_iteration(plain, count, longer)
    gc.unfreeze()
    return Memory(
        allocations=max(0.0, _net(ours[0], theirs[0], count)),
        gross_allocations=ours[0],
        plain_allocations=theirs[0],
        allocated_bytes=max(0.0, ours[2] - theirs[2]) if _net(ours[0], theirs[0], count) > 0 else 0.0,
        leaked_bytes=None if ours[1] is None else max(0.0, ours[1] - (theirs[1] or 0.0)),
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
    """The difference: a whole number, if it is one but for the one or two allocations that counting adds to a pass."""
    net = ours - theirs
    whole = float(round(net)) if abs(net) * count > OF_COUNTING else 0.0
    return whole if abs(net - whole) * count <= OF_COUNTING else net


class _Counter:
    """memray over a function, one file after another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = 0

    def _track(self, work: Call, *, collect: bool = True) -> Path:
        import memray

        self.files += 1
        path = self.folder / str(self.files)
        gc.collect()  # empties Python's free lists too, so that all passes begin alike
        with memray.Tracker(path, trace_python_allocators=True):
            # Without memray's profile hook, which makes CPython build a frame object for each call of a Python function
            # and a bound method for each call of a C method. It is there for call stacks, which are not needed here.
            sys.setprofile(None)
            work()
            if collect:
                gc.collect()  # objects in cycles are garbage, not a leak
        return path

    def per_iteration(self, calls: tuple[Call, ...], count: int, longer: int) -> tuple[float, float | None, float]:
        """Allocations, bytes left alive, bytes allocated, per iteration: of 3K less of 2K iterations, divided by K.

        Of very long iterations, of 2K less of K.
        """
        least = 1 if count < LEAST_OF_LONG else 2
        short, long = (self._track(_times(calls, n * count)) for n in (least, least + 1))
        allocations, asked = (b - a for a, b in zip(self._made(short), self._made(long), strict=True))
        return (
            allocations / count,
            self._leaked(calls, count, longer, self._alive(short), self._alive(long)),
            asked / count,
        )

    def _leaked(
        self, calls: tuple[Call, ...], count: int, times: int, short: tuple[int, int], long: tuple[int, int]
    ) -> float | None:
        """Bytes that each iteration leaves alive; None if that cannot be told.

        What is alive after one run and after a longer one differs by what free lists and caches happen to hold, too.
        A leak goes on: of many iterations, the second half leaves as much as the first, a cache that fills does not.
        """
        if long[0] - short[0] <= max(LEAKING * count, OF_COUNTING) or long[1] <= short[1]:
            return 0.0
        if count < LEAST_OF_LONG:
            return None
        half, whole = (self._alive(self._track(_times(calls, n * times * count))) for n in (1, 2))
        if whole[0] - half[0] < max(LEAKING * times * count, STEADY * (half[0] - short[0])):
            return 0.0
        return max(0.0, (whole[1] - half[1]) / (times * count))

    def _made(self, path: Path) -> tuple[int, int]:
        """Allocations made, and the bytes asked for."""
        # what `memray stats` prints; to go through the records in Python gives the same and takes 25 times as long
        from memray._memray import compute_statistics

        stats = compute_statistics(str(path), report_progress=False, num_largest=1)
        return stats.total_num_allocations, stats.total_memory_allocated

    def _alive(self, path: Path) -> tuple[int, int]:
        """Allocations alive at the end, and their bytes."""
        import memray

        with memray.FileReader(path) as reader:
            records = [(r.n_allocations, r.size) for r in reader.get_leaked_allocation_records(merge_threads=True)]
        return sum(blocks for blocks, _ in records), sum(size for _, size in records)

    def peak(self, work: Call) -> int:
        """The most that is alive at once during work."""
        import memray

        reader = memray.FileReader(self._track(work, collect=False))
        return int(reader.metadata.peak_memory)

    def retained(self, work: Call) -> int:
        """What is alive when work has returned, and its result is still held."""
        kept: list[Any] = []
        return self._alive(self._track(lambda: kept.append(work())))[1]
