"""Run files: the folder of them, and the runs in them, whatever their format.

In: runs, names of runs. Out: files under `.gradmark/runs/`, and runs again. A file of an older format still opens.
"""

import os
import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path

from gradmark.errors import StoreError
from gradmark.records import Run
from gradmark.store import document, journal, listing
from gradmark.store.journal import Journal as Journal  # what writes a run that is being measured
from gradmark.store.journal import path_of as path_of
from gradmark.store.writing import refuse_special, replace

FOLDER = Path(".gradmark") / "runs"
# Verbs whose runs are made to be looked at: the latest of these is meant where runs are shown. A check or an audit
# measures for its verdict.
SHOWN_VERBS = ("run", "scale", "ops", "explain", "contract", "hypothesis", "pytest")
# A run file is some hundred kilobytes; less than this on the disk is a disk that is about to be full.
LEAST_FREE_BYTES = 20 << 20


def ready(folder: Path) -> None:
    """Raises unless run files can be written there: before measuring, not after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".check-"):
            pass
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise StoreError(
            f"run files cannot be written to {folder}: {error.strerror}; choose another folder with --store"
        ) from error
    if free < LEAST_FREE_BYTES:
        raise StoreError(f"only {free >> 20} MiB are free in {folder}; make room, or choose another with --store")


def ready_file(path: Path) -> None:
    """Raises unless this file can be written: before measuring, not after."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file")
    refuse_special(path)
    ready(path.parent)


def save(run: Run, path: Path) -> None:
    """Writes a run as one document, in place of what the file had."""
    replace(path, document.packed(run))


def load(path: Path) -> Run:
    """Reads a run file of any format."""
    return read(journal.contents(path), path)


def read(data: bytes, path: Path) -> Run:
    """The run in the bytes of a file; messages name the path."""
    return journal.read(data, path)[0] if journal.is_journal(data) else document.read(data, path)


def find(name: str, folder: Path, verbs: Collection[str] = ()) -> Path:
    """A run by path, by id, by the start of an id, or `latest`: of any verb, or of these only."""
    if name.endswith(listing.EXTENSIONS) or os.sep in name:
        return Path(name)
    kept = listing.files(folder)
    if name == "latest":
        matching = _latest(kept, verbs)
    else:
        matching = [path for path in kept if path.stem == name] or [p for p in kept if p.stem.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    what = f"{len(matching)} runs" if matching else f"no run of {next(iter(verbs))}" if len(verbs) == 1 else "no run"
    known = ", ".join(path.stem for path in kept[-5:]) or "none"
    match = "match" if matching else "matches"
    raise StoreError(f"{what} in {folder} {match} {name!r}; the newest are: {known}")


def _latest(kept: list[Path], verbs: Collection[str]) -> list[Path]:
    if not verbs:
        return kept[-1:]
    return next(([path] for path in reversed(kept) if listing.listed(path).verb in verbs), [])
