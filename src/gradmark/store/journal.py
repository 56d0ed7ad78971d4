"""The journal: a run file that grows by one line for each thing that happens, and its reading.

In: a begun run, then events. Out: `ID.jsonl`, and the run again, whatever moment the writer was killed at.

The first line is a small header, the second the planned cells, and each further one an event with a tally of the run so
far, so that a list of runs reads only the two ends of a file. Adding an event costs its line, whatever the run's size.
"""

import contextlib
import os
import time
from pathlib import Path
from typing import TypeVar

import msgspec

from gradmark.errors import StoreError
from gradmark.records import FORMAT_VERSION, Cell, Environment, Record, Run, Settings
from gradmark.records.decoding import UndecodableError, decoded, encoded
from gradmark.records.event import (
    Calibrated,
    Done,
    Event,
    Finished,
    GrowingRun,
    Inspected,
    Joined,
    Sampled,
    Stopped,
)
from gradmark.records.quantities import Moment, PilotNs, Version, Whole
from gradmark.store import document, reading, seal
from gradmark.store.writing import replace, write_all

EXTENSION = ".jsonl"
# With what the first line of a journal begins, and no document does.
BEGINNING = b'{"format_version":'
# Each line goes to the system at once, so that a killed process loses nothing. Waiting for the disk protects from a
# power failure only, and would disturb what is timed next: no more than a few seconds are at stake.
SYNC_EVERY_S = 5.0
# `gradmark list` looks whether a file is in use, which holds it for a moment.
TRIES = 4


class Header(Record, frozen=True, kw_only=True):
    """The first line: what a list of runs shows without reading on."""

    format_version: Version
    id: str
    started: Moment
    verb: str
    environment: Environment
    settings: Settings
    cells: Whole  # how many are planned
    arguments: list[str] = []
    engines: list[str] = []
    workloads: list[str] = []
    clock_ns: PilotNs | None = None
    sources: dict[str, str] = {}


class Planned(Record, frozen=True, kw_only=True):
    """The second line."""

    planned: list[Cell]
    seal: str = ""  # of the first line and the cells; none in older files


class Tally(Record, frozen=True, array_like=True):
    """How far a run is."""

    inspected: Whole = 0  # cells that were looked at, or known beforehand
    ok: Whole = 0  # of these, those that work
    samples: Whole = 0


class Line(Record, frozen=True, kw_only=True):
    """Every further line."""

    event: Event
    tally: Tally


Packed = TypeVar("Packed", Header, Planned, Line)
_HEADER, _PLANNED = msgspec.json.Decoder(Header), msgspec.json.Decoder(Planned)
_LINE = msgspec.json.Decoder(Line)


class _Progress:
    """Counts events into tallies."""

    def __init__(self, run: Run) -> None:
        self._statuses: dict[str, str] = {}
        self._ok = self._samples = 0
        for measurement in run.measurements:
            self.add(Inspected(measurement=measurement))

    def add(self, event: Event) -> Tally:
        """The tally after an event."""
        match event:
            case Inspected(measurement=measurement):
                self._set(measurement.cell.id, measurement.status)
                self._samples += len(measurement.samples)
            case Stopped(cell=cell, status=status):
                self._set(cell, status)
            case Sampled():
                self._samples += 1
        return Tally(len(self._statuses), self._ok, self._samples)

    def _set(self, cell: str, status: str) -> None:
        self._ok += (status == "ok") - (self._statuses.get(cell) == "ok")
        self._statuses[cell] = status


class Journal:
    """A run file that is being written: call it with each event.

    A full disk raises StoreError, and leaves the file as it was before the event.
    """

    def __init__(self, path: Path, run: Run, descriptor: int, length: int) -> None:
        self.path = path
        self.run = run  # as it was when the file was opened
        self._descriptor = descriptor
        self._length = length  # bytes of whole lines
        self._progress = _Progress(run)
        self._synced_s = time.monotonic()

    @classmethod
    def begin(cls, run: Run, folder: Path) -> "Journal":
        """The file of a new run. What the run already has is in it from the start."""
        return cls._begin(run, path_of(run, folder))

    @classmethod
    def _begin(cls, run: Run, path: Path) -> "Journal":
        if path.exists():
            raise StoreError(f"{path} exists already; go on with it by `gradmark {run.verb} --resume {path}`")
        replace(path, lines(run))  # whole or not at all: no file lacks its header
        return cls.resume(path)

    @classmethod
    def resume(cls, path: Path) -> "Journal":
        """Goes on with a run file; `run` is what it has so far. A line that a crash cut short is dropped.

        A file of an older format stays as it is: its run goes on in a new file beside it.
        """
        if path.suffix != EXTENSION and (continued := path.with_suffix(EXTENSION)).exists():
            path = continued
        data = contents(path)
        if not is_journal(data):
            return cls._begin(document.read(data, path), path.with_suffix(EXTENSION))
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}; it was not changed") from error
        try:
            _lock(descriptor, path)
            data = contents(path)  # again: nobody else writes from now on
            run, length = read(data, path)
            os.ftruncate(descriptor, length)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, run, descriptor, length)

    def __call__(self, event: Event) -> None:
        """Writes one event."""
        line = _packed(Line(event=event, tally=self._progress.add(event)), _LINE)
        try:
            write_all(self._descriptor, line)
            now_s = time.monotonic()
            if now_s - self._synced_s > SYNC_EVERY_S:
                os.fsync(self._descriptor)
                self._synced_s = now_s
        except OSError as error:
            with contextlib.suppress(OSError):  # half a line would be in the way of the next
                os.ftruncate(self._descriptor, self._length)
            raise self._refused(error) from error
        self._length += len(line)

    def close(self) -> None:
        """Waits until everything is on the disk. Closing twice does nothing."""
        if self._descriptor < 0:
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise self._refused(error) from error
        finally:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refused(self, error: OSError) -> StoreError:
        return StoreError(
            f"{self.path} cannot be written: {error.strerror}; what was measured before is in it; make room, then go "
            f"on with: gradmark {self.run.verb} --resume {self.path}"
        )


def _lock(descriptor: int, path: Path) -> None:
    """Two writers of one file would both be right and the file wrong. The system drops the lock when a process dies."""
    for _ in range(TRIES):
        if not in_use(descriptor, exclusively=True):
            return
        time.sleep(0.05)
    raise StoreError(f"{path} is in use: another gradmark is measuring this run; wait until it ends, or stop it")


def in_use(descriptor: int, *, exclusively: bool = False) -> bool:
    """Whether another process writes this file; if not, it is locked until it is closed. Not everywhere known."""
    try:
        import fcntl
    except ImportError:  # Windows has none
        return False
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusively else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # some network folders have no locks
        return False
    return False


def path_of(run: Run, folder: Path) -> Path:
    """Where a run is kept."""
    return folder / f"{run.id}{EXTENSION}"


def contents(path: Path) -> bytes:
    """The bytes of a run file."""
    try:
        return reading.contents(path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read: {error.strerror}; `gradmark list runs` shows what there is"
        ) from error


def header(run: Run) -> Header:
    """The first line of a run's file."""
    return Header(
        format_version=FORMAT_VERSION,
        id=run.id,
        started=run.started,
        verb=run.verb,
        arguments=run.arguments,
        environment=run.environment,
        settings=run.settings,
        cells=len(run.planned),
        engines=list(dict.fromkeys(cell.engine for cell in run.planned)),
        workloads=list(dict.fromkeys(cell.workload for cell in run.planned)),
        clock_ns=run.clock_ns,
        sources=run.sources,
    )


def lines(run: Run) -> bytes:
    """A whole run as the lines of a file."""
    progress = _Progress(msgspec.structs.replace(run, measurements=[]))
    events: list[Event] = [
        Joined(environment=machine, clock_ns=run.clocks_ns.get(machine.instance)) for machine in run.machines
    ]
    for measurement in run.measurements:
        events.append(Inspected(measurement=msgspec.structs.replace(measurement, samples=[])))
        events += [Sampled(cell=measurement.cell.id, sample=sample) for sample in measurement.samples]
    events += [Calibrated(calibration=calibration) for calibration in run.calibrations]
    if run.done:
        events.append(Done(cells=run.done))
    if run.finished:
        events.append(Finished())
    first = _packed(header(run), _HEADER)
    planned = Planned(planned=run.planned)
    _packed(planned, _PLANNED)  # what cannot be kept cannot be sealed
    planned = msgspec.structs.replace(planned, seal=seal.seal(_sealed(first, run.planned)))
    after = b"".join(_packed(Line(event=event, tally=progress.add(event)), _LINE) for event in events)
    return first + _packed(planned, _PLANNED) + after


def _sealed(first: bytes, planned: list[Cell]) -> bytes:
    """What a seal covers: all that says what is run, and how."""
    return first.rstrip(b"\n") + b"\n" + msgspec.json.encode(planned)


def begun_here(path: Path) -> bool:
    """Whether a run was begun by this user on this machine, so that going on with it runs nothing of a stranger's."""
    first, _, rest = contents(path).partition(b"\n")
    try:
        second = decoded(_PLANNED, rest.partition(b"\n")[0])
    except UndecodableError:  # a document has no seal
        return False
    return seal.holds(_sealed(first, second.planned), second.seal)


def _packed(record: Packed, reader: "msgspec.json.Decoder[Packed]") -> bytes:
    """A line, as its reader reads it again."""
    try:
        return encoded(record, reader) + b"\n"
    except UndecodableError as error:
        raise StoreError(f"a run file cannot hold this, because it could not be read back: {error}") from error


def is_journal(data: bytes) -> bool:
    """Whether a run file is made of lines, as against one document. One whose first line is damaged is, too."""
    first, _, rest = data.partition(b"\n")
    if not data.startswith(BEGINNING):
        return False
    return bool(rest) or _is_header(first)


def _is_header(line: bytes) -> bool:
    try:
        decoded(_HEADER, line)
    except UndecodableError:
        return False
    return True


def read(data: bytes, path: Path) -> tuple[Run, int]:
    """The run that the lines add up to, and how many bytes are whole lines. A last line that was cut short is dropped.

    A damaged line before the last is an error that names it.
    """
    parts = [part + b"\n" for part in data.split(b"\n")[:-1]]
    if len(parts) < 2:
        raise _damaged(path, len(parts) + 1, "the line is cut short")
    begun = _begun(parts, path)
    growing = GrowingRun(begun)
    for number, part in enumerate(parts[2:], start=3):
        try:
            growing.add(decoded(_LINE, part).event)
        except (UndecodableError, KeyError) as error:
            if number == len(parts) and isinstance(error, UndecodableError):
                return growing.run, sum(map(len, parts[:-1]))
            reason = f"cell {error} was not inspected before" if isinstance(error, KeyError) else str(error)
            raise _damaged(path, number, reason) from error
    return growing.run, sum(map(len, parts))


def _begun(parts: list[bytes], path: Path) -> Run:
    """The run as its first two lines have it."""
    first = header_of(parts[0], path)
    planned = planned_of(parts[1], path)
    return Run(
        id=first.id,
        started=first.started,
        verb=first.verb,
        arguments=first.arguments,
        environment=first.environment,
        settings=first.settings,
        planned=planned,
        measurements=[],
        clock_ns=first.clock_ns,
        sources=first.sources,
        format_version=first.format_version,
    )


def header_of(line: bytes, path: Path) -> Header:
    """The header in the first line of a file that is a journal."""
    try:
        first = decoded(_HEADER, line)
    except UndecodableError as error:
        raise _damaged(path, 1, str(error)) from error
    document.refuse_newer(first.format_version, path)
    return first


def planned_of(line: bytes, path: Path) -> list[Cell]:
    """The cells in the second line of a file that is a journal."""
    if not line.endswith(b"\n"):
        raise _damaged(path, 2, "the line is cut short")
    try:
        return decoded(_PLANNED, line).planned
    except UndecodableError as error:
        raise _damaged(path, 2, str(error)) from error


def _damaged(path: Path, line: int, reason: str) -> StoreError:
    return StoreError(
        f"{path} is damaged in line {line}: {reason}; the file was not changed: repair the line, or move the file away"
    )
