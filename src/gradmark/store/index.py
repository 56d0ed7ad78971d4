"""The index of a folder: the outline of each run file in it, a line each, so that a history reads one file, not all.

In: run files. Out: their outlines. The index is no more than a memory of what the run files say: a line whose file has
changed since, or that an older gradmark wrote, does not count, and a folder without an index is read file by file.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from gradmark.errors import StoreError
from gradmark.records.decoding import UndecodableError, decoded
from gradmark.records.outline import OUTLINE_VERSION, Outline, Unpacker, outline
from gradmark.store import listing, runs
from gradmark.store.bundle import Packed, packed_outline

NAME = "outlines.index"
# An index with more lines that do not count than that do is written again.
MOST_STALE = 1.0
# Fewer are not worth it.
LEAST_STALE = 100


class Line(msgspec.Struct, frozen=True):
    """The outline of one file, and by what it is known that the file is the same."""

    file: str
    size: int
    mtime_ns: int
    version: int
    outline: msgspec.Raw


class Known(msgspec.Struct, frozen=True):
    """What a folder's runs have: outlines, oldest first by file, and what cannot be read."""

    outlines: list[Outline]
    problems: list[str]


_LINE, _PACKED = msgspec.json.Decoder(Line), msgspec.json.Decoder(Packed)


def add(path: Path, packed: Packed | None = None) -> None:
    """Adds a run file to the index of its folder. Where that cannot be written, histories take longer, and no more.

    A run that is not finished will change: it is not worth a line.
    """
    with contextlib.suppress(StoreError, OSError):
        if packed is None:
            run = runs.load(path)
            packed = packed_outline(outline(run)) if run.finished else None
        if packed is not None:
            append(path.parent, [line_of(path, packed)])


def line_of(path: Path, packed: Packed) -> bytes:
    """The line of a file, as it is now."""
    stat = path.stat()
    line = Line(path.name, stat.st_size, stat.st_mtime_ns, OUTLINE_VERSION, msgspec.Raw(msgspec.json.encode(packed)))
    return msgspec.json.encode(line) + b"\n"


def append(folder: Path, lines: Iterable[bytes]) -> None:
    """Each line in one piece: several processes may add to one index."""
    descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
    try:
        end = os.lseek(descriptor, 0, os.SEEK_END)
        if end and os.pread(descriptor, 1, end - 1) != b"\n":  # somebody was killed in the middle of a line
            os.write(descriptor, b"\n")
        for line in lines:
            os.write(descriptor, line)
    finally:
        os.close(descriptor)


def read(folder: Path) -> dict[str, Packed]:
    """The outlines that count, by the names of their files."""
    there = {}
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(listing.EXTENSIONS):
                with contextlib.suppress(OSError):
                    stat = entry.stat()
                    there[entry.name] = (stat.st_size, stat.st_mtime_ns, OUTLINE_VERSION)
    good: dict[str, msgspec.Raw] = {}
    count = 0
    try:
        with open(folder / NAME, "rb") as file:
            for text in file:
                count += 1
                with contextlib.suppress(UndecodableError):
                    line = decoded(_LINE, text)
                    if there.get(line.file) == (line.size, line.mtime_ns, line.version):
                        good[line.file] = line.outline
    except OSError:
        return {}
    if count - len(good) > max(LEAST_STALE, MOST_STALE * len(good)):
        with contextlib.suppress(OSError):
            (folder / NAME).unlink()
            append(folder, (line_of(folder / name, decoded(_PACKED, raw)) for name, raw in good.items()))
    known = {}
    for name, raw in good.items():
        with contextlib.suppress(UndecodableError):
            known[name] = decoded(_PACKED, raw)
    return known


def outlines(folder: Path, since: str = "") -> Known:
    """The outline of every run in a folder; those that the index lacks are read from their files, and added to it."""
    files = listing.files(folder)
    known = read(folder) if files else {}
    unpacker, problems, new = Unpacker(), list[str](), dict[Path, Packed]()
    kept: list[Outline] = []
    for path in files:
        packed = known.get(path.name)
        if packed is None:
            try:
                whole = runs.load(path)
                packed = packed_outline(outline(whole))
                if whole.finished:
                    new[path] = packed
            except StoreError as error:
                problems.append(str(error))
                continue
        columns = {name: bytes(column) for name, column in packed.columns.items()}
        try:
            run = unpacker.outline(bytes(packed.heading), bytes(packed.cells), columns)
        except UndecodableError:  # of a line that somebody changed by hand
            problems.append(f"{folder / NAME} is damaged in the line of {path.name}: delete it: it will be rebuilt")
            continue
        if run.heading.started >= since:
            kept.append(run)
    if new:
        with contextlib.suppress(OSError):
            append(folder, [line_of(path, packed) for path, packed in new.items()])
    return Known(kept, problems)
