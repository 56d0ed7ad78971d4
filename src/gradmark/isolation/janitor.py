"""The janitor: a process that outlives whoever started it by a moment, ends what that one left, and removes its folder.

In: a mark; on standard input, process groups that begin (`+123`) and end (`-123`). The end of the input is the end of
the process that started it, whatever ended that one. Out: the name of the folder.

It is started with nothing but Python's own library, so that it is there at once. What finds processes stands here too.
"""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection

# How long ended processes may take to be gone: one with much memory takes a moment.
PATIENCE_S = 2.0
LOOK_EVERY_S = 0.005


def running() -> dict[int, int]:
    """Every process with its parent, where the system shows them (Linux); not the remains of those that ended."""
    parents = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state not in (b"Z", b"X"):
                parents[int(name)] = int(parent)
    return parents


def marked(mark: str) -> set[int]:
    """The processes that were started with this text in their environment, or by one that was; but for this one."""
    pids = set()
    for pid in running():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if mark.encode() in file.read():
                pids.add(pid)
    return pids - {os.getpid()}


def below(root: int) -> set[int]:
    """The children of a process, and theirs. All of them, if orphans come back to it (`inside.adopt_orphans`)."""
    parents = running()
    family, size = {root}, 0
    while len(family) > size:
        size = len(family)
        family |= {pid for pid, parent in parents.items() if parent in family}
    return family - {root}


def end(find: Callable[[], Collection[int]]) -> None:
    """Ends processes until none is found, twice: while one gets another parent, a look can miss it."""
    deadline, none = time.monotonic() + PATIENCE_S, 0
    while none < 2 and time.monotonic() < deadline:
        pids = find()
        none = 0 if pids else none + 1
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        time.sleep(LOOK_EVERY_S)


def end_group(leader: int) -> None:
    """Ends a process with its group; on Windows, which has none, the process alone."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(leader, signal.SIGKILL)
        else:
            os.kill(leader, signal.SIGTERM)


def end_family(leader: int) -> None:
    """Ends a process that is still there, all below it, and its group. It is stopped first, so that it starts no more.

    Were it ended first, its orphans would be nobody's.
    """
    if hasattr(signal, "SIGSTOP"):
        with contextlib.suppress(OSError):
            os.kill(leader, signal.SIGSTOP)
        end(lambda: below(leader))
    end_group(leader)


def main(mark: str) -> None:
    """Waits, and cleans up."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # it ends after the one that it serves
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    folder = tempfile.mkdtemp(prefix="gradmark-")
    with contextlib.suppress(OSError):  # nobody may be left to hear it
        os.write(1, os.fsencode(folder) + b"\n")
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        number = int(line[1:])
        groups = groups | {number} if line.startswith(b"+") else groups - {number}
    for leader in groups:
        end_family(leader)
    end(lambda: marked(mark))
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
