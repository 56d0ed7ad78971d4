"""One worker process: whatever happens to it is a result."""

import os
import sys
import time

import msgspec
import pytest

from gradmark.measure import process
from gradmark.measure.job import Job, Result
from gradmark.records import Cell, Settings


def job(**settings):
    return Job(kind="time", cell=Cell(engine="e", workload="w", suite="s"), settings=Settings(**settings))


def worker(script, **settings):
    return process.run(job(**settings), [sys.executable, "-c", script])


ANSWER = msgspec.json.encode(Result(message="hello")).decode()


def test_a_job_goes_in_and_a_result_comes_out():
    script = (
        "import json, sys; job = json.load(sys.stdin); "
        "print(json.dumps({'status': 'unsupported', 'message': job['cell']['engine'] + job['kind']}))"
    )
    assert worker(script) == Result(status="unsupported", message="etime")


@pytest.mark.parametrize(
    ("script", "status", "message"),
    [
        ("", "crash", "the worker ended without a result"),
        ("print('hello')", "crash", "the worker ended without a result"),
        ("raise SystemExit(7)", "crash", "the worker ended with exit code 7"),
        ("raise ValueError('a last word')", "crash", "exit code 1: ValueError: a last word"),
        ("import os; os.kill(os.getpid(), 11)", "crash", "the worker was ended by SIGSEGV"),
        ("import os; os.kill(os.getpid(), 9)", "out-of-memory", "killed by the system (SIGKILL)"),
    ],
)
def test_what_happens_to_a_worker_is_a_result(script, status, message):
    found = worker(script)
    assert found.status == status
    assert message in found.message


@pytest.mark.slow
def test_a_worker_that_hangs_is_ended_with_what_it_started(tmp_path):
    note = tmp_path / "pid"
    script = (
        "import subprocess, sys, time; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)']); "
        f"open({str(note)!r}, 'w').write(str(child.pid)); time.sleep(100)"
    )
    found = worker(script, timeout_s=1.0)
    assert found.status == "timeout"
    assert found.message == "no result after 1 s"
    pid = int(note.read_text())
    for _ in range(200):  # its new parent must collect it
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    break
        except (ProcessLookupError, FileNotFoundError):
            break
        time.sleep(0.01)
    else:
        pytest.fail("the worker's child is still alive")


def test_threads_and_hashing_are_fixed():
    found = process.environment(3, "a folder")
    assert {found[name] for name in process.THREAD_VARIABLES} == {"3"}
    assert {found[name] for name in process.CACHES} == {"a folder"}
    assert found["PYTHONHASHSEED"] == "0"
    assert found["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"one\ntwo\n", ": two"),
        (b"\xff", ": \N{REPLACEMENT CHARACTER}"),
        (b"x" * 300, ": " + "x" * 200),
    ],
)
def test_the_last_line(said, expected):
    assert process.last_line(said) == expected


def test_instructions_without_valgrind(monkeypatch):
    monkeypatch.setattr(process.shutil, "which", lambda name: None)
    assert process.count_instructions(job()) == "valgrind is not installed"


def fake_valgrind(monkeypatch, tmp_path, body):
    path = tmp_path / "valgrind"
    path.write_text(f'#!/bin/sh\nfor a in "$@"; do case $a in --log-file=*) log=${{a#*=}};; esac; done\n{body}\n')
    path.chmod(0o755)
    monkeypatch.setattr(process.shutil, "which", lambda name: str(path))
    return process.count_instructions(job())


def test_instructions_are_read_from_the_log(monkeypatch, tmp_path):
    body = "echo '==1== Collected : 12345' > $log; echo '{}'"
    assert fake_valgrind(monkeypatch, tmp_path, body) == 12345.0


def test_callgrind_that_counts_nothing(monkeypatch, tmp_path):
    assert fake_valgrind(monkeypatch, tmp_path, "echo > $log; echo '{}'") == "callgrind printed no count"


def test_callgrind_that_fails(monkeypatch, tmp_path):
    found = fake_valgrind(monkeypatch, tmp_path, "echo no such tool >&2; exit 3")
    assert found == "under callgrind: crash: the worker ended with exit code 3: no such tool"
