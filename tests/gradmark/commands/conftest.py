"""The command line as a user has it: in this process where that is enough, in one of its own where it must be."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from gradmark.commands.main import main

TESTS = Path(__file__).parents[2]
QUICK = ["--processes", "1", "--no-memory"]


class Called(NamedTuple):
    code: int
    out: str
    err: str


def started(*arguments, **more):
    """`gradmark` in a process of its own. SIGINT is set back: background jobs of a shell ignore it."""
    begin = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from gradmark.commands.main import main; main()"
    )
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, **more.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, "-c", begin, *map(str, arguments)],
        stdout=more.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **more,
    )


@pytest.fixture(name="started", scope="session")
def _started():
    return started


@pytest.fixture
def quick():
    return QUICK


@pytest.fixture
def gradmark(tmp_path, monkeypatch, capsys):
    """Calls the command in an empty folder; gives exit code and what was printed. A traceback is a fault of ours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
    monkeypatch.setenv("COLUMNS", "250")

    def call(*arguments):
        try:
            main([str(argument) for argument in arguments])
            code = 0
        except SystemExit as error:
            code = error.code or 0
        out, err = capsys.readouterr()
        assert "Traceback (most recent call last)" not in err, err
        return Called(code, out, err)

    return call


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A store with one finished run, measured once for all tests that only read it."""
    folder = tmp_path_factory.mktemp("finished")
    process = started("run", "expression", "-e", "null", "-e", "tapegrad", *QUICK, "--store", folder)
    out, err = process.communicate()
    assert process.returncode == 0, err
    (path,) = folder.glob("*.jsonl")
    assert out.splitlines()[-1] == f"run file: {path}"
    return path
