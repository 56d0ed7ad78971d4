"""One worker process: started, fed, watched and, if it must be, ended.

In: a job. Out: its result, whatever happened.
"""

import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gradmark.errors import InstallationError, RevisionError
from gradmark.isolation import child, home
from gradmark.isolation.calling import shortened
from gradmark.isolation.child import Ended, end_all, environment, last_line
from gradmark.measure.job import Job, Result, Stray
from gradmark.measure.origins import Origins
from gradmark.records.decoding import UndecodableError, converted, decoded

__all__ = [
    "Place",
    "cache",
    "count_instructions",
    "end_all",
    "environment",
    "last_line",
    "outcome",
    "refuse_broken",
    "run",
    "too_late",
]
# -P: a random.py in the current folder must not hide Python's own. -c: with -m two more frames would lie below what is
# timed (decision 26).
MODULE = ["-P", "-c", "from gradmark.measure.worker.__main__ import main; main()"]
WORKER = [sys.executable, *MODULE]
# A worker has run the code of strangers: its answer is believed as far as it makes sense.
ANYTHING = msgspec.json.Decoder()


@dataclass(frozen=True)
class Place:
    """Where a worker runs, if not here: another interpreter, another folder, another PYTHONPATH."""

    python: str
    folder: Path
    path: str
    engine: str | None = None  # what runs there in place of the cell's own engine
    origins: Origins | None = None  # of one of two revisions: whose files are whose

    def sent(self, job: Job) -> Job:
        """The job as a worker here gets it: with the engine that runs here, and this revision's workload file."""
        cell = job.cell
        if self.engine is not None:
            cell = msgspec.structs.replace(cell, engine=self.engine)
        if self.origins is not None and cell.file is not None:
            cell = msgspec.structs.replace(cell, file=self.origins.own(cell.file))
        return msgspec.structs.replace(job, cell=cell, origins=self.origins)


def cache() -> "tempfile.TemporaryDirectory[str]":
    """An empty folder for compilers."""
    return home.fresh_folder()


def run(job: Job, command: list[str] | None = None, place: Place | None = None) -> Result:
    """Runs a job in a process of its own. A crash, a hang or a kill is a result with a status.

    Raises `InstallationError` if gradmark lacks a package there, and `RevisionError` if one of two sides loaded what is
    not its own: what it measured is then of no revision.
    """
    job = job if place is None else place.sent(job)
    with cache() as folder:
        ended = child.ask(
            command or ([place.python, *MODULE] if place else WORKER),
            msgspec.json.encode(job),
            timeout_s=job.settings.timeout_s,
            environment=environment(job.settings.threads, folder) | ({"PYTHONPATH": place.path} if place else {}),
            folder=place.folder if place else None,
        )
    if ended.code is None:
        return too_late(job)
    result = outcome(ended)
    refuse_broken(result)
    if result.strays and job.origins is not None:
        raise RevisionError(_mixed(result.strays, job.origins.tree))
    return result


def refuse_broken(result: Result) -> None:
    """Raises if the worker lacked a package of gradmark's own: that is no fault of the engine, and no verdict."""
    if result.broken:
        raise InstallationError(result.broken)


def _mixed(strays: Sequence[Stray], tree: str) -> str:
    """What one of two sides loaded that is not its own, and what to do about it."""
    stray = strays[0]
    way = f", through {stray.through} on sys.path" if stray.through else ""
    more = f" (and {len(strays) - 1} more like it)" if len(strays) > 1 else ""
    loaded = f"{stray.name} was loaded from {stray.file}{way}{more}"
    if stray.instead:
        return (
            f"{loaded}, in place of {stray.instead}: that is not the revision in {tree}, so nothing was compared. "
            "Install the present one again; for the other, `build` in [tool.gradmark] must install {tree}"
        )
    return (
        f"{loaded}, which is not of the revision in {tree}, so nothing was compared. Each side loads its own files. "
        "Look for the absolute path of a repository in sys.path.insert, PYTHONPATH, a .pth file or another variable, "
        "and start from __file__ or the current folder instead"
    )


def too_late(job: Job) -> Result:
    """The result of a worker that gave none in its time."""
    return Result(
        status="timeout",
        message=f"no result after {job.settings.timeout_s:g} s",
    )


def outcome(ended: Ended) -> Result:
    """The result of a worker that ended by itself, or was ended."""
    if ended.code == 0:
        return _read(ended)
    if ended.code == -getattr(signal, "SIGKILL", 9):
        return Result(status="out-of-memory", message="killed by the system (SIGKILL), most likely for its memory")
    return Result(status="crash", message=f"the worker {ended.how}")


def _read(ended: Ended) -> Result:
    if len(ended.answer) > child.MOST_ANSWERED_BYTES:
        most = child.MOST_ANSWERED_BYTES >> 20
        return Result(status="crash", message=f"the worker's result has more than {most} MiB, so it was not read")
    try:
        return converted(_bounded(decoded(ANYTHING, ended.answer)), Result)
    except UndecodableError as error:
        why = str(error) if ended.answer else "exit code 0; does something call os._exit?"
        return Result(status="crash", message=f"the worker ended without a result ({why}){last_line(ended.said)}")


def _bounded(plain: Any) -> Any:
    """The same without endless texts: messages, warnings and reasons come from engines and functions."""
    if isinstance(plain, str):
        return shortened(plain)
    if isinstance(plain, dict):
        return {_bounded(key): _bounded(value) for key, value in plain.items()}
    if isinstance(plain, list) and plain and not isinstance(plain[0], int | float):
        return [_bounded(value) for value in plain]
    return plain


def count_instructions(job: Job, place: Place | None = None) -> float | str:
    """Machine instructions of a worker run under callgrind; a string that says why there are none."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return "valgrind is not installed"
    with cache() as folder:
        out, log = Path(folder) / "out", Path(folder) / "log"
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}", f"--log-file={log}"]
        result = run(job, [*command, place.python if place else sys.executable, *MODULE], place)
        if result.status != "ok":
            return f"under callgrind: {result.status}: {result.message}"
        for line in log.read_text(errors="replace").splitlines():
            if "Collected :" in line:
                return float(line.split("Collected :")[1])
    return "callgrind printed no count"
