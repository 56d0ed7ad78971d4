"""The home of all that this process starts: one folder, and marks by which those processes are found again.

A janitor removes the folder and ends those processes when this process is over, also if it was killed.
"""

import atexit
import contextlib
import itertools
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping

from gradmark.errors import GradmarkError
from gradmark.isolation import janitor

# The variable that marks a process and all that it starts. It grows: what is started by something marked has both.
MARKS = "GRADMARK_MARKS"
# How long the janitor may take to clean up when all is over.
PATIENCE_S = 5.0


class Home:
    """The folder and the janitor of this process."""

    def __init__(self) -> None:
        self.owner = os.getpid()  # a fork of it has a home of its own
        self.token = secrets.token_hex(16)
        self.numbers = itertools.count(1)
        # Neither the user's modules nor site: it must start at once, and run nobody's code.
        self.janitor = subprocess.Popen(
            [sys.executable, "-I", "-S", janitor.__file__, self.token],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is not for it
        )
        assert self.janitor.stdout is not None
        with self.janitor.stdout as pipe:
            self.folder = os.fsdecode(pipe.readline().rstrip(b"\n"))
        if not self.folder:
            raise GradmarkError(
                f"no folder can be created in {tempfile.gettempdir()}; set TMPDIR to a folder with room"
            )
        atexit.register(self.close)

    def tell(self, line: str) -> None:
        """A line for the janitor."""
        assert self.janitor.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # somebody ended it: then nobody cleans up after a kill
            self.janitor.stdin.write(line.encode())
            self.janitor.stdin.flush()

    def close(self) -> None:
        """All is over: the janitor cleans up."""
        if self.owner != os.getpid() or self.janitor.stdin is None:
            return
        with contextlib.suppress(OSError):
            self.janitor.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.janitor.wait(PATIENCE_S)


_lock = threading.Lock()
_homes: list[Home] = []


def _home() -> Home:
    """The home of this process, made when something is first started."""
    with _lock:
        if not _homes or _homes[-1].owner != os.getpid():
            _homes.append(Home())
        return _homes[-1]


@contextlib.contextmanager
def room() -> Iterator[None]:
    """Says what to do where temporary files cannot be written. That is no result of what was to be measured."""
    try:
        yield
    except OSError as error:
        raise GradmarkError(
            f"temporary files cannot be written to {tempfile.gettempdir()}: {error.strerror}; make room, or set TMPDIR "
            "to another folder"
        ) from error


def fresh_folder() -> "tempfile.TemporaryDirectory[str]":
    """An empty folder that does not outlive this process; something that still writes into it is no reason to fail."""
    folder = _home().folder
    with room():
        return tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True)


def new_mark() -> str:
    """A mark that no other process has."""
    home = _home()
    return f"{home.token}.{next(home.numbers)};"


def marked(environment: Mapping[str, str], mark: str = "") -> dict[str, str]:
    """The variables of a process that ends with this one at the latest."""
    return {**environment, MARKS: environment.get(MARKS, "") + (mark or new_mark())}


def begun(leader: int) -> None:
    """A process group was started."""
    _home().tell(f"+{leader}\n")


def ended(leader: int) -> None:
    """A process group is about to be ended and waited for."""
    _home().tell(f"-{leader}\n")
