"""The connection to a database: opened without a password that others could see, its errors in words.

In: a URL. Out: connections, and `StoreError` for whatever goes wrong with them.
"""

import contextlib
import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradmark.errors import StoreError
from gradmark.store.schema import MIGRATIONS, SCHEMA, TABLES, VERSION

if TYPE_CHECKING:
    import psycopg

# Where nobody answers for so long, nobody will.
CONNECT_S = 10
# A network that is gone is noticed after so long, not after hours.
GONE_S = 30
# States of an error that the SQL standard has for a server without room.
NO_ROOM = "53"
SECRET = ("password", "sslpassword", "passfile")
INSTEAD = (
    "a password on the command line is seen by everybody on this machine and stays in the shell's history. Leave it "
    "out, and put it into ~/.pgpass, the variable PGPASSWORD or a service file (postgresql://?service=NAME)"
)


def driver() -> Any:
    """psycopg; raises with what to do where it is not installed."""
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError as error:
        raise StoreError('a database needs psycopg: pip install "gradmark[postgresql]"') from error
    return psycopg


class Address:
    """Where a database is, from its URL."""

    def __init__(self, url: str) -> None:
        if re.match(r"\w+://[^/?#]*:[^/?#]*@", url) or re.search(r"[?&](ssl)?password=", url):
            raise StoreError(f"the URL of the store has a password: {INSTEAD}")
        self._driver = driver()
        try:
            parts = self._driver.conninfo.conninfo_to_dict(url)
        except self._driver.Error:  # its words may have parts of what was typed for a password
            raise StoreError(
                "the store is not a PostgreSQL URL; expected one such as postgresql://user@host:5432/database"
            ) from None
        if any(parts.get(name) for name in SECRET[:2]):
            raise StoreError(f"the URL of the store has a password: {INSTEAD}")
        self.url = url
        given = {"connect_timeout": CONNECT_S, "application_name": "gradmark", "tcp_user_timeout": 1000 * GONE_S}
        self._parts = {**given, **parts}
        user = f"{parts['user']}@" if "user" in parts else ""
        port = f":{parts['port']}" if "port" in parts else ""
        host = str(parts.get("host", ""))
        socket = f"host={host}" if host.startswith("/") else ""
        query = "&".join(filter(None, [socket, f"service={parts['service']}" if "service" in parts else ""]))
        place = f"{user}{'' if socket else host}{port}/{parts.get('dbname', '')}{query and '?'}{query}"
        self.name = f"postgresql://{place}"

    @contextlib.contextmanager
    def connect(self, *, read_only: bool, checked: bool = True) -> "Iterator[psycopg.Connection[Any]]":
        """A connection with one transaction; what goes wrong is said in words. checked: only to a schema we know."""
        psycopg = self._driver
        try:
            connection = psycopg.connect(**self._parts, client_encoding="utf8")
        except psycopg.Error as error:
            raise StoreError(
                f"{self.name} cannot be reached: {_first_line(error)}; nothing was changed. Is the server running, and "
                "may you connect? `psql` with the same URL says more"
            ) from error
        try:
            with self.in_words(), connection:
                connection.read_only = True if read_only else None  # else as the server has it
                if checked:
                    self._check(connection, read_only=read_only)
                yield connection
        finally:
            connection.close()

    @contextlib.contextmanager
    def in_words(self) -> Iterator[None]:
        """Errors of the driver as errors of the store."""
        psycopg = self._driver
        try:
            yield
        except psycopg.errors.InsufficientPrivilege as error:
            raise StoreError(
                f"{self.name} does not let you do this: {_first_line(error)}; ask its owner for the rights "
                "(docs/guide/store.md has the statements)"
            ) from error
        except psycopg.errors.ReadOnlySqlTransaction as error:
            raise StoreError(
                f"{self.name} can only be read: {_first_line(error)}; name the server that is written to"
            ) from error
        except psycopg.OperationalError as error:
            if (error.sqlstate or "").startswith(NO_ROOM):
                raise StoreError(f"{self.name} is full: {_first_line(error)}; make room on the server") from error
            raise StoreError(f"{self.name} went away: {_first_line(error)}; what it had before is untouched") from error
        except psycopg.Error as error:
            raise StoreError(f"{self.name} refused: {_first_line(error)}") from error

    def _check(self, connection: "psycopg.Connection[Any]", *, read_only: bool) -> None:
        version = self.version(connection)
        if version is None:
            raise StoreError(
                f"{self.name} is not a gradmark store; make it one with `gradmark store init {shlex.quote(self.name)}`"
            )
        if version > VERSION:
            raise StoreError(
                f"{self.name} has a schema of version {version}, this gradmark knows up to {VERSION}; install a newer "
                "gradmark"
            )
        if version < VERSION:
            raise StoreError(
                f"{self.name} has a schema of version {version}, this gradmark needs {VERSION}: `gradmark store init "
                f"{shlex.quote(self.name)}` brings it up to date, and loses nothing"
            )
        rights = "select" if read_only else "insert"
        lacking = [name for name in TABLES if not _may(connection, name, rights)]
        if lacking:
            raise StoreError(
                f"{self.name} can only be {'seen' if read_only else 'read'} by you: there is no right to {rights} on "
                f"{', '.join(lacking)}; ask its owner (docs/guide/store.md has the statements)"
            )
        if not read_only:
            row = connection.execute("show transaction_read_only").fetchone()
            if row is not None and row[0] == "on":
                raise StoreError(
                    f"{self.name} can only be read: it is a standby, or set so; name the server that is written to"
                )

    def version(self, connection: "psycopg.Connection[Any]") -> int | None:
        """The version of the schema; None if the database is not ours."""
        row = connection.execute(
            "select to_regnamespace(%s) is not null, to_regclass(%s) is not null", [SCHEMA, f"{SCHEMA}.migration"]
        ).fetchone()
        assert row is not None
        if not row[0]:
            return None
        if not row[1]:
            raise StoreError(
                f"{self.name} has a schema called {SCHEMA} that is not ours, or that you may not use; name another "
                "database, or ask its owner"
            )
        row = connection.execute("select max(version) from gradmark.migration").fetchone()
        return int(row[0] or 0) if row is not None else 0

    def migrate(self) -> tuple[int, int]:
        """Brings the schema up to date; from which version to which."""
        with self.connect(read_only=False, checked=False) as connection:
            connection.execute("select pg_advisory_xact_lock(hashtext('gradmark'))")  # two at once: one waits
            before = self.version(connection)
            if before is not None and before > VERSION:
                self._check(connection, read_only=True)
            if before is None:
                connection.execute(f"create schema {SCHEMA}")
                connection.execute(
                    "create table gradmark.migration (version integer primary key, applied timestamptz default now())"
                )
            for number, migration in enumerate(MIGRATIONS, start=1):
                if number > (before or 0):
                    connection.execute(migration)
                    connection.execute("insert into gradmark.migration (version) values (%s)", [number])
            return before or 0, VERSION


def _may(connection: "psycopg.Connection[Any]", table: str, right: str) -> bool:
    row = connection.execute("select has_table_privilege(%s, %s)", [f"{SCHEMA}.{table}", right]).fetchone()
    return row is not None and bool(row[0])


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return " ".join(text.splitlines()[0].split())
