"""The folder store: run files in a folder, each appended to while its run is measured.

In and out: as `store.py` says.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from gradmark.errors import StoreError
from gradmark.records import Run
from gradmark.store import bundle, document, index, journal, listing, runs
from gradmark.store.bundle import Bundle
from gradmark.store.index import Known
from gradmark.store.journal import Journal
from gradmark.store.listing import Listed
from gradmark.store.writing import replace


class FolderStore:
    """Run files in a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or runs.FOLDER

    @property
    def name(self) -> str:
        """The folder."""
        return str(self.folder)

    @property
    def option(self) -> str:
        """The folder, if it is not the usual one."""
        return "" if self.folder.resolve() == runs.FOLDER.resolve() else str(self.folder)

    def reachable(self) -> None:
        """It is there, or is made when it is needed."""

    def ready(self) -> None:
        """Raises unless files can be written there."""
        runs.ready(self.folder)

    def begin(self, run: Run) -> Journal:
        """The file of a new run."""
        return Journal.begin(run, self.folder)

    def resume(self, place: str) -> Journal:
        """The file goes on."""
        return Journal.resume(Path(place))

    def put_away(self, path: Path) -> str:
        """It is here already; the index has its numbers from now on."""
        index.add(path)
        return str(path)

    def listed(self) -> list[Listed]:
        """Every run file."""
        return listing.headers(self.folder)

    def find(self, name: str, verbs: Collection[str] = ()) -> str:
        """The path of a run."""
        return str(runs.find(name, self.folder, verbs))

    def load(self, place: str) -> Run:
        """The run in a file."""
        return runs.load(Path(place))

    def local(self, place: str) -> Path:
        """The file itself."""
        return Path(place)

    def outlines(self, metrics: Collection[str], since: str = "") -> Known:  # noqa: ARG002  an index has all
        """From the index, and from files that it lacks."""
        return index.outlines(self.folder, since)

    def bundles(self, but: Collection[str] = ()) -> Iterator[Bundle | str]:
        """All files; what the index knows of one is not read again."""
        known = index.read(self.folder)
        for path in listing.files(self.folder):
            if path.stem in but:
                continue
            try:
                yield self._bundle(path, known.get(path.name))
            except (StoreError, OSError) as error:
                yield str(error)

    def _bundle(self, path: Path, outline: bundle.Packed | None) -> Bundle:
        data = journal.contents(path)
        if outline is None or not journal.is_journal(data):
            return bundle.bundle(data, path)
        return bundle.known(data, path, outline)

    def held(self) -> dict[str, tuple[int, bool]]:
        """By the ends of the files."""
        return {
            run.id: (os.stat(run.path).st_size if run.path.endswith(journal.EXTENSION) else 0, run.finished)
            for run in self.listed()
            if not run.problem
        }

    def add(self, bundles: list[Bundle]) -> int:
        """A file for each run that is not there, or was shorter."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return sum(self._add(run) for run in bundles)

    def _add(self, run: Bundle) -> bool:
        path = self.folder / f"{run.listed.id}{journal.EXTENSION}"
        if os.sep in run.listed.id or run.listed.id.startswith("."):
            raise StoreError(f"{run.listed.id!r} is not the id of a run, so it has no file")
        old = path.with_suffix(".json")
        if not path.exists() and old.exists():
            if document.read(old.read_bytes(), old) != runs.read(run.data, path):
                raise differing(run.listed.id, self.name)
            return False
        if path.exists():
            before = journal.contents(path)
            if before.startswith(run.data):
                return False
            if not run.data.startswith(before):
                raise differing(run.listed.id, self.name)
        replace(path, run.data)
        index.add(path, run.outline if run.listed.finished else None)
        return True


def differing(name: str, where: str) -> StoreError:
    """What is wrong where two runs have one id."""
    return StoreError(
        f"run {name} is in {where} too, and is another: neither was changed; `gradmark report` shows a file by its path"
    )
