"""Hosting: a Dask worker that is fit to measure on, for as long as its machine belongs to the fleet.

In: the scheduler's address. Out: nothing; it works until it is ended. When the scheduler goes away it waits for the
next.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from typing import Any

from gradmark.errors import FleetError
from gradmark.fleet.carrying import HOST
from gradmark.measure import environment

# Of which a machine has one. Tasks that want it are done one at a time, also if others use the same cluster.
RESOURCE = "gradmark"
# Everything that a worker does beside its task would be measured with it: nothing is moved, spilled, watched or drawn.
QUIET = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.tick.limit": "60s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
}
HEARTBEAT = "5s"
# How often it looks whether it is still connected, and how long it waits before it tries again: at first, at most.
LOOK_S, FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 1.0, 30.0


def serve(address: str, say: Callable[[str], None], *, despite: bool = False, once: bool = False) -> None:
    """Works for the scheduler until this process is ended. once: does not wait for another one when it goes away."""
    dask, _ = imported()
    HOST.despite = despite
    here = environment.collect()
    with dask.config.set(QUIET):
        asyncio.run(_serve(address, here.instance, say, once))


def imported() -> tuple[Any, Any]:
    """Dask and distributed, which only a fleet needs."""
    try:
        import dask
        import distributed
    except ImportError as error:
        raise FleetError(
            f"a fleet needs Dask, which is not installed ({error}): pip install 'gradmark[fleet]'"
        ) from None
    for name in list(logging.root.manager.loggerDict):  # what matters is said in our words
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return dask, distributed


async def _serve(address: str, instance: str, say: Callable[[str], None], once: bool) -> None:
    wait_s = FIRST_WAIT_S
    first = True
    while True:
        connected = await _until_cut_off(address, instance, say)
        if once:
            return
        if not connected and first:
            say(f"no scheduler answers at {address} yet; this worker goes on trying")
        elif connected:
            say(f"the scheduler at {address} is gone; this worker waits for it")
            wait_s = FIRST_WAIT_S
        first = False
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)


async def _until_cut_off(address: str, instance: str, say: Callable[[str], None]) -> bool:
    """Whether there was a connection, after it has ended."""
    from distributed import Worker
    from distributed.core import Status

    HOST.stopped.clear()
    try:
        worker = await Worker(
            address,
            name=f"{instance}-{os.getpid()}",
            nthreads=1,
            memory_limit=0,
            resources={RESOURCE: 1},
            dashboard=False,
            heartbeat_interval=HEARTBEAT,
            death_timeout=10,
        )
    except (OSError, TimeoutError, ValueError) as error:
        if isinstance(error, ValueError):
            raise FleetError(
                f"{address!r} is not the address of a scheduler, such as tcp://host:8786: {error}"
            ) from error
        return False
    say(f"worker for {address}, as machine {instance}")
    try:
        while worker.status in (Status.running, Status.paused, Status.init):
            await asyncio.sleep(LOOK_S)
    finally:
        HOST.stop()  # else it would go on with what nobody hears
        with contextlib.suppress(Exception):
            await asyncio.wait_for(worker.close(timeout=2, executor_wait=False), 10)
    return True
