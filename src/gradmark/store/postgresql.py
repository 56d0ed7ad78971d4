"""The database store: runs in PostgreSQL, for many machines and people.

In and out: as `store.py` says. A run that is being measured is a file in a folder where it waits; when it ends it is
uploaded, and the file goes once the database has it. What could not be uploaded waits for the next time.
"""

import contextlib
import hashlib
import os
import re
import shlex
import zlib
from collections.abc import Collection, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from gradmark.errors import StoreError
from gradmark.records import Run
from gradmark.records.decoding import UndecodableError
from gradmark.records.outline import OUTLINE_VERSION, Outline, Unpacker, outline
from gradmark.store import bundle, holes, index, journal, listing, runs
from gradmark.store.bundle import Bundle
from gradmark.store.connection import Address
from gradmark.store.folder import differing
from gradmark.store.journal import Journal
from gradmark.store.listing import Listed
from gradmark.store.writing import replace

if TYPE_CHECKING:
    import psycopg

    Connection: TypeAlias = psycopg.Connection[Any]

WAITING = runs.FOLDER.parent / "waiting"
# What people fetch at a time: a few megabytes.
AT_ONCE = 50
RUN = {
    "number": "int8",
    "id": "text",
    "started": "text",
    "verb": "text",
    "arguments": "text[]",
    "engines": "text[]",
    "workloads": "text[]",
    "planned": "int8",
    "processes": "int8",
    "inspected": "int8",
    "ok": "int8",
    "samples": "int8",
    "finished": "bool",
    "machine_class": "text",
    "instance": "text",
    "commit": "text",
    "bytes": "int8",
    "digest": "bytea",
    "frame": "bytea",
    "heading": "text",
    "cells": "int4",
    "outline_version": "int4",
}
ARRAYS = ("block_ns", *holes.KINDS)
_ESCAPED = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "␀"})


class PostgresqlStore:
    """Runs in a database."""

    def __init__(self, url: str) -> None:
        self.address = Address(url)
        place = re.sub(r"[^A-Za-z0-9.]+", "-", self.address.name.partition("://")[2]).strip("-") or "local"
        self.waiting = WAITING / f"{place}-{hashlib.sha256(self.address.name.encode()).hexdigest()[:6]}"

    @property
    def name(self) -> str:
        """Its URL, as far as anybody may know it."""
        return self.address.name

    @property
    def option(self) -> str:
        """Its URL."""
        return self.address.url

    # --- a run that is measured

    def ready(self) -> None:
        """Raises unless this user may write to it, and to the folder where runs wait; uploads what waits there."""
        runs.ready(self.waiting)
        self.reachable()
        self.upload_waiting()

    def reachable(self) -> None:
        """Raises if the database is away, is not ours, or does not let this user write."""
        with self.address.connect(read_only=False):
            pass

    def upload_waiting(self) -> None:
        """What earlier runs left here when the database was away. One that is being measured goes on waiting."""
        for run in listing.headers(self.waiting):
            if not run.problem and not run.running:
                self.put_away(Path(run.path))

    def begin(self, run: Run) -> Journal:
        """The file of a new run; the database knows of the run from now on, so that one that is full says so now."""
        self.add([bundle.of_run(run, journal.lines(run))])
        return Journal.begin(run, self.waiting)

    def resume(self, place: str) -> Journal:
        """The file goes on; from the database, if another machine has it."""
        return Journal.resume(self.local(place))

    def put_away(self, path: Path) -> str:
        """Uploads a run; its file goes if it is finished, and waits if the database is away."""
        try:
            run = bundle.bundle(journal.contents(path), path)
            self.add([run])
        except StoreError as error:
            upload = f"gradmark store copy {shlex.quote(str(path.parent))} {shlex.quote(self.name)}"
            return (
                f"{path}, where it is kept until then: {error}. The next run with this store uploads it, or `{upload}`"
            )
        if run.listed.finished:
            with contextlib.suppress(OSError):
                path.unlink()
            return f"{run.listed.id} in {self.name}"
        return str(path)

    # --- reading

    def listed(self) -> list[Listed]:
        """The runs of the database, and those that wait."""
        columns = (
            "id, started, verb, arguments, engines, workloads, planned, processes, inspected, ok, samples, finished"
        )
        with self.address.connect(read_only=True) as connection:
            rows = connection.execute(f"select {columns} from gradmark.run order by started, id").fetchall()
        names = columns.replace("planned", "cells").split(", ")
        there = [Listed(path="", **dict(zip(names, row, strict=True))) for row in rows]
        waiting = {run.id: run for run in listing.headers(self.waiting)}
        return sorted(
            [run for run in there if run.id not in waiting] + list(waiting.values()),
            key=lambda run: (bool(run.problem), run.started),
        )

    def find(self, name: str, verbs: Collection[str] = ()) -> str:
        """The id of a run, or a path that was given."""
        if name.endswith(listing.EXTENSIONS) or os.sep in name:
            return name
        kept = [run for run in self.listed() if not run.problem]
        if name == "latest":
            matching = [run.id for run in kept if not verbs or run.verb in verbs][-1:]
        else:
            ids = [run.id for run in kept]
            matching = [run for run in ids if run == name] or [run for run in ids if run.startswith(name)]
        if len(matching) == 1:
            return matching[0]
        what = f"{len(matching)} runs" if matching else "no run"
        known = ", ".join(run.id for run in kept[-5:]) or "none"
        raise StoreError(f"{what} in {self.name} match {name!r}; the newest are: {known}")

    def load(self, place: str) -> Run:
        """A run: from the folder where it waits, which is ahead of the database, or from the database."""
        if place.endswith(listing.EXTENSIONS) or os.sep in place:
            return runs.load(Path(place))
        waiting = self.waiting / f"{place}{journal.EXTENSION}"
        return runs.load(waiting) if waiting.exists() else runs.read(self.contents(place), Path(place))

    def local(self, place: str) -> Path:
        """The file where the run waits; written now, if only the database has it."""
        if place.endswith(listing.EXTENSIONS) or os.sep in place:
            return Path(place)
        path = self.waiting / f"{place}{journal.EXTENSION}"
        if not path.exists():
            data = self.contents(place)
            self.waiting.mkdir(parents=True, exist_ok=True)
            replace(path, data)
        return path

    def contents(self, name: str) -> bytes:
        """The run file, bit for bit as it was uploaded."""
        with self.address.connect(read_only=True) as connection:
            (data,) = self._contents(connection, [name]).values()
        return data

    def _contents(self, connection: "Connection", names: Collection[str]) -> dict[str, bytes]:
        frames = connection.execute(
            "select number, id, frame, digest from gradmark.run where id = any(%s)", [list(names)], binary=True
        ).fetchall()
        arrays: dict[int, list[dict[str, Any]]] = {}
        for number, *values in connection.execute(
            f"select run, {', '.join(ARRAYS)} from gradmark.sample where run = any(%s) order by run, place",
            [[frame[0] for frame in frames]],
            binary=True,
        ):
            arrays.setdefault(number, []).append(dict(zip(ARRAYS, values, strict=True)))
        whole = {}
        for number, name, frame, digest in frames:
            data = holes.put_back(zlib.decompress(frame), arrays.get(number, []))
            if hashlib.sha256(data).digest() != digest:
                raise StoreError(
                    f"run {name} in {self.name} is not what was uploaded; `gradmark store check` shows all such"
                )
            whole[name] = data
        if missing := [name for name in names if name not in whole]:
            raise StoreError(f"there is no run {', '.join(missing)} in {self.name}")
        return whole

    def outlines(self, metrics: Collection[str], since: str = "") -> index.Known:
        """Only the columns that are asked for are fetched, by an index; others of a class when somebody wants them."""
        with self.address.connect(read_only=True) as connection:
            cells = dict(
                connection.execute(
                    "select number, convert_to(cells, 'UTF8') from gradmark.cells", binary=True
                ).fetchall()
            )
            rows = connection.execute(
                "select number, id, convert_to(heading, 'UTF8'), cells, outline_version, machine_class "
                "from gradmark.run where started >= %s order by started, id",
                [since],
                binary=True,
            ).fetchall()
            columns: dict[int, dict[str, bytes]] = {number: {} for number, *_ in rows}
            for metric in metrics:
                for number, entries in _columns(connection, metric, since=since):
                    if number in columns:
                        columns[number][metric] = entries
        unpacker, known, problems = Unpacker(), list[Outline](), list[str]()
        further = _Further(self.address, columns)
        for number, name, heading, place, version, machine_class in rows:
            try:
                if version == OUTLINE_VERSION:
                    more = partial(further.column, machine_class, number)
                    known.append(unpacker.outline(heading, cells[place], columns[number], more))
                else:
                    known.append(outline(self.load(name)))
            except (UndecodableError, StoreError) as error:
                problems.append(f"run {name} in {self.name}: {error}")
        return index.Known(known, problems)

    # --- from and to another store

    def bundles(self, but: Collection[str] = ()) -> Iterator[Bundle | str]:
        """All runs, some at a time."""
        names = [name for name in self.held() if name not in but]
        for begin in range(0, len(names), AT_ONCE):
            with self.address.connect(read_only=True) as connection:
                for name in names[begin : begin + AT_ONCE]:
                    try:
                        yield bundle.bundle(self._contents(connection, [name])[name], Path(name))
                    except StoreError as error:
                        yield str(error)

    def held(self) -> dict[str, tuple[int, bool]]:
        """What the database has."""
        with self.address.connect(read_only=True) as connection:
            rows = connection.execute("select id, bytes, finished from gradmark.run order by started, id").fetchall()
        return {name: (size, finished) for name, size, finished in rows}

    def add(self, bundles: list[Bundle]) -> int:
        """In one transaction: all or none. A run that another process uploads at the same time is there once."""
        for attempt in range(2):
            try:
                with self.address.connect(read_only=False) as connection:
                    return self._add(connection, bundles)
            except StoreError as error:
                if attempt or "run_id_key" not in str(error):
                    raise
        raise AssertionError("unreachable")

    def _add(self, connection: "Connection", bundles: list[Bundle]) -> int:
        before = {
            name: (number, size, digest)
            for number, name, size, digest in connection.execute(
                "select number, id, bytes, digest from gradmark.run where id = any(%s)",
                [[run.listed.id for run in bundles]],
                binary=True,
            )
        }
        new = {run.listed.id: run for run in bundles if self._is_new(connection, run, before.get(run.listed.id))}
        if not new:
            return 0
        if old := [before[name][0] for name in new if name in before]:
            connection.execute("delete from gradmark.run where number = any(%s)", [old])
        numbers = [
            number
            for (number,) in connection.execute(
                "select nextval(pg_get_serial_sequence('gradmark.run', 'number')) from generate_series(1, %s)",
                [len(new)],
            )
        ]
        _write(connection, dict(zip(numbers, new.values(), strict=True)))
        return len(new)

    def _is_new(self, connection: "Connection", run: Bundle, before: tuple[int, int, bytes] | None) -> bool:
        """Whether a run is not there yet, or was shorter. One that goes another way is refused."""
        if before is None:
            return True
        _, size, digest = before
        if hashlib.sha256(run.data[:size]).digest() == digest:
            return len(run.data) > size
        if len(run.data) < size and self._contents(connection, [run.listed.id])[run.listed.id].startswith(run.data):
            return False
        raise differing(run.listed.id, self.name)


class _Further:
    """Columns that are fetched when somebody asks for them, of all runs of a class at a time."""

    def __init__(self, address: Address, columns: dict[int, dict[str, bytes]]) -> None:
        self._address = address
        self._columns = columns
        self._fetched: set[tuple[str, str]] = set()

    def column(self, machine_class: str, number: int, metric: str) -> bytes | None:
        """The entries of a metric for a run; None where it has none."""
        if (machine_class, metric) not in self._fetched:
            self._fetched.add((machine_class, metric))
            with self._address.connect(read_only=True) as connection:
                for run, entries in _columns(connection, metric, machine_class=machine_class):
                    self._columns.setdefault(run, {}).setdefault(metric, entries)
        return self._columns[number].get(metric)


def _columns(
    connection: "Connection", metric: str, *, since: str = "", machine_class: str = ""
) -> Iterator[tuple[int, bytes]]:
    """The entries of a metric, of all runs since then, or of those of a class."""
    only = "join gradmark.run on run.number = outline.run" if since or machine_class else ""
    return iter(
        connection.execute(
            f"select outline.run, convert_to(entries, 'UTF8') from gradmark.outline {only} where metric = %(metric)s"
            + (" and run.started >= %(since)s" if since else "")
            + (" and run.machine_class = %(machine_class)s" if machine_class else ""),
            {"metric": metric, "since": since, "machine_class": machine_class},
            binary=True,
        )
    )


def _write(connection: "Connection", new: dict[int, Bundle]) -> None:
    """Rows of these runs, by their numbers."""
    classes = dict.fromkeys(run.machine_class for run in new.values())
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into gradmark.machine_class (digest, name, words) values (%s, %s, %s) on conflict do nothing",
            [tuple(map(_clean, words)) for words in classes],
        )
    cells = _cells(connection, {bytes(run.outline.cells) for run in new.values()})
    rows: dict[int, list[holes.Row]] = {}
    with connection.cursor() as cursor:
        with cursor.copy(f"copy gradmark.run ({', '.join(RUN)}) from stdin (format binary)") as copy:
            copy.set_types(list(RUN.values()))
            for number, run in new.items():
                frame, rows[number] = holes.taken_out(run.data)
                copy.write_row(_row(number, run, frame, cells[bytes(run.outline.cells)]))
        with cursor.copy(
            f"copy gradmark.sample (run, place, cell, process, phase, {', '.join(ARRAYS)}) from stdin"
        ) as copy:
            for number, members in rows.items():
                copy.write("".join(_line(number, place, row) for place, row in enumerate(members)))
        with cursor.copy("copy gradmark.outline (metric, run, entries) from stdin") as copy:
            for number, run in new.items():
                copy.write(
                    "".join(
                        f"{name.translate(_ESCAPED)}\t{number}\t{bytes(entries).decode().translate(_ESCAPED)}\n"
                        for name, entries in run.outline.columns.items()
                    )
                )


def _cells(connection: "Connection", packed: set[bytes]) -> dict[bytes, int]:
    """The numbers of these lists of cells."""
    digests = {hashlib.sha256(cells).digest(): cells for cells in packed}
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into gradmark.cells (digest, cells) values (%s, %s) on conflict do nothing",
            [(digest, cells.decode()) for digest, cells in digests.items()],
        )
        cursor.execute("select digest, number from gradmark.cells where digest = any(%s)", [list(digests)], binary=True)
        return {digests[bytes(digest)]: number for digest, number in cursor}


def _row(number: int, run: Bundle, frame: bytes, cells: int) -> list[object]:
    listed = run.listed
    return [
        number,
        _clean(listed.id),
        listed.started,
        _clean(listed.verb),
        *([_clean(text) for text in texts] for texts in (listed.arguments, listed.engines, listed.workloads)),
        *(listed.cells, listed.processes, listed.inspected, listed.ok, listed.samples, listed.finished),
        run.machine_class[0],
        _clean(run.instance),
        _clean(run.commit) if run.commit is not None else None,
        len(run.data),
        hashlib.sha256(run.data).digest(),
        zlib.compress(frame, 1),
        bytes(run.outline.heading).decode(),
        cells,
        run.outline.version,
    ]


@lru_cache(maxsize=4096)
def _escaped(text: str) -> str:
    return text.translate(_ESCAPED)


def _line(number: int, place: int, row: holes.Row) -> str:
    cell = "\\N" if row.cell is None else _escaped(row.cell)
    process = "\\N" if row.process is None else row.process
    arrays = "\t".join(row.arrays.get(name, "\\N") for name in ARRAYS)
    return f"{number}\t{place}\t{cell}\t{process}\t{_escaped(row.phase)}\t{arrays}\n"


def _clean(text: str) -> str:
    """PostgreSQL has no text with a zero in it; the run file has."""
    return text.replace("\0", "␀")
