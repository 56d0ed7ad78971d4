"""One worker process: whatever happens to it is a result."""

import os
import sys
import time
from pathlib import Path

import msgspec
import pytest

from gradmark.errors import RevisionError
from gradmark.isolation.child import Ended
from gradmark.measure import process
from gradmark.measure.job import Job, Result, Stray
from gradmark.measure.origins import Origins
from gradmark.measure.process import Place
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
        ("", "crash", "the worker ended without a result (exit code 0; does something call os._exit?)"),
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
def test_endless_texts_are_cut_and_say_so():
    """Seen: an error of 50 million characters was kept whole, in the run file and in memory."""
    long = "x" * 50_000_000
    script = (
        "import json; x = 'x' * 50_000_000; "
        "print(json.dumps({'message': x, 'lacks': [x], 'warnings': [{'code': 'other', 'reason': x}]}))"
    )
    found = worker(script)
    cut = f"{long[:2000]}… (49,998,000 more characters)"
    assert (found.message, found.lacks, [w.reason for w in found.warnings]) == (cut, [cut], [cut])


def test_an_endless_answer_is_not_read(monkeypatch):
    monkeypatch.setattr("gradmark.isolation.child.MOST_ANSWERED_BYTES", 2 << 20)
    found = worker("print('x' * (3 << 20))")
    assert (found.status, found.message) == ("crash", "the worker's result has more than 2 MiB, so it was not read")


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


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "exit code 0; does something call os._exit?"),
        (b'{"message": "\xff"}', "Expected UTF-8, got the byte 0xff (byte 13)"),
        (b'{"x":' + b"[" * 100_000, "a few levels deep, got too many levels"),
        (b'{"operations": -1}', "Expected `int` >= 0 - at `$.operations`"),
        (b'{"capabilities": {"devices": []}}', "Expected `array` of length >= 1 - at `$.capabilities.devices`"),
    ],
)
def test_an_answer_that_is_none_is_a_crash(answer, reason):
    """Seen: a traceback of the orchestrator for an answer that is no text."""
    found = process.outcome(Ended(0, answer, b"one\ntwo"))
    assert found.status == "crash"
    assert found.message.startswith("the worker ended without a result (")
    assert reason in found.message
    assert found.message.endswith("): two")


ORIGINS = Origins(top="/repository", tree="/tree", folders={"/repository": "other", "/tree": "own"})


def test_a_job_is_sent_with_the_engine_and_the_file_of_its_place():
    place = Place(sys.executable, Path("/tree"), "", engine="tapegrad", origins=ORIGINS)
    mine = msgspec.structs.replace(job(), cell=Cell(engine="e", workload="w", suite="s", file="/repository/mine.py"))
    sent = place.sent(mine)
    assert (sent.cell.engine, sent.cell.file, sent.origins) == ("tapegrad", "/tree/mine.py", ORIGINS)
    plain = Place(sys.executable, Path("/tree"), "").sent(mine)
    assert plain == mine


@pytest.mark.parametrize(
    ("stray", "message"),
    [
        (
            Stray(name="m", file="/repository/m.py", through="/repository"),
            "m was loaded from /repository/m.py, through /repository on sys.path, which is not of the revision in "
            "/tree, so nothing was compared",
        ),
        (
            Stray(name="m", file="/lib/m.py", instead="/tree/m.py"),
            "m was loaded from /lib/m.py, in place of /tree/m.py",
        ),
    ],
)
def test_a_worker_that_loaded_what_is_not_its_own_is_no_result(tmp_path, stray, message):
    answer = msgspec.json.encode(Result(strays=[stray])).decode()
    place = Place(sys.executable, tmp_path, "", origins=ORIGINS)
    with pytest.raises(RevisionError) as caught:
        process.run(job(), [sys.executable, "-c", f"print({answer!r})"], place)
    assert str(caught.value).startswith(message)
