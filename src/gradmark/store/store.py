"""The store: where runs are kept, a folder or a database. Whoever reads or writes runs knows only this.

In: what was given as --store. Out: a `Store`. Runs that are being measured are on this machine's disk in any case, and
come to a database when they end.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Protocol

from gradmark.records import Run
from gradmark.store.bundle import Bundle
from gradmark.store.index import Known
from gradmark.store.journal import Journal
from gradmark.store.listing import Listed

DATABASES = ("postgresql://", "postgres://")


class Store(Protocol):
    """What keeps runs."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def option(self) -> str:
        """What stands after --store to mean it; nothing if it is what is meant anyway."""

    def reachable(self) -> None:
        """Raises if it is a database that cannot be written to, before anything takes long; changes nothing."""

    def ready(self) -> None:
        """Raises unless runs can be written to it: before measuring, not after."""

    def begin(self, run: Run) -> Journal:
        """What keeps a new run while it is measured."""

    def resume(self, place: str) -> Journal:
        """What keeps a run that goes on."""

    def put_away(self, path: Path) -> str:
        """Takes over what a journal has, when it is closed. Gives back where it is, in words."""

    def listed(self) -> list[Listed]:
        """All runs, oldest first; at the end those that cannot be read."""

    def find(self, name: str, verbs: Collection[str] = ()) -> str:
        """A run by id, by the start of one, by path, or `latest`: of any verb, or of these only."""

    def load(self, place: str) -> Run:
        """A run that was found."""

    def local(self, place: str) -> Path:
        """Its file on this machine, to go on with."""

    def outlines(self, metrics: Collection[str], since: str = "") -> Known:
        """The outlines of all runs that began since then, with the columns of these metrics."""

    def bundles(self, but: Collection[str] = ()) -> Iterator[Bundle | str]:
        """All runs for another store, but for those of these ids; in place of one that cannot be read, why."""

    def held(self) -> dict[str, tuple[int, bool]]:
        """For each id how many bytes its file has, and whether the run is finished."""

    def add(self, bundles: list[Bundle]) -> int:
        """Takes runs from another store; gives back how many were new or longer than what it had. Twice is once."""


def is_database(text: str) -> bool:
    """Whether --store names a database."""
    return text.startswith(DATABASES)


def open_store(text: str | Path | None = None) -> Store:
    """The store that --store means. Nothing is looked at or connected to yet, but a password is refused."""
    from gradmark.store.folder import FolderStore

    if text and is_database(str(text)):
        from gradmark.store.postgresql import PostgresqlStore

        return PostgresqlStore(str(text))
    return FolderStore(Path(text) if text else None)
