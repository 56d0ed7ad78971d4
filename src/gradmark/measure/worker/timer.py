"""The timer: blocks of calls, long enough for the clock, with the harness's own cost known.

In: functions without arguments. Out: mean nanoseconds per call for each block.
"""

import gc
import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

# A block lasts at least this many times what the clock can tell apart: an error of 0.1 %.
RESOLUTIONS = 1000
# Warm-up ends when a block takes the same time as the one before, to 10 %, or after this many.
WARM_UP_BLOCKS = 10
STEADY = 0.10
# A phase whose one iteration takes this long is timed with fewer blocks: its length makes up for them, and a slow
# engine must not take all the time of a comparison. At least so many are timed.
LONG_BLOCK_NS = 50e6
LEAST_BLOCKS = 2

Call = Callable[[], Any]


def clock_resolution_ns() -> float:
    """The smallest step of the clock that was seen."""
    steps = []
    for _ in range(1000):
        start = now = time.perf_counter_ns()
        while now == start:
            now = time.perf_counter_ns()
        steps.append(now - start)
    return float(min(steps))


def nothing() -> None:
    """An empty call: the harness itself."""


def elapsed_ns(calls: tuple[Call, ...], iterations: int, finish: Call) -> int:
    """How long so many iterations take. Two calls have a loop of their own: a loop over calls would cost more."""
    if len(calls) == 1:
        (call,) = calls
        start = time.perf_counter_ns()
        for _ in repeat(None, iterations):
            call()
        finish()
        return time.perf_counter_ns() - start
    first, second = calls
    start = time.perf_counter_ns()
    for _ in repeat(None, iterations):
        first()
        second()
    finish()
    return time.perf_counter_ns() - start


class Timed:
    """One phase: its calls, how many iterations fill a block, and the blocks timed so far."""

    def __init__(self, calls: tuple[Call, ...], finish: Call = nothing, before: Call = nothing) -> None:
        self.calls = calls
        self.finish = finish
        self.before = before  # what must have happened before a block: a recording, for backward
        self.iterations = 1
        self.block_ns: list[float] = []
        self.warm_up_ns = 0.0
        self.least_ns = 0.0

    def _block(self) -> float:
        self.before()
        return float(elapsed_ns(self.calls, self.iterations, self.finish))

    def warm_up(self, least_ns: float) -> None:
        """Finds the number of iterations, and runs blocks until two in a row take the same time."""
        self.least_ns = least_ns
        start = time.perf_counter_ns()
        self._block()  # the first call may compile, and says nothing about the next
        taken = self._fill()
        if taken > LONG_BLOCK_NS:
            self.block_ns.append(taken / self.iterations)  # as good as any that follows, and there will be few
        for _ in range(0 if taken > LONG_BLOCK_NS else WARM_UP_BLOCKS):
            before, taken = taken, self._block()
            if taken < 0.5 * least_ns:
                taken = self._fill()
            elif abs(taken - before) <= STEADY * before:
                break
        self.warm_up_ns = time.perf_counter_ns() - start

    def _fill(self) -> float:
        """Raises the iterations until two blocks in a row last long enough."""
        while True:
            taken = max(self._block(), 1.0)
            if taken > LONG_BLOCK_NS:
                return taken
            if taken >= self.least_ns:
                taken = max(self._block(), 1.0)
                if taken >= 0.5 * self.least_ns:
                    return taken
            grow = min(self.least_ns / taken * 1.1, 100.0)
            self.iterations = max(self.iterations + 1, int(self.iterations * grow))

    def enough(self) -> bool:
        """Whether long blocks have taken as much time as the usual number of short ones may."""
        return len(self.block_ns) >= LEAST_BLOCKS and min(self.block_ns) * self.iterations > LONG_BLOCK_NS

    def add_block(self) -> None:
        """Times one block. If it has become much shorter, what was timed before was still warming up."""
        taken = self._block()
        if taken < 0.5 * self.least_ns:
            taken = self._fill()
            self.block_ns.clear()
        self.block_ns.append(taken / self.iterations)


def time_together(phases: list[Timed], blocks: int, least_ns: float) -> None:
    """Times all phases in turns, so that a slow moment of the machine falls on all of them.

    The garbage collector is off inside blocks and run between rounds; what exists before is frozen, so that
    collecting costs little.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for phase in phases:
            phase.warm_up(least_ns)
        for _ in range(blocks):
            gc.collect()
            for phase in phases:
                if not phase.enough():
                    phase.add_block()
        for phase in phases:  # one that lost its first blocks gets as many as the others
            while len(phase.block_ns) < blocks and not phase.enough():
                phase.add_block()
    finally:
        gc.enable()
        gc.unfreeze()
