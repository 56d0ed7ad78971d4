"""Memory: allocations, leaks, peak and retained bytes, counted by memray in a pass that is not timed.

In: a prepared session, and the same function on plain floats or NumPy arrays. Out: a `Memory` record, or the reason why
there is none.
"""

import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from gradmark.isolation.inside import FOLDER
from gradmark.records import Memory

# Iterations of a pass: enough to see an allocation in each, few enough to be quick. Long iterations are those of large
# arrays, which allocate the same each time: fewer show that.
LEAST, MOST = 20, 200
COUNTING_NS = 3e6
# From how many nanoseconds on: with five iterations a leak of one block in each is still told from chance.
FEW = 5
FEWER = {1e6: 10, 20e6: FEW, 200e6: 1}
# Iterations are counted one by one if Python can go through the records of three in about a second. Those that allocate
# more are counted together.
FEWEST_APART, RECORDS, MOST_RECORDS = 3, 300_000, 1_200_000
# A block of this size stands between two iterations: no array of numbers has it, because it is no multiple of four.
MARK_BYTES = 100_022
# A leak leaves something behind in at least every other iteration; less is a cache that grew.
LEAKING = 0.5
# The least that a leaking iteration leaves: half of the smallest object, since every other iteration may leave nothing.
# Where blocks are no more, but larger, so many bytes may be those of a table that grew.
LEAST_LEAK_BYTES, TABLE_BYTES = 8.0, 512
# Allocations that counting itself may add to a pass.
OF_COUNTING = 2
# What looks like a leak is looked at over so many times as many iterations, and over twice that; fewer of long ones.
LONGER, LONGER_OF_LONG, LONGER_NS = 30, 3, 2e8
# The second half of those leaves as much as the first: at least this share, and at most so many times as much. It is
# that much if what is kept stands in one array that doubles when it is full.
STEADY, STEADY_DOUBLING = 0.75, 4.0
# Iterations that take longer than this are not looked at again: that would be a minute.
TOO_LONG_NS = 2e9
# A peak is the lowest of so many, within so much time: what a cache or another thread holds at that moment only adds.
PEAKS, PEAKS_S = 7, 1.0

Call = Callable[[], Any]
Calls = tuple[Call, ...]


def iterations_for(iteration_ns: float) -> int:
    """How many iterations a pass has."""
    least = next((fewer for ns, fewer in reversed(FEWER.items()) if iteration_ns > ns), LEAST)
    return int(min(MOST, max(least, COUNTING_NS / max(iteration_ns, 1.0))))


def measure(make: Callable[[], Calls], record: Callable[[], Calls], plain: Calls, iteration_ns: float) -> Memory:
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
    with tempfile.TemporaryDirectory(dir=os.environ.get(FOLDER)) as folder:
        counter = _Counter(Path(folder))
        peak = counter.lowest_peak(lambda: _run(make(), 1))
        _run(record(), 1)  # what a compiling engine does in its first call is not kept for backward
        retained = counter.retained(lambda: _run(record(), 1))
        calls = make()
        count = iterations_for(iteration_ns)
        warm = max(LEAST, count) if count > FEW else count  # caches and free lists go on filling for some
        _run(calls, warm)
        _run(plain, warm)
        ours, theirs = (counter.counts(each, count, iteration_ns) for each in (calls, plain))
    gc.unfreeze()
    net = _net(ours.mean, theirs.mean, ours.iterations)
    return Memory(
        allocations=max(0.0, net),
        least_allocations=max(0.0, ours.least - theirs.least),
        gross_allocations=ours.mean,
        plain_allocations=theirs.mean,
        allocated_bytes=max(0.0, ours.asked_bytes - theirs.asked_bytes) if net > 0 else 0.0,
        leaked_bytes=None if ours.leaked_bytes is None else max(0.0, ours.leaked_bytes - (theirs.leaked_bytes or 0.0)),
        retained_bytes=retained,
        peak_bytes=peak,
    )


def _run(calls: Calls, times: int) -> Calls:
    for _ in repeat(None, times):  # not range: its numbers above 256 are allocations
        for call in calls:
            call()
    return calls


def _times(calls: Calls, times: int) -> Call:
    def work() -> None:
        _run(calls, times)

    return work


def _inside(tracker: AbstractContextManager[Any], work: Call, collect: bool) -> None:
    with tracker:  # a short function: memray looks at its code, and counts the copy
        # Without memray's profile hook, which makes CPython build a frame object for each call of a Python function and
        # a bound method for each call of a C method. It is there for call stacks, which are not needed here.
        sys.setprofile(None)
        work()
        if collect:
            gc.collect()  # objects in cycles are garbage, not a leak


def _net(ours: float, theirs: float, count: int) -> float:
    """The difference: a whole number, if it is one but for the one or two allocations that counting adds to a pass."""
    net = ours - theirs
    whole = float(round(net)) if abs(net) * count > OF_COUNTING else 0.0
    return whole if abs(net - whole) * count <= OF_COUNTING else net


@dataclass(frozen=True)
class _Counts:
    """Of one iteration."""

    iterations: int  # that were counted
    mean: float  # allocations
    least: float  # allocations of the iteration that made the fewest; the mean, where they were counted together
    asked_bytes: float
    leaked_bytes: float | None  # None if that cannot be told


@dataclass(frozen=True)
class _Alive:
    """What was allocated in a pass of so many iterations and is alive at its end."""

    iterations: int
    blocks: int  # 0 where only bytes are known
    size: int


@dataclass(frozen=True)
class _Growth:
    """By how much more is alive after a longer pass than after a shorter one."""

    shorter: _Alive
    longer: _Alive

    @property
    def iterations(self) -> int:
        return self.longer.iterations - self.shorter.iterations

    @property
    def blocks(self) -> int:
        return self.longer.blocks - self.shorter.blocks

    @property
    def size(self) -> int:
        return self.longer.size - self.shorter.size

    @property
    def has_blocks(self) -> bool:
        """Whether most iterations left a block."""
        return self.blocks > max(LEAKING * self.iterations, OF_COUNTING) and self.size > 0

    @property
    def has_bytes(self) -> bool:
        """Whether iterations left bytes, if in few blocks: what is kept may stand in one array that grows."""
        return self.size > LEAST_LEAK_BYTES * self.iterations + TABLE_BYTES

    def goes_on(self, later: "_Growth") -> bool:
        """Whether as much was left later: a leak goes on, a cache that fills does not."""
        blocks = (later.blocks / later.iterations) / max(self.blocks / self.iterations, LEAKING)
        sizes = (later.size / later.iterations) / max(self.size / self.iterations, LEAST_LEAK_BYTES)
        in_blocks = self.has_blocks and later.has_blocks and blocks >= STEADY
        in_bytes = self.has_bytes and later.has_bytes and STEADY <= sizes <= STEADY_DOUBLING
        return in_blocks or in_bytes


class _Counter:
    """memray over a function, one file after another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = 0

    def _track(self, work: Call, *, collect: bool = True, each: bool = False) -> Path:
        """A file with each allocation, or else with what is alive at the end and at the peak, which is read at once."""
        import memray

        self.files += 1
        path = self.folder / str(self.files)
        kind = memray.FileFormat.ALL_ALLOCATIONS if each else memray.FileFormat.AGGREGATED_ALLOCATIONS
        gc.collect()  # empties Python's free lists too, so that all passes begin alike
        _inside(memray.Tracker(path, trace_python_allocators=True, file_format=kind), work, collect)
        return path

    def counts(self, calls: Calls, count: int, iteration_ns: float) -> _Counts:
        """Allocations and leaks. Iterations are counted one by one where that takes no longer than a second."""
        once = self._made(_times(calls, 1))
        together = 2 * FEWEST_APART * once[0] > MOST_RECORDS  # each is freed again
        leaked = self._leaked(calls, count, iteration_ns, blocks=not together)
        if together:
            twice = self._made(_times(calls, 2))
            allocated, asked = (b - a for a, b in zip(once, twice, strict=True))
            return _Counts(1, allocated, allocated, asked, leaked)
        apart = int(min(count, RECORDS / max(1, 2 * once[0])))
        allocations, sizes = self._apart(calls, max(FEWEST_APART, apart))
        n = len(allocations)
        return _Counts(n, sum(allocations) / n, min(allocations), sum(sizes) / n, leaked)

    def _apart(self, calls: Calls, count: int) -> tuple[list[int], list[int]]:
        """Allocations of each iteration, and the bytes asked for, in a pass with a mark after each iteration.

        The mean of a pass hides what it is made of: another thread, a set that grows by chance, each adds to some
        iterations and not to others. The first iteration finds the free lists empty, and is left out.
        """
        from memray import AllocatorType, FileReader

        freeing = {AllocatorType.FREE, AllocatorType.MUNMAP, AllocatorType.PYMALLOC_FREE}
        mark = partial(bytes, MARK_BYTES - sys.getsizeof(b""))
        allocations, sizes = [0], [0]
        with FileReader(self._track(_times((*calls, mark), count + 1), collect=False, each=True)) as reader:
            for one in reader.get_allocation_records():
                if one.size == MARK_BYTES:
                    allocations.append(0)
                    sizes.append(0)
                elif one.allocator not in freeing:
                    allocations[-1] += 1
                    sizes[-1] += one.size
        return allocations[1:-1], sizes[1:-1]

    def _made(self, work: Call) -> tuple[int, int]:
        """Allocations made, and the bytes asked for."""
        # what `memray stats` prints; to go through the records in Python gives the same and takes 5 to 25 times as long
        from memray._memray import compute_statistics

        stats = compute_statistics(str(self._track(work, each=True)), report_progress=False, num_largest=1)
        return stats.total_num_allocations, stats.total_memory_allocated

    def _leaked(self, calls: Calls, count: int, iteration_ns: float, *, blocks: bool) -> float | None:
        """Bytes that each iteration leaves alive; None if that cannot be told.

        What is alive after one run and after a longer one differs by what free lists and caches happen to hold, too.
        A leak goes on: of many iterations, the second half leaves as much as the first, a cache that fills does not.
        """
        short, long = (self._alive_after(calls, n * count, blocks=blocks) for n in (1, 2))
        growth = _Growth(short, long)
        if not growth.has_blocks and not growth.has_bytes:
            return 0.0
        if iteration_ns > TOO_LONG_NS:
            return None
        times = int(min(LONGER, max(LONGER_OF_LONG, LONGER_NS / max(count * iteration_ns, 1.0))))
        half, whole = (self._alive_after(calls, n * times * count, blocks=blocks) for n in (1, 2))
        later = _Growth(half, whole)
        return later.size / later.iterations if _Growth(short, half).goes_on(later) else 0.0

    def _alive_after(self, calls: Calls, iterations: int, *, blocks: bool) -> _Alive:
        records = self._left(_times(calls, iterations), each=blocks)
        return _Alive(iterations, sum(n for n, _ in records) if blocks else 0, sum(size for _, size in records))

    def _left(self, work: Call, *, each: bool) -> list[tuple[int, int]]:
        """What is alive at the end of a pass: blocks and their size; each: whether blocks must be right."""
        import memray

        # memray 1.20 loses blocks, but no bytes, of a file that does not have each allocation if one was reallocated
        with memray.FileReader(self._track(work, each=each)) as reader:
            records = list(reader.get_leaked_allocation_records(merge_threads=True))
        return [(record.n_allocations, record.size) for record in records]

    def lowest_peak(self, work: Call) -> int:
        """The most that is alive at once during work; the lowest of several, if work is short."""
        import memray

        peaks: list[int] = []
        start = time.perf_counter()
        while not peaks or (len(peaks) < PEAKS and time.perf_counter() - start < PEAKS_S):
            with memray.FileReader(self._track(work, collect=False)) as reader:
                peaks.append(int(reader.metadata.peak_memory))
        return min(peaks)

    def retained(self, work: Call) -> int:
        """What is alive when work has returned, and its result is still held."""
        kept: list[Any] = []
        return sum(size for _, size in self._left(lambda: kept.append(work()), each=False))
