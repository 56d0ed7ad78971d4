"""Calls as CUDA graphs: everything that a call queues, launched at once.

A graph holds the addresses with which it was captured. Results are arrays of their own, so addresses differ from call
to call; but CuPy's pool gives memory that was given back again, and a loop soon comes to the same few sets. In: the
table of addresses of a call. Out: a graph that has exactly these, if they have been seen before; else launches one by
one. Nothing is copied, and no result is ever written over.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

# Fewer launches than this cost the host less than the launch of a graph.
FEWEST_STEPS = 3
# Sets of addresses that are remembered: a loop that keeps its last results has two, one that keeps more has more.
MOST_KEPT = 16
# So many graphs that were never used again, and no more are captured: capturing takes much longer than launching.
MOST_WASTED = 32


class Replay:
    """How a function's steps get into the device's queue."""

    def __init__(self, device: Any, queue: Callable[[int], None], steps: int):
        self._device, self._queue = device, queue
        self._capturing = steps >= FEWEST_STEPS
        self._kept: OrderedDict[tuple[int, bytes, bytes], Callable[[], None] | None] = OrderedDict()
        self.captured = self.replayed = 0

    def __call__(self, table: Any, numbers: Any) -> None:
        """Queues a call with these addresses and numbers."""
        if not self._capturing:
            self._queue(self._device.stream())
            return
        stream = self._device.stream()
        key = stream, table.tobytes(), numbers.tobytes()
        graph = self._kept.get(key)
        if graph is not None:
            self.replayed += 1
            graph()
            return
        if key in self._kept and self.captured - self.replayed < MOST_WASTED:
            graph = self._captured()
            if graph is not None:
                self._kept[key] = graph
                graph()
                return
        self._kept[key] = None
        self._kept.move_to_end(key)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        self._queue(stream)

    def _captured(self) -> Callable[[], None] | None:
        """A graph of a call; None where it cannot be captured, and then nobody tries again."""
        self.captured += 1
        try:
            return self._device.captured(self._queue)  # type: ignore[no-any-return]
        except RuntimeError:  # CuPy's errors are such
            self._capturing = False
            return None
