"""Inside: what a process that runs the user's code does before it does, and when it has done.

Every worker imports this, so what only few need is imported there.
"""

import contextlib
import math
import os
import sys
import time
from typing import BinaryIO

# The variable with a folder for this process: what it writes there is removed, also if it is killed.
FOLDER = "GRADMARK_FOLDER"
# Of Linux's prctl: a signal for when the parent ends, and orphans of one's descendants come back.
PR_SET_PDEATHSIG, SIGKILL, PR_SET_CHILD_SUBREAPER = 1, 9, 36
# No huge pages for this process, and for what it starts.
PR_SET_THP_DISABLE = 41


# Of its time, what a process leaves itself to say that something it waited for did not come.
SHARE_TO_SAY, MOST_TO_SAY_S = 0.2, 2.0

_ends_s = math.inf  # when this process is ended, on the clock of `time.monotonic`


def begin_time(limit_s: float) -> None:
    """From now on this process has so long."""
    global _ends_s
    _ends_s = time.monotonic() + limit_s - min(SHARE_TO_SAY * limit_s, MOST_TO_SAY_S)


def time_left_s() -> float:
    """How long something may be waited for: afterwards there is still time to say that it did not come."""
    return max(0.0, _ends_s - time.monotonic())


def private_streams() -> tuple[BinaryIO, BinaryIO]:
    """What comes in and what goes out, for us alone.

    Whoever else reads standard input finds its end. What is printed goes to standard error: it cannot be taken for an
    answer.
    """
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def end_with_parent() -> None:
    """The system ends this process when the one that forked it is gone."""
    _prctl(PR_SET_PDEATHSIG, SIGKILL)


def adopt_orphans() -> None:
    """What this process starts stays below it, also if it begins a session of its own: it can be found and ended."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def refuse_huge_pages() -> None:
    """Every page of memory that this process gets from now on is a small one. Whether there is a huge one for it would
    depend on what others left free, and an array's time on where the huge ones happen to lie (decision 18)."""
    _prctl(PR_SET_THP_DISABLE, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def limit_memory(most_bytes: int) -> None:
    """No more than so much, where the platform can; elsewhere only the time is limited."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
    except (ImportError, ValueError, OSError):
        pass


def end_descendants(spared: frozenset[int] = frozenset()) -> None:
    """Ends all that this process started, whatever session it is in. Costs one call if there is nothing."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (ChildProcessError, AttributeError):  # no children; macOS has no such call
        return
    from gradmark.isolation import janitor

    janitor.end(lambda: janitor.below(os.getpid()) - spared)


def leave(answers: BinaryIO, answer: bytes) -> None:
    """Gives the answer and ends, at once: a thread or an exit handler must not turn an answer into a hang."""
    answers.write(answer)
    answers.close()
    with contextlib.suppress(Exception):  # the user's code may have put anything there
        sys.stdout.flush()
    end_descendants()
    os._exit(0)
