"""`gradmark store`: makes a database a store of runs, copies runs between stores, looks whether a store is whole."""

import sys

import click

from gradmark.commands.helping import Verb, VerbGroup
from gradmark.commands.terminal import say

TARGET = click.argument("store", metavar="FOLDER|URL")


@click.group(
    cls=VerbGroup,
    examples=(
        "gradmark store init postgresql://host/gradmark",
        "gradmark store copy .gradmark/runs postgresql://host/gradmark",
    ),
)
def command() -> None:
    """Keep runs in a PostgreSQL database that many machines share.

    A password is never an argument: put it into ~/.pgpass, the variable PGPASSWORD or a service file.
    """


@command.command(
    "init",
    cls=Verb,
    examples=("gradmark store init postgresql://host/gradmark", "gradmark store init 'postgresql://?service=team'"),
)
@TARGET
def init(store: str) -> None:
    """Make a database a store, or bring its schema up to date. Running it again changes nothing."""
    from gradmark.errors import StoreError
    from gradmark.store.postgresql import PostgresqlStore
    from gradmark.store.store import open_store

    opened = open_store(store)
    if not isinstance(opened, PostgresqlStore):
        opened.ready()
        say(f"{opened.name}: a folder is a store already; only a database needs this")
        return
    before, now = opened.address.migrate()
    if before > now:
        raise StoreError(f"{opened.name} has a newer schema, {before}")
    outcome = "made a store" if before == 0 else "brought up to date" if before < now else "up to date already"
    say(f"{opened.name}: {outcome}, schema {now}")


@command.command(
    "copy",
    cls=Verb,
    examples=(
        "gradmark store copy .gradmark/runs postgresql://host/gradmark",
        "gradmark store copy postgresql://host/gradmark backup",
    ),
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def copy(source: str, target: str) -> None:
    """Copy all runs from one store to another. Each is a folder or a database; runs already there are not copied again.

    Exit code 1 if a run could not be copied; all others are.
    """
    from gradmark.commands.progress import working
    from gradmark.errors import StoreError
    from gradmark.report.model.characters import plural
    from gradmark.store import copying
    from gradmark.store.folder import FolderStore
    from gradmark.store.store import open_store

    ours, theirs = open_store(source), open_store(target)
    if isinstance(ours, FolderStore) and not ours.folder.is_dir():
        raise StoreError(f"there is no folder {ours.name} to copy from")
    theirs.ready()
    with working(f"copying to {theirs.name}", quiet=True):
        result = copying.copy(ours, theirs)
    for problem in result.problems:
        say(f"not copied: {problem}", err=True)
    say(f"{plural(result.copied, 'run')} copied to {theirs.name}, {result.there} already there")
    sys.exit(int(bool(result.problems)))


@command.command(
    "check",
    cls=Verb,
    examples=("gradmark store check .gradmark/runs", "gradmark store check postgresql://host/gradmark"),
)
@TARGET
def check(store: str) -> None:
    """Read every run of a store and name those that are damaged. Exit code 1 if there are any."""
    from gradmark.commands.progress import working
    from gradmark.report.model.characters import plural
    from gradmark.store import copying
    from gradmark.store.store import open_store

    opened = open_store(store)
    with working(f"reading {opened.name}", quiet=True):
        count, problems = copying.check(opened)
    for problem in problems:
        say(problem)
    say(f"{opened.name}: {plural(count, 'run')}, {len(problems)} of them damaged")
    sys.exit(int(bool(problems)))
