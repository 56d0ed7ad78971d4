"""A child: a process that may run the user's code. Started, fed, watched and, if it must be, ended with all it started.

In: a command and what it reads. Out: what it answered and how it ended, whatever happened.
"""

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gradmark.errors import GradmarkError
from gradmark.isolation import home, inside, janitor

# Read by BLAS, OpenMP and the like when they are first imported, so they must be set before a child starts.
THREAD_VARIABLES = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "TORCHINDUCTOR_COMPILE_THREADS",  # else importing it starts a process for each core, which import PyTorch too
]
# Where compilers keep what another process may find: its first call would not show what compiling takes.
CACHES = ("TORCHINDUCTOR_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR")
# JAX takes three quarters of a device's memory when it starts, which leaves too little for engines that are inspected
# at the same time.
MODEST = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
# An answer is some kilobytes; one with the derivatives of a million inputs is some ten megabytes.
MOST_ANSWERED_BYTES = 256 << 20
# Of what a child prints only the end is kept. How often it is cut off, and from which length on.
MOST_SAID_BYTES, LOOK_EVERY_S = 16 << 20, 1.0
SHOWN_BYTES, SHOWN_CHARACTERS = 4096, 200
# Of most file systems.
BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    code: int | None  # a negative one is a signal; None: its time was over
    answer: bytes
    said: bytes = b""  # the end of what it printed

    @property
    def how(self) -> str:
        """In words, after "its process" or "the worker"."""
        if self.code is None:
            return "gave no answer in time"
        if self.code < 0:
            memory = ", most likely for its memory" if signal_name(-self.code) == "SIGKILL" else ""
            return f"was ended by {signal_name(-self.code)}{memory}{last_line(self.said)}"
        return f"ended with exit code {self.code}{last_line(self.said)}"


class Child:
    """A process in a session of its own, with a mark that all it starts has too."""

    def __init__(self, command: list[str], environment: Mapping[str, str], **more: Any) -> None:
        self.mark = home.new_mark()
        try:
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                command, env=home.marked(environment, self.mark), start_new_session=True, **more
            )
        except OSError as error:
            raise GradmarkError(f"{command[0]} cannot be started: {error.strerror}") from error
        home.begun(self.process.pid)
        _running.add(self)

    def ended(self, within_s: float) -> bool:
        """Waits for its end, and says whether it came."""
        if self.process.returncode is None:
            wait_for(self.process.pid, within_s)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.0 if hasattr(os, "pidfd_open") else within_s)
        return self.process.returncode is not None

    def end(self) -> None:
        """Ends it with all that it started, and waits for it. One that ended well has seen to that itself."""
        _running.discard(self)
        if self.process.poll() is None:
            janitor.end_family(self.process.pid)
        else:
            janitor.end_group(self.process.pid)
        home.ended(self.process.pid)
        self.process.wait()
        if self.process.returncode != 0:
            janitor.end(lambda: janitor.marked(self.mark))
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what it did not read any more
                    pipe.close()


# Children at work, from whatever thread they were started.
_running: set[Child] = set()


def end_all() -> None:
    """Ends every child that still runs: their threads get a result and end too."""
    for child in list(_running):
        janitor.end_family(child.process.pid)


def ask(
    command: list[str], request: bytes, *, timeout_s: float, environment: Mapping[str, str], folder: Path | None = None
) -> Ended:
    """Runs a command that reads a request and writes an answer. A crash, a hang or a kill is an end like others."""
    # All in files, not pipes: a pipe stays open as long as anything that the child started.
    temporary = tempfile.TemporaryFile
    with home.room(), temporary() as asked, temporary() as answered, temporary() as said:
        asked.write(request)
        asked.seek(0)
        append(said)
        child = Child(command, environment, stdin=asked, stdout=answered, stderr=said, cwd=folder)
        try:
            in_time = watched(child.ended, timeout_s, said)
        finally:
            child.end()
        ended = Ended(child.process.returncode if in_time else None, beginning(answered), tail(said))
        refuse_full(said)
        return ended


def refuse_full(said: IO[bytes]) -> None:
    """Raises `OSError` if the disk is full: what children then do, and how they end, is not their doing."""
    os.write(said.fileno(), bytes(BLOCK_BYTES))


def environment(threads: int, folder: str) -> dict[str, str]:
    """The variables a child starts with: fixed threads, fixed hashing, a folder for what compilers keep."""
    fixed = dict.fromkeys(THREAD_VARIABLES, str(threads)) | dict.fromkeys(CACHES, folder)
    return {**MODEST, **os.environ, **fixed, inside.FOLDER: folder, "PYTHONHASHSEED": "0"}


def beginning(answered: IO[bytes]) -> bytes:
    """What a child answered; one byte more than it may if it was too much."""
    answered.seek(0)
    return answered.read(MOST_ANSWERED_BYTES + 1)


def tail(said: IO[bytes]) -> bytes:
    """The end of what a child said."""
    said.seek(max(0, said.seek(0, os.SEEK_END) - SHOWN_BYTES))
    return said.read()


def last_line(said: bytes) -> str:
    """The last thing a child said, if anything."""
    lines = said.decode(errors="replace").strip().splitlines()
    return f": {lines[-1][:SHOWN_CHARACTERS]}" if lines else ""


def signal_name(number: int) -> str:
    """`SIGSEGV`, or the number of a signal that has no name."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def watched(ended: Callable[[float], bool], timeout_s: float, said: IO[bytes]) -> bool:
    """Whether a child ended in its time. Meanwhile what it says does not fill the disk.

    ended: waits for so many seconds, and says whether it has.
    """
    deadline = time.monotonic() + timeout_s
    while not ended(max(0.0, min(LOOK_EVERY_S, deadline - time.monotonic()))):
        if time.monotonic() >= deadline:
            return False
        if os.fstat(said.fileno()).st_size > MOST_SAID_BYTES:
            os.ftruncate(said.fileno(), 0)
    return True


def wait_for(pid: int, within_s: float, lifeline: IO[bytes] | None = None) -> None:
    """Sleeps until a child has ended or something comes through the lifeline, and no longer than that.

    What looks again and again would disturb what is timed.
    """
    if not hasattr(os, "pidfd_open"):
        return
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:  # a kernel that has none
        time.sleep(min(within_s, 0.005))
        return
    try:
        waiting = select.poll()
        for each in (descriptor, lifeline):
            if each is not None:
                waiting.register(each, select.POLLIN)
        waiting.poll(1000 * within_s)
    finally:
        os.close(descriptor)


def append(file: IO[bytes]) -> None:
    """Whoever has the file writes at its end, also after it was cut off."""
    with contextlib.suppress(ImportError):  # Windows has none
        import fcntl

        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
