"""A real PostgreSQL for tests and benchmarks: a server of its own in a temporary folder, reached by a socket in it.

In: the server's programs, where the system has them. Out: databases, and a server that goes away when it is told to.
"""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

# PostgreSQL refuses to run as root.
USER = "postgres"
PATIENCE_S = 60.0


def missing():
    """Why there can be no server here; nothing if there can."""
    if not hasattr(os, "geteuid"):
        return "PostgreSQL is started as another user, which this system does not have"
    if _program("postgres") is None or _program("initdb") is None:
        return "PostgreSQL is not installed (apt-get install postgresql)"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(USER)
        except KeyError:
            return f"PostgreSQL does not run as root, and there is no user {USER}"
    return ""


def _program(name):
    places = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)
    return shutil.which(name) or (places[0] if places else None)


class Server:
    """A server that can be stopped and started again. Nothing is waited for on the disk, unless `durable`."""

    def __init__(self, durable=False):
        self.folder = Path(tempfile.mkdtemp(prefix="gradmark-pg-"))
        self.identity = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam(USER)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            self.identity = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self.options = [] if durable else ["-c", "fsync=off", "-c", "synchronous_commit=off"]
        self.process = None
        self.count = 0
        initdb = [
            _program("initdb"),
            "-D",
            str(self.folder / "data"),
            "-U",
            "owner",
            "-A",
            "trust",
            "--no-sync",
            "-E",
            "UTF8",
        ]
        subprocess.run(initdb, check=True, capture_output=True, cwd=self.folder, **self.identity)
        self.start()

    def start(self):
        command = [
            _program("postgres"),
            "-D",
            str(self.folder / "data"),
            "-k",
            str(self.folder),
            "-c",
            "listen_addresses=",
        ]
        command += ["-c", "max_connections=60", *self.options]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self.identity)
        import psycopg

        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def stop(self, number=signal.SIGINT):
        """At once; connections break."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait()
            self.process = None

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database, user="owner"):
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def new(self):
        """The URL of a new, empty database."""
        self.count += 1
        name = f"d{self.count}"
        self.run("postgres", f"create database {name}")
        return self.url(name)

    def run(self, database, *statements):
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)
