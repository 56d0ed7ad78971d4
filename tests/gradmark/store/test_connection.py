"""Connections: no password where others see it, and an error in words for a database that is not what it should be."""

import pytest

from gradmark.errors import StoreError
from gradmark.store.connection import VERSION, Address

pytest.importorskip("psycopg")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:geheim@db/runs",
        "postgresql://me:geheim@[::1]:5432/runs",
        "postgres://:geheim@/runs",
        "postgresql://db/runs?user=me&password=geheim",
        "postgresql://db/runs?sslpassword=geheim",
        "postgresql://me:ge%heim@db/runs",
    ],
)
def test_a_password_is_refused_and_not_repeated(url):
    with pytest.raises(
        StoreError, match=r"has a password: .* into ~/\.pgpass, the variable PGPASSWORD or a service"
    ) as error:
        Address(url)
    assert "geheim" not in str(error.value)


@pytest.mark.parametrize("url", ["postgresql://db/runs?nonsense=1", "postgresql://%zz/runs", "postgresql://db:port/x"])
def test_what_is_no_url(url):
    with pytest.raises(StoreError, match=r"is not a PostgreSQL URL|cannot be reached"):
        opened(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me@db:5433/runs",
        "postgresql://db/runs",
        "postgresql:///runs?host=/tmp/x",
        "postgresql:///?service=team",
    ],
)
def test_the_name_is_one_to_paste(url):
    name = Address(url).name
    assert Address(name).name == name
    assert name.replace(":///", "://") == url.replace(":///", "://") or name == url


def test_nobody_answers():
    with (
        pytest.raises(
            StoreError, match=r"postgresql://127.0.0.1:1/d cannot be reached: .*refused; nothing was changed"
        ),
        Address("postgresql://127.0.0.1:1/d").connect(read_only=True),
    ):
        pass


def opened(url, read_only=True):
    with Address(url).connect(read_only=read_only):
        pass


def database_of(url):
    return url.split("/")[3].partition("?")[0]


def test_a_database_without_a_store(empty_database):
    with pytest.raises(
        StoreError, match="is not a gradmark store; make it one with `gradmark store init 'postgresql://owner@/d"
    ):
        opened(empty_database)


def test_a_schema_of_somebody_else(server, empty_database):
    server.run(database_of(empty_database), "create schema gradmark", "create table gradmark.run (colour text)")
    for work in (lambda: opened(empty_database), Address(empty_database).migrate):
        with pytest.raises(StoreError, match="has a schema called gradmark that is not ours"):
            work()


def test_a_newer_schema(server, url):
    server.run(database_of(url), "insert into gradmark.migration (version) values (99)")
    for work in (lambda: opened(url), Address(url).migrate):
        with pytest.raises(StoreError, match=f"version 99, this gradmark knows up to {VERSION}; install a newer"):
            work()


def test_an_older_schema(server, url):
    server.run(
        database_of(url), "delete from gradmark.migration", "insert into gradmark.migration (version) values (0)"
    )
    with pytest.raises(StoreError, match=f"version 0, this gradmark needs {VERSION}: `gradmark store init"):
        opened(url)


def test_migrating_twice_is_once(empty_database):
    assert Address(empty_database).migrate() == (0, VERSION)
    assert Address(empty_database).migrate() == (VERSION, VERSION)
    opened(empty_database, read_only=False)


def test_reading_needs_rights_to_read_only(server, url):
    name = database_of(url)
    reader = server.url(name, user=f"reader_{name}")
    server.run(name, f"create role reader_{name} login")
    with pytest.raises(StoreError, match="does not let you do this: permission denied"):
        opened(reader)
    server.run(
        name, f"grant usage on schema gradmark to reader_{name}", f"grant select on gradmark.migration to reader_{name}"
    )
    with pytest.raises(StoreError, match="can only be seen by you: there is no right to select on run, sample"):
        opened(reader)
    server.run(name, f"grant select on all tables in schema gradmark to reader_{name}")
    opened(reader)
    with pytest.raises(StoreError, match="can only be read by you: there is no right to insert on run, sample"):
        opened(reader, read_only=False)


def test_a_server_that_is_only_read_from(server, url):
    server.run("postgres", f"alter database {database_of(url)} set default_transaction_read_only = on")
    opened(url)
    with pytest.raises(StoreError, match="can only be read: "), Address(url).connect(read_only=False) as connection:
        connection.execute("delete from gradmark.run")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("DiskFull", "is full: "),
        ("AdminShutdown", "went away: "),
        ("InsufficientPrivilege", "does not let you do this"),
    ],
)
def test_what_goes_wrong_in_the_middle(error, words):
    import psycopg

    address = Address("postgresql://db/runs")
    with pytest.raises(StoreError, match=f"postgresql://db/runs {words}"), address.in_words():
        raise getattr(psycopg.errors, error)("no space left\nDETAIL: more")
