"""Waiting: for how long this thread could have run while others had its core.

In: nothing. Out: nanoseconds, as the kernel counted them. Pilots are too short to see that: somebody who takes the core
for 8 ms of every 100 makes one block in many eight times as long, and no pilot.
"""

import os
import threading
import time
import weakref


class Waiting:
    """What one thread waited for its core since it was last asked; always 0 where the kernel does not say it."""

    def __init__(self) -> None:
        try:
            self._file = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # not Linux, or a kernel without these counts
            self._file = -1
        else:
            weakref.finalize(self, os.close, self._file)
        self._waited_ns, self._others_ns = self._read()

    def since_last(self) -> float:
        """Nanoseconds. What other threads of this process had of the core meanwhile is the engine's own doing."""
        waited_ns, others_ns = self._read()
        taken_ns = (waited_ns - self._waited_ns) - (others_ns - self._others_ns)
        self._waited_ns, self._others_ns = waited_ns, others_ns
        return float(max(0, taken_ns))

    def _read(self) -> tuple[int, int]:
        """What it waited, and what other threads of the process computed, since both began."""
        if self._file < 0:
            return 0, 0
        waited_ns = int(os.pread(self._file, 80, 0).split()[1])
        return waited_ns, time.process_time_ns() - time.thread_time_ns()
