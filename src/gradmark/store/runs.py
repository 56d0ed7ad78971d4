"""Run files: one JSON file for each run, replaced as a whole, so that it is never half written.

In: runs. Out: files under `.gradmark/runs/`, and runs again. A file of an older format still opens.
"""

import os
import shutil
import tempfile
from pathlib import Path

import msgspec

from gradmark.errors import StoreError
from gradmark.records import FORMAT_VERSION, Run
from gradmark.store.writing import replace

FOLDER = Path(".gradmark") / "runs"
# A run file is some hundred kilobytes; less than this on the disk is a disk that is about to be full.
LEAST_FREE_BYTES = 20 << 20


class _Version(msgspec.Struct):
    format_version: int = 1


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


def path_of(run: Run, folder: Path) -> Path:
    """Where a run is kept."""
    return folder / f"{run.id}.json"


def save(run: Run, path: Path) -> None:
    """Writes a run in place of what the file had."""
    replace(path, msgspec.json.encode(run))


def load(path: Path) -> Run:
    """Reads a run file."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read: {error.strerror}; `gradmark list runs` shows what there is"
        ) from error
    try:
        version = msgspec.json.decode(text, type=_Version).format_version
        if version > FORMAT_VERSION:
            raise StoreError(
                f"{path} has format {version}, this gradmark reads up to {FORMAT_VERSION}; install a newer gradmark"
            )
        return msgspec.json.decode(text, type=Run)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{path} is not a run file, or is damaged: {error}; the file was not changed") from error


def find(name: str, folder: Path) -> Path:
    """A run by path, by id, by the start of an id, or `latest`."""
    if name.endswith(".json") or os.sep in name:
        return Path(name)
    runs = sorted(folder.glob("*.json"))
    matching = runs[-1:] if name == "latest" else [path for path in runs if path.stem.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    what = "no run" if not matching else f"{len(matching)} runs"
    known = ", ".join(path.stem for path in runs[-5:]) or "none"
    raise StoreError(f"{what} in {folder} match {name!r}; the newest are: {known}")
