"""Copying: runs from one store to another, each once however often it is copied; and whether a store is whole.

In: two stores, or one. Out: how many runs were copied, and what could not be.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import msgspec

from gradmark.errors import StoreError
from gradmark.store import bundle, index, journal, listing, runs
from gradmark.store.bundle import Bundle, Packed
from gradmark.store.folder import FolderStore
from gradmark.store.postgresql import PostgresqlStore
from gradmark.store.store import Store, open_store

# Runs in one transaction: an interruption loses no more, and a round trip costs nothing beside them.
AT_ONCE = 25
# Fewer runs are copied before further processes have started; more processes only wait for the database.
MANY, MOST_PROCESSES = 200, 4


@dataclass
class Copied:
    """What came of copying."""

    copied: int = 0
    there: int = 0  # before
    problems: list[str] = field(default_factory=list)


def copy(source: Store, target: Store, watch: Callable[[int, int], None] = lambda _done, _total: None) -> Copied:
    """Copies what the target lacks. A run that went on meanwhile replaces what the target had of it."""
    ours, theirs = source.held(), target.held()
    present = {
        name for name, (size, _) in ours.items() if name in theirs and (theirs[name][1] or theirs[name][0] == size > 0)
    }
    result = Copied(there=len(present))
    new = [name for name in ours if name not in present]
    total = len(new)
    if total >= MANY and _in_parallel(source, target):
        assert isinstance(source, FolderStore)
        for part in _parts(source, target, sorted(new)):
            _add(result, part)
            watch(result.copied + result.there - len(present), total)
        return result
    waiting: list[Bundle] = []
    for run in source.bundles(present):
        if isinstance(run, str):
            result.problems.append(run)
            continue
        waiting.append(run)
        if len(waiting) == AT_ONCE:
            _put(waiting, target, result)
            watch(result.copied, total)
    _put(waiting, target, result)
    return result


def _in_parallel(source: Store, target: Store) -> bool:
    """Whether several processes do it: reading files and taking their arrays out keeps a core busy."""
    return isinstance(source, FolderStore) and isinstance(target, PostgresqlStore) and (os.cpu_count() or 1) > 1


def _parts(source: FolderStore, target: Store, names: list[str]) -> Iterator[Copied]:
    """The index is read once, and each process gets what it needs of it."""
    outlines = index.read(source.folder)
    paths = {path.stem: path for path in listing.files(source.folder)}
    parts = [names[begin : begin + AT_ONCE] for begin in range(0, len(names), AT_ONCE)]
    with ProcessPoolExecutor(min(MOST_PROCESSES, os.cpu_count() or 1), mp_context=get_context("spawn")) as processes:
        tasks = []
        for part in parts:
            files = [paths[name] for name in part if name in paths]
            known = [msgspec.json.encode(outlines[path.name]) if path.name in outlines else b"" for path in files]
            tasks.append(processes.submit(_part, target.option, list(map(str, files)), known))
        for task in tasks:
            yield task.result()


def _part(target: str, files: list[str], outlines: list[bytes]) -> Copied:
    """Some run files with what the index has of each, in a process of its own."""
    result = Copied()
    waiting: list[Bundle] = []
    for path, known in zip(map(Path, files), outlines, strict=True):
        try:
            data = journal.contents(path)
            packed = msgspec.json.decode(known, type=Packed) if known and journal.is_journal(data) else None
            waiting.append(bundle.known(data, path, packed) if packed is not None else bundle.bundle(data, path))
        except StoreError as error:
            result.problems.append(str(error))
    _put(waiting, open_store(target), result)
    return result


def _put(waiting: list[Bundle], target: Store, result: Copied) -> None:
    """All of them in one go; one by one where one of them is refused."""
    if not waiting:
        return
    try:
        new = target.add(waiting)
        result.copied += new
        result.there += len(waiting) - new
    except StoreError as error:
        if len(waiting) == 1:
            result.problems.append(str(error))
        else:
            target.reachable()  # else each of them would wait for an answer
            for run in waiting:
                _put([run], target, result)
    waiting.clear()


def _add(result: Copied, part: Copied) -> None:
    result.copied += part.copied
    result.there += part.there
    result.problems += part.problems


def check(store: Store) -> tuple[int, list[str]]:
    """Reads every run of a store as whoever opens it would; how many there are, and what is wrong."""
    count, problems = 0, list[str]()
    every = _read(store) if isinstance(store, FolderStore) else store.bundles()
    for run in every:
        count += 1
        if isinstance(run, str):
            problems.append(run)
    return count, problems


def _read(store: FolderStore) -> Iterator[str | None]:
    """Whole files, whatever the index says of them."""
    for path in listing.files(store.folder):
        try:
            runs.load(path)
        except StoreError as error:
            yield str(error)
        else:
            yield None
