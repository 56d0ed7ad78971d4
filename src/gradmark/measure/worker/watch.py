"""The watch: looks at the machine between blocks, and waits while it is slow.

In: which pilots to take, and what they take on this machine when it is calm. Out: the pilots around each block.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from gradmark.measure.worker import pilot
from gradmark.measure.worker.waiting import Waiting
from gradmark.records import pilots
from gradmark.records.pilots import CORE, DEVICE, MEMORY

# Looks by which a process without a reference finds one for itself: 5 ms. The run's reference, made of the pilots of
# all processes, takes its place as soon as there is one.
FIRST_LOOKS = 500
# How often a slow pilot is taken again before it is believed.
SECOND_LOOKS = 2
Look = dict[str, float]


class Watch:
    """The pilots of one process, and for how long they saw a calm machine or a slow one."""

    def __init__(
        self, kinds: Sequence[str], reference: Mapping[str, float], device_ns: Callable[[], float] | None = None
    ) -> None:
        self._take: dict[str, Callable[[], float]] = {}
        if CORE in kinds:
            self._take[CORE] = pilot.core
        if MEMORY in kinds:
            self._take[MEMORY] = pilot.Memory()
        if DEVICE in kinds and device_ns is not None:
            self._take[DEVICE] = device_ns
        self.reference = {kind: reference[kind] for kind in self._take if kind in reference}
        self.spent_ns = {"calm": 0.0, "slow": 0.0}
        self._waiting = Waiting()
        self._last_ns = time.perf_counter_ns()
        # What the memory's takes after a block is not known before there were some: until then it has no say.
        unknown = [kind for kind in self._take if kind not in self.reference and kind != MEMORY]
        if unknown:
            first = [self._read() for _ in range(FIRST_LOOKS)]
            known = pilots.reference_of([{kind: [(look[kind], look[kind]) for look in first]} for kind in unknown])
            self.reference |= known
        self.last = self.look()

    def _read(self) -> Look:
        return {kind: float(take()) for kind, take in self._take.items()}

    def look(self) -> Look:
        """All pilots. The time since the last look counts as what this one saw.

        One that is slow is taken again at once: after a block that used much memory the first pilots wait for the
        caches, for some 50 µs; a neighbour stays for longer. Not the memory's, which would then find its buffer.

        If others had the core for a part of the time since the last look, its pilot counts as so much slower.
        """
        self.last = self._read()
        for _ in range(SECOND_LOOKS):
            if self.is_free:
                break
            again = {kind: float(take()) for kind, take in self._take.items() if kind != MEMORY}
            self.last |= {kind: min(ns, self.last[kind]) for kind, ns in again.items()}
        now = time.perf_counter_ns()
        self._add_waiting(now - self._last_ns)
        self.spent_ns["calm" if self.is_free else "slow"] += now - self._last_ns
        self._last_ns = now
        return self.last

    def _add_waiting(self, passed_ns: float) -> None:
        waited_ns = self._waiting.since_last()
        if CORE in self.last and waited_ns:
            self.last[CORE] *= passed_ns / max(passed_ns - waited_ns, 0.001 * passed_ns)

    @property
    def is_calm(self) -> bool:
        """Whether the last look, which came after a block, saw a calm machine."""
        return pilots.is_calm(self.last, self.reference)

    @property
    def is_free(self) -> bool:
        """Whether it saw nobody else at work on the core or the device. The memory shows only after a block."""
        return pilots.is_calm({kind: ns for kind, ns in self.last.items() if kind != MEMORY}, self.reference)

    def wait(self, until_ns: float) -> bool:
        """Looks until nobody else is at work, or until then. Whether that is so."""
        while not self.is_free and time.perf_counter_ns() < until_ns:
            self.look()
        return self.is_free
