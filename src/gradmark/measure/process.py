"""One worker process: started, fed, watched and, if it must be, ended.

In: a job. Out: its result, whatever happened.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from gradmark.measure.job import Job, Result

# Read by BLAS, OpenMP and the like when they are first imported, so they must be set before the worker starts.
THREAD_VARIABLES = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
]
# Where compilers keep what another process may find: its first call would not show what compiling takes.
CACHES = ("TORCHINDUCTOR_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR")
# JAX takes three quarters of a device's memory when it starts, which leaves too little for engines that are inspected
# at the same time.
MODEST = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
# -P: a random.py in the current folder must not hide Python's own
MODULE = ["-P", "-m", "gradmark.measure.worker"]
WORKER = [sys.executable, *MODULE]
# Workers at work, from whatever thread they were started.
_running: "set[subprocess.Popen[bytes]]" = set()


@dataclass(frozen=True)
class Place:
    """Where a worker runs, if not here: another interpreter, another folder, another PYTHONPATH."""

    python: str
    folder: Path
    path: str
    engine: str | None = None  # what runs there in place of the cell's own engine


def environment(threads: int, cache: str) -> dict[str, str]:
    """The variables a worker starts with: fixed threads, fixed hashing, a folder for what compilers keep."""
    fixed = dict.fromkeys(THREAD_VARIABLES, str(threads)) | dict.fromkeys(CACHES, cache)
    return {**MODEST, **os.environ, **fixed, "PYTHONHASHSEED": "0"}


def cache() -> "tempfile.TemporaryDirectory[str]":
    """An empty folder for compilers; one that still writes into it when it goes is no reason to fail."""
    return tempfile.TemporaryDirectory(prefix="gradmark-", ignore_cleanup_errors=True)


def run(job: Job, command: list[str] | None = None, place: Place | None = None) -> Result:
    """Runs a job in a process of its own. A crash, a hang or a kill is a result with a status."""
    # What it says goes to a file, not a pipe: a pipe stays open as long as anything that the worker started.
    with tempfile.TemporaryFile() as errors, cache() as folder:
        process = subprocess.Popen(
            command or ([place.python, *MODULE] if place else WORKER),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(job.settings.threads, folder) | ({"PYTHONPATH": place.path} if place else {}),
            cwd=place.folder if place else None,
            start_new_session=True,  # so that it can be ended with whatever it started
        )
        _running.add(process)
        try:
            answer, _ = process.communicate(msgspec.json.encode(job), timeout=job.settings.timeout_s)
        except subprocess.TimeoutExpired:
            return too_late(job)
        finally:
            end(process)
        return outcome(process.returncode, answer, tail(errors))


def too_late(job: Job) -> Result:
    """The result of a worker that gave none in its time."""
    return Result(
        status="timeout",
        message=f"no result after {job.settings.timeout_s:g} s",
    )


def outcome(returncode: int, answer: bytes, said: bytes) -> Result:
    """The result of a worker that ended by itself, or was ended."""
    if returncode == 0:
        try:
            return msgspec.json.decode(answer, type=Result)
        except msgspec.MsgspecError as error:
            return Result(status="crash", message=f"the worker ended without a result ({error}){last_line(said)}")
    if returncode < 0:
        return _killed(-returncode, said)
    return Result(status="crash", message=f"the worker ended with exit code {returncode}{last_line(said)}")


def tail(errors: IO[bytes]) -> bytes:
    """The end of what a worker said."""
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4096))
    return errors.read()


def end_all() -> None:
    """Ends every worker that still runs: their threads get a result and end too."""
    for process in list(_running):
        _kill(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a worker and all that it started, and waits for it."""
    _running.discard(process)
    _kill(process)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):  # what it did not read any more
                pipe.close()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()


def _killed(number: int, said: bytes) -> Result:
    name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
    if number == getattr(signal, "SIGKILL", 9):
        return Result(status="out-of-memory", message="killed by the system (SIGKILL), most likely for its memory")
    return Result(status="crash", message=f"the worker was ended by {name}{last_line(said)}")


def last_line(said: bytes) -> str:
    """The last thing the worker said, if anything."""
    lines = said.decode(errors="replace").strip().splitlines()
    return f": {lines[-1][:200]}" if lines else ""


def count_instructions(job: Job, place: Place | None = None) -> float | str:
    """Machine instructions of a worker run under callgrind; a string that says why there are none."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return "valgrind is not installed"
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder) / "out", Path(folder) / "log"
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}", f"--log-file={log}"]
        result = run(job, [*command, place.python if place else sys.executable, *MODULE], place)
        if result.status != "ok":
            return f"under callgrind: {result.status}: {result.message}"
        for line in log.read_text(errors="replace").splitlines():
            if "Collected :" in line:
                return float(line.split("Collected :")[1])
    return "callgrind printed no count"
