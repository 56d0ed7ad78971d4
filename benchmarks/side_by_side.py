"""Work of a script split over processes that run at the same time, each on cores of its own.

In: how many at once. Out: the cores of each. gradmark pins its workers to the last core that it has: without cores of
their own all would share one.
"""

import os
import subprocess
import sys
from collections.abc import Sequence

CORES_EACH = 2


def cores_of(jobs: int) -> list[list[int]]:
    """The cores of each job; fewer jobs than asked for where there are not two cores for each."""
    every = sorted(os.sched_getaffinity(0))
    jobs = min(jobs, max(1, len(every) // CORES_EACH))
    return [every] if jobs == 1 else [every[CORES_EACH * k : CORES_EACH * (k + 1)] for k in range(jobs)]


def shares(total: int, jobs: int) -> list[int]:
    """So much for each job.

    >>> shares(200, 3)
    [67, 67, 66]
    """
    return [total // jobs + (k < total % jobs) for k in range(jobs)]


def run(script: str, arguments: Sequence[Sequence[str]], cores: Sequence[Sequence[int]]) -> list[int]:
    """Calls a script once for each list of arguments, all at the same time, on these cores; the exit codes."""
    started = []
    for words, own in zip(arguments, cores, strict=True):
        os.sched_setaffinity(0, own)  # what is started has the cores of this process
        started.append(subprocess.Popen([sys.executable, script, *words], stdin=subprocess.DEVNULL))
    os.sched_setaffinity(0, [core for own in cores for core in own])
    return [process.wait() for process in started]
