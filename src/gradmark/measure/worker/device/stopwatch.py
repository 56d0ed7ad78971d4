"""The stopwatch: how long a device works on calls, with cold caches and back to back, and how long the host asks.

In: a timer and calls. Out: samples of one call each, with the device's clock around them. The caches are flushed by a
long write, behind which the host queues the work while the device is still writing. So what is timed is the device at
work, not the host that is slow to ask. That the host was ahead is seen for each sample: the mark before the work was
not reached when the last call had returned. nvbench means the same by *cold*: one sample at a time is queued. triton's
`do_bench` queues sample behind sample, and reads about a microsecond more.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from gradmark.engines.protocol import DeviceTimer, OwnQueue
from gradmark.measure.worker.timer import LEAD_IN, nothing

# A sample whose host was not ahead is taken again behind twice as many flushes, up to so many: 2 ms on an H200. A host
# that needs longer, or waits for the device in its calls, is not to be had ahead.
MOST_FLUSHES = 32
# To ask NVML for the clock takes up to some milliseconds, a sample some hundred microseconds.
SAMPLES_PER_LOOK = 8
# Blocks back to back last so long, so that a mark (1 to 2 µs) and the first launch are lost in them.
HOT_BLOCK_NS = 5e6
# Calls whose work leaves no trace on the device would else be repeated without end.
MOST_IN_A_ROW = 20_000
# The first call of a phase compiles, and takes memory that the second one finds.
REHEARSALS = 2
# Empty calls, of which the fastest is what the host's clock and loop take themselves.
EMPTY_CALLS = 20

Call = Callable[[], Any]


@dataclass
class Samples:
    """What calls took: by the device's clock and by the host's, and the device's clock before and after each."""

    device_ns: list[float] = field(default_factory=list)
    host_ns: list[float] = field(default_factory=list)
    clock_ns: list[tuple[float, float]] = field(default_factory=list)
    iterations: int = 1
    late_ns: float = math.inf  # how long the device went on after the mark behind the calls, at least

    @property
    def longer_ns(self) -> list[float]:
        """What a program waits for that asks for one call after another: the device, or the host that asks."""
        return [max(pair) for pair in zip(self.device_ns, self.host_ns, strict=True)]


class Stopwatch:
    """Times calls on one device."""

    def __init__(self, timer: DeviceTimer, queue: OwnQueue | None = None) -> None:
        self.timer = timer
        self.queue = queue
        self.flushes = 1
        self.late_ns = 0.0  # of the last sample
        self.was_ahead = False  # the host, in the last sample
        self.host_empty_ns = 0.0
        empty = [self._once((nothing,), nothing) for _ in range(EMPTY_CALLS)]
        self.host_empty_ns = min(host for _, host in empty)

    def cold(self, calls: Sequence[Call], before: Call, least: int, most: int, seconds: float) -> Samples:
        """Single calls, each behind flushed caches: so many, and more while there is time."""
        samples, timer = Samples(), self.timer
        for _ in repeat(None, REHEARSALS):
            self._once(calls, before)
        until_ns = timer.host_ns() + 1e9 * seconds
        clock = self._look()
        while len(samples.device_ns) < least or (len(samples.device_ns) < most and timer.host_ns() < until_ns):
            for _ in repeat(None, SAMPLES_PER_LOOK):
                device_ns, host_ns = self._ahead(calls, before)
                samples.device_ns.append(device_ns)
                samples.host_ns.append(host_ns)
                samples.late_ns = min(samples.late_ns, self.late_ns)
            last, clock = clock, self._look()
            samples.clock_ns += [(last, clock)] * SAMPLES_PER_LOOK
        return samples

    def hot(self, calls: Sequence[Call], least_ns: float, blocks: int) -> Samples:
        """Calls back to back, in blocks: the mean of each."""
        samples = Samples()
        self._block(calls, 1)
        least_ns = max(least_ns, HOT_BLOCK_NS)
        while (taken := self._block(calls, samples.iterations)) < least_ns and samples.iterations < MOST_IN_A_ROW:
            grow = min(100.0, 1.1 * least_ns / max(taken, 1.0))
            wanted = max(samples.iterations + 1, int(samples.iterations * grow))
            samples.iterations = min(MOST_IN_A_ROW, wanted)
        clock = self._look()
        for _ in repeat(None, blocks):
            samples.device_ns.append(self._block(calls, samples.iterations) / samples.iterations)
            last, clock = clock, self._look()
            samples.clock_ns.append((last, clock))
        return samples

    def waited_late_ns(self, calls: Sequence[Call], synchronize: Call) -> float:
        """How long the device is still at work when a session says that it is not; 0 if it is right."""
        timer = self.timer
        timer.synchronize()
        self._flush(1)
        for call in calls:
            call()
        self._join()
        end = timer.mark()
        synchronize()
        if timer.reached(end):
            return 0.0
        start_ns = timer.host_ns()
        timer.elapsed_ns(end, end)
        return timer.host_ns() - start_ns

    def _look(self) -> float:
        """What tells a slow device from a fast one: its clock; where nobody knows it a flush, which is fixed work."""
        timer = self.timer
        clock_ns = timer.clock_ns()
        if clock_ns is not None:
            return clock_ns
        timer.synchronize()
        timer.flush()  # behind which the host is ahead
        begin = timer.mark()
        timer.flush()
        return timer.elapsed_ns(begin, timer.mark())

    def _ahead(self, calls: Sequence[Call], before: Call) -> tuple[float, float]:
        """One sample behind as many flushes as it takes for the host to be ahead."""
        while True:
            sample = self._once(calls, before)
            if self.was_ahead or self.flushes >= MOST_FLUSHES:
                return sample
            self.flushes = min(MOST_FLUSHES, 2 * self.flushes)

    def _once(self, calls: Sequence[Call], before: Call) -> tuple[float, float]:
        """What the device took, and the host."""
        timer = self.timer
        before()
        timer.synchronize()
        self._flush(self.flushes)
        self._join()
        start = timer.mark()
        start_ns = timer.host_ns()
        for call in calls:
            call()
        host_ns = timer.host_ns() - start_ns - self.host_empty_ns
        self._join()
        end = timer.mark()
        self.was_ahead = not timer.reached(start)
        device_ns = timer.elapsed_ns(start, end)
        end_ns = timer.host_ns()
        timer.synchronize()
        self.late_ns = timer.host_ns() - end_ns
        return device_ns, host_ns

    def _block(self, calls: Sequence[Call], iterations: int) -> float:
        timer = self.timer
        timer.synchronize()
        for _ in repeat(None, max(1, int(LEAD_IN * iterations))):
            for call in calls:
                call()
        self._join()
        start = timer.mark()
        for _ in repeat(None, iterations):
            for call in calls:
                call()
        self._join()
        return timer.elapsed_ns(start, timer.mark())

    def _flush(self, times: int) -> None:
        if self.queue is not None:  # its work would not wait for other flushes
            self.queue.flush(times)
            return
        for _ in repeat(None, times):
            self.timer.flush()

    def _join(self) -> None:
        if self.queue is not None:
            self.queue.join()
