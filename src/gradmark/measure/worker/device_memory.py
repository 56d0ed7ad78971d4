"""The memory of a device, which memray does not see: from the counters of the engine that uses it.

In: a session's counters and its calls. Out: a `Memory` record, as of the host.
"""

from collections.abc import Callable
from typing import Any

from gradmark.engines.protocol import DeviceMemory
from gradmark.records import Memory

# Enough to see one allocation in each iteration, and caches that grow once told apart from leaks.
COUNT = 20

Call = Callable[[], Any]


def measure(
    counters: DeviceMemory, make: Callable[[], tuple[Call, ...]], record: Callable[[], tuple[Call, ...]], wait: Call
) -> Memory:
    """make prepares a session and gives the calls of an iteration, record those of a forward alone."""

    def run(calls: tuple[Call, ...], times: int) -> None:
        for _ in range(times):
            for call in calls:
                call()
        wait()

    run(make(), 2)  # what is fetched once, such as a library's workspace, is not the function's
    before = counters.alive_bytes()
    counters.reset_peak()
    calls = make()
    run(calls, 1)
    peak = counters.peak_bytes() - before
    del calls
    before = counters.alive_bytes()
    calls = record()
    run(calls, 1)
    retained = counters.alive_bytes() - before
    del calls
    calls = make()
    run(calls, COUNT)
    allocations, alive = [], []
    for _ in range(3):
        run(calls, COUNT)
        allocations.append(counters.allocations())
        alive.append(counters.alive_bytes())
    leaked = min(alive[1] - alive[0], alive[2] - alive[1])
    return Memory(
        allocations=(allocations[2] - allocations[1]) / COUNT,
        gross_allocations=(allocations[2] - allocations[1]) / COUNT,
        plain_allocations=0.0,
        leaked_bytes=max(0.0, leaked / COUNT),
        retained_bytes=retained,
        peak_bytes=peak,
        of_device=True,
    )
