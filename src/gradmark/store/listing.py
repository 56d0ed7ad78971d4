"""The list of kept runs, read from the two ends of each file: a thousand runs take less than a second.

In: a folder. Out: for each file what was run and how far it got; of one that cannot be read, why.
"""

import os
from pathlib import Path
from typing import BinaryIO

import msgspec

from gradmark.errors import StoreError
from gradmark.records import Record, Settings
from gradmark.records.decoding import UndecodableError, decoded
from gradmark.records.quantities import Moment, Version
from gradmark.store import document, journal, reading

# Formats 1 and 2 were single documents; what `--json FILE` writes still is.
EXTENSIONS = (".json", journal.EXTENSION)
# Longer than nearly every header or last line; where one is longer, more is read.
END_BYTES = 8192


class Listed(Record, frozen=True, kw_only=True):
    """One run file, as a list shows it."""

    path: str
    id: str
    started: str = ""
    verb: str = ""
    arguments: list[str] = []
    engines: list[str] = []
    workloads: list[str] = []
    cells: int = 0
    processes: int = 0
    inspected: int = 0
    ok: int = 0
    samples: int = 0
    finished: bool = False
    running: bool = False  # somebody is writing it
    problem: str = ""  # why it cannot be read

    @property
    def share(self) -> float:
        """How much of its inspections and samples a run has; cells that were not inspected yet may all work."""
        wanted = self.cells + (self.ok + self.cells - self.inspected) * self.processes
        return min(1.0, (self.inspected + self.samples) / wanted) if wanted else 0.0


class _Tagged(msgspec.Struct):
    type: str


class _LastLine(msgspec.Struct):
    event: _Tagged
    tally: journal.Tally


class _Cell(msgspec.Struct):
    engine: str
    workload: str


class _Measurement(msgspec.Struct):
    cell: _Cell
    status: str
    samples: list[msgspec.Raw] = []


class _Document(msgspec.Struct):
    """What a list needs of a run that is one document; the rest is passed over, not built."""

    id: str
    started: Moment
    settings: Settings
    measurements: list[_Measurement]
    planned: list[_Cell] = []
    verb: str = "run"
    arguments: list[str] = []
    finished: bool = False
    format_version: Version = 1


_LAST_LINE, _DOCUMENT = msgspec.json.Decoder(_LastLine), msgspec.json.Decoder(_Document)


def files(folder: Path) -> list[Path]:
    """The run files of a folder, oldest first. Where a run was continued in a newer format, only that file."""
    newest = {path.stem: path for extension in EXTENSIONS for path in folder.glob(f"*{extension}")}
    return sorted(newest.values(), key=_age)


def _age(path: Path) -> tuple[str, int, str]:
    """An id begins with its second; of two runs in one second the one that was written later is newer."""
    try:
        written_ns = path.stat().st_mtime_ns
    except OSError:
        written_ns = 0
    return path.stem.partition("-")[0], written_ns, path.stem


def headers(folder: Path) -> list[Listed]:
    """Every run file of a folder, oldest first; at the end those that cannot be read."""
    return sorted(map(listed, files(folder)), key=lambda run: (bool(run.problem), run.started))


def listed(path: Path) -> Listed:
    """One run file; if it cannot be read, the problem."""
    try:
        reading.refuse_special(path)
        with open(path, "rb") as file:
            first = _first_line(file)
            file.seek(len(first or b""))
            second = file.readline()
            if first is None or not journal.is_journal(first + second):
                return _document(path)
            header = journal.header_of(first, path)
            journal.planned_of(second, path)  # without its plan a run cannot be read, whatever else it has
            run = _journal(path, header, _last_line(file, len(first) + len(second)))
            running = not run.finished and journal.in_use(file.fileno())
            return msgspec.structs.replace(run, running=running)
    except OSError as error:
        return Listed(path=str(path), id=path.stem, problem=error.strerror or str(error))
    except StoreError as error:
        return Listed(path=str(path), id=path.stem, problem=str(error))


def _first_line(file: BinaryIO) -> bytes | None:
    """The first line with its end; None if there is none, as in a document."""
    data = b""
    while block := file.read(END_BYTES):
        data += block
        if b"\n" in block:
            return data[: data.index(b"\n") + 1]
        if not data.startswith(journal.BEGINNING):  # headers do; documents may have megabytes in one line
            return None
    return None


def _last_line(file: BinaryIO, start: int) -> _LastLine | None:
    """The last whole event after the plan; None if there is none yet."""
    end, length = file.seek(0, os.SEEK_END), END_BYTES
    while True:
        begin = max(start, end - length)
        file.seek(begin)
        # The first part is the middle of a line, unless it is the plan's end; the last is nothing, or cut short.
        whole = file.read(end - begin).split(b"\n")[1 if begin > start else 0 : -1]
        for line in reversed(whole):
            try:
                return decoded(_LAST_LINE, line)
            except UndecodableError:
                continue  # damaged
        if begin == start:
            return None
        length *= 8


def _journal(path: Path, header: journal.Header, last: _LastLine | None) -> Listed:
    tally = last.tally if last is not None else journal.Tally()
    return Listed(
        path=str(path),
        id=header.id,
        started=header.started,
        verb=header.verb,
        arguments=header.arguments,
        engines=header.engines,
        workloads=header.workloads,
        cells=header.cells,
        processes=header.settings.processes,
        inspected=tally.inspected,
        ok=tally.ok,
        samples=tally.samples,
        finished=last is not None and last.event.type == "Finished",
    )


def _document(path: Path) -> Listed:
    data = journal.contents(path)
    try:
        run = decoded(_DOCUMENT, data)
    except UndecodableError as error:
        raise StoreError(f"not a run file, or damaged: {error}") from error
    document.refuse_newer(run.format_version, path)
    cells = run.planned or [measurement.cell for measurement in run.measurements]
    return Listed(
        path=str(path),
        id=run.id,
        started=run.started,
        verb=run.verb,
        arguments=run.arguments,
        engines=list(dict.fromkeys(cell.engine for cell in cells)),
        workloads=list(dict.fromkeys(cell.workload for cell in cells)),
        cells=len(cells),
        processes=run.settings.processes,
        inspected=len(run.measurements),
        ok=sum(measurement.status == "ok" for measurement in run.measurements),
        samples=sum(len(measurement.samples) for measurement in run.measurements),
        finished=run.finished,
    )
