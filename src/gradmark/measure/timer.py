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
# Warm-up ends when a block is within 10 % of the fastest so far, or after this many.
WARM_UP_BLOCKS = 6
STEADY = 1.10

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

    def _block(self) -> float:
        self.before()
        return float(elapsed_ns(self.calls, self.iterations, self.finish))

    def warm_up(self, least_ns: float) -> None:
        """Finds the number of iterations, and runs blocks until they are steady."""
        start = time.perf_counter_ns()
        while (taken := self._block()) < least_ns:
            grow = least_ns / max(taken, 1.0) * 1.1
            self.iterations = max(self.iterations + 1, int(self.iterations * min(grow, 100.0)))
        fastest = taken
        for _ in range(WARM_UP_BLOCKS):
            taken = self._block()
            fastest = min(fastest, taken)
            if taken <= fastest * STEADY:
                break
        self.warm_up_ns = time.perf_counter_ns() - start

    def add_block(self) -> None:
        """Times one block."""
        self.block_ns.append(self._block() / self.iterations)


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
                phase.add_block()
    finally:
        gc.enable()
        gc.unfreeze()
