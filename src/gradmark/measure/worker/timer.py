"""The timer: blocks of calls, long enough for the clock, each between two looks at the machine.

In: functions without arguments. Out: mean nanoseconds per call for each block, with the pilots around it.

Phases are timed by generators that ask for blocks. `carry_out` calls what is in a block: from the bottom of the
stack, not from inside of all that decides what is timed next. JAX looks at every frame of Python's stack whenever it
makes an array: nine frames of ours took 0.3 us a call (decision 26).
"""

import gc
import time
from collections.abc import Callable, Generator
from itertools import repeat
from typing import Any, NamedTuple, TypeVar

from gradmark.measure.worker.forgetting import forget
from gradmark.measure.worker.watch import Watch
from gradmark.records.pilots import LONG_BLOCK_NS

# A block lasts at least this many times what the clock can tell apart: an error of 0.1 %.
RESOLUTIONS = 1000
# Warm-up ends when a block takes the same time as the one before, to 10 %, or after this many.
WARM_UP_BLOCKS = 10
STEADY = 0.10
# A phase whose one iteration takes very long is timed with fewer blocks: its length makes up for them, and a slow
# engine must not take all the time of a comparison. At least so many are timed.
LEAST_BLOCKS = 2
# A process ends when every phase has its calm blocks, or when it has taken this many times as long as that takes on a
# machine that is always calm, or what the run can spare. What it then lacks, later processes have.
PATIENCE = 3.0

# Before each block so many times its iterations are called without the clock, less one: what takes as long as a block
# is not called twice. The first find caches and branch predictors as pilots, garbage collector, other phases and
# forgetting have left them. Without any, blocks of PyTorch's 46 us took 4 % longer, and of JAX's 24 us 12 %
# (decision 26). Half as many as are timed were not enough where a block has six iterations: a tree of 1,023 nodes
# took 4 % longer.
LEAD_IN = 1.0

Call = Callable[[], Any]
T = TypeVar("T")


class Block(NamedTuple):
    """What is called between two readings of the clock."""

    calls: tuple[Call, ...]
    iterations: int
    finish: Call


Steps = Generator[Block, int, T]  # asks for blocks, is told how many nanoseconds each took


def carry_out(steps: "Steps[T]") -> T:
    """Times the blocks that the steps ask for; what they return. An error in a block is raised in the steps."""
    try:
        block = next(steps)
        while True:
            try:
                taken = elapsed_ns(*block)
            except BaseException as error:
                block = steps.throw(error)
            else:
                block = steps.send(taken)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]


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

    def __init__(
        self, calls: tuple[Call, ...], finish: Call = nothing, before: Call = nothing, most: int | None = None
    ) -> None:
        self.calls = calls
        self.most = most  # calm blocks, if it does not need as many as the others
        self.finish = finish
        self.before = before  # what must have happened before a block: a recording, for backward
        self.iterations = 1
        self.block_ns: list[float] = []
        self.pilots: dict[str, list[tuple[float, float]]] = {}  # of each block, before and after
        self.calm = 0  # blocks that were, as far as the watch knows
        self.warm_up_ns = 0.0
        self.least_ns = 0.0

    def _block(self) -> Steps[float]:
        self.before()
        for _ in range(int((self.iterations - 1) * LEAD_IN)):
            for call in self.calls:
                call()
        return float((yield Block(self.calls, self.iterations, self.finish)))

    def warm_up(self, least_ns: float) -> Steps[None]:
        """Finds the number of iterations, and runs blocks until two in a row take the same time."""
        self.least_ns = least_ns
        start = time.perf_counter_ns()
        yield from self._block()  # the first call may compile, and says nothing about the next
        taken = yield from self._fill()
        for _ in range(0 if taken > LONG_BLOCK_NS else WARM_UP_BLOCKS):
            before, taken = taken, (yield from self._block())
            if taken < 0.5 * least_ns:
                taken = yield from self._fill()
            elif abs(taken - before) <= STEADY * before:
                break
        self.warm_up_ns = time.perf_counter_ns() - start

    def _fill(self) -> Steps[float]:
        """Raises the iterations until two blocks in a row last long enough."""
        while True:
            taken = max((yield from self._block()), 1.0)
            if taken > LONG_BLOCK_NS:
                return taken
            if taken >= self.least_ns:
                taken = max((yield from self._block()), 1.0)
                if taken >= 0.5 * self.least_ns:
                    return taken
            grow = min(self.least_ns / taken * 1.1, 100.0)
            self.iterations = max(self.iterations + 1, int(self.iterations * grow))

    def enough(self, blocks: int) -> bool:
        """Whether it has its calm blocks, or long blocks have taken as much time as the usual number of short ones."""
        long = len(self.block_ns) >= LEAST_BLOCKS and min(self.block_ns) * self.iterations > LONG_BLOCK_NS
        return self.calm >= (blocks if self.most is None else min(blocks, self.most)) or long

    def add_block(self, watch: Watch) -> Steps[None]:
        """Times one block. If it has become much shorter, what was timed before was still warming up."""
        was_calm, before = watch.is_free, dict(watch.last)
        taken = yield from self._block()
        if taken < 0.5 * self.least_ns:
            yield from self._fill()
            self.block_ns.clear()
            self.pilots.clear()
            self.calm = 0
            watch.look()
            return
        after = watch.look()
        self.block_ns.append(taken / self.iterations)
        for kind, ns in before.items():
            self.pilots.setdefault(kind, []).append((ns, after[kind]))
        self.calm += was_calm and watch.is_calm

    def nominal_ns(self, blocks: int) -> float:
        """How long so many blocks take, on a machine that is always calm."""
        return blocks * max(self.least_ns, min(self.block_ns, default=0.0) * self.iterations)


class SelfTimed(Timed):
    """A phase that an engine times itself: a block is one answer to so many runs, and their mean."""

    def __init__(self, mean_ns: Callable[[int], float], most_runs: int) -> None:
        super().__init__(())
        self.mean_ns = mean_ns
        self.most_runs = most_runs
        self.answered_ns = 0.0  # what the last block took, with all that the engine does not count

    def _block(self) -> Steps[float]:
        yield from ()  # it calls nothing itself: there is no block for others to time
        start = time.perf_counter_ns()
        taken = self.mean_ns(self.iterations) * self.iterations
        self.answered_ns = float(time.perf_counter_ns() - start)
        return taken

    def _fill(self) -> Steps[float]:
        """Raises the iterations until a block lasts long enough, or has as many as the engine does at once."""
        taken = yield from self._block()
        while taken < self.least_ns and self.iterations < self.most_runs:
            wanted = int(1.1 * self.iterations * self.least_ns / max(taken, 1.0))
            self.iterations = min(self.most_runs, max(self.iterations + 1, wanted))
            taken = yield from self._block()
        if self.iterations >= self.most_runs:
            self.least_ns = 0.0  # it cannot last longer: none of its blocks is too short
        return taken

    def nominal_ns(self, blocks: int) -> float:
        """How long so many blocks take: what is waited for the answers."""
        return blocks * self.answered_ns


def time_together(
    phases: list[Timed], blocks: int, least_ns: float, watch: Watch, patience_ns: float = 0.0
) -> Steps[None]:
    """Times all phases in turns until each has so many calm blocks, or patience ends: its own, or a longer one.

    Before each block the core forgets what it has learnt, and the machine must be calm, or is waited for. The garbage
    collector is off inside blocks and run between rounds; what exists before is frozen: collecting then costs little.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for phase in phases:
            yield from phase.warm_up(least_ns)
        gc.collect()
        yield from _every_phase(phases, watch)  # each has something to show, and it is known how long a block takes
        usual_ns = PATIENCE * sum(phase.nominal_ns(blocks) for phase in phases)
        until_ns = time.perf_counter_ns() + max(usual_ns, patience_ns)
        while time.perf_counter_ns() < until_ns:
            lacking = [phase for phase in phases if not phase.enough(blocks)]
            if not lacking:
                break
            gc.collect()
            for phase in lacking:
                _anew(watch)
                if watch.wait(until_ns):
                    yield from phase.add_block(watch)
        while any(len(phase.block_ns) < LEAST_BLOCKS for phase in phases):
            yield from _every_phase([phase for phase in phases if len(phase.block_ns) < LEAST_BLOCKS], watch)
    finally:
        gc.enable()
        gc.unfreeze()


def _anew(watch: Watch) -> None:
    forget()
    watch.look()


def _every_phase(phases: list[Timed], watch: Watch) -> Steps[None]:
    for phase in phases:
        _anew(watch)
        yield from phase.add_block(watch)
