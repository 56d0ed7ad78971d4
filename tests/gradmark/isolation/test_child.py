"""A child: whatever happens to it is an end, and it takes along all that it started."""

import errno
import os
import sys

import pytest

from gradmark.errors import GradmarkError
from gradmark.isolation import child, janitor
from gradmark.isolation.child import Ended

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the processes")


def asked(script, request=b"", timeout_s=30.0):
    return child.ask([sys.executable, "-c", script], request, timeout_s=timeout_s, environment=os.environ)


def test_a_request_goes_in_and_an_answer_comes_out():
    script = "import sys; print(sys.stdin.read()[::-1], end=''); print('words', file=sys.stderr)"
    assert asked(script, b"x" * 100_000 + b"abc") == Ended(0, b"cba" + b"x" * 100_000, b"words\n")


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("raise SystemExit(7)", "ended with exit code 7"),
        ("raise ValueError('a last word')", "ended with exit code 1: ValueError: a last word"),
        ("import os; os.kill(os.getpid(), 11)", "was ended by SIGSEGV"),
    ],
)
def test_how_it_ended(script, how):
    assert asked(script).how == how


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("script", ["", "raise SystemExit(1)", "import os; os.kill(os.getpid(), 11)"])
def test_a_full_disk_is_no_end_of_a_child(monkeypatch, script):
    """Seen: a worker that could not write its answer was a crash of the engine, and became part of the baseline."""
    monkeypatch.setattr(child.os, "write", full)
    with pytest.raises(GradmarkError, match=r"temporary files cannot be written to .*: No space left on device; make"):
        asked(script)


def test_a_request_that_the_disk_does_not_take(monkeypatch):
    """Seen: a traceback."""
    monkeypatch.setattr(child.tempfile, "TemporaryFile", full)
    with pytest.raises(GradmarkError, match="temporary files cannot be written"):
        asked("", b"x" * 100_000)


def test_a_command_that_is_not_there(tmp_path):
    with pytest.raises(GradmarkError, match=r"nothing cannot be started: No such file or directory"):
        child.ask([str(tmp_path / "nothing")], b"", timeout_s=1.0, environment={})


def test_what_a_child_says_does_not_fill_the_disk(monkeypatch):
    """Seen: all of it was kept in a file while the child ran."""
    monkeypatch.setattr(child, "MOST_SAID_BYTES", 10_000)
    monkeypatch.setattr(child, "LOOK_EVERY_S", 0.01)
    script = (
        "import os, time\n"
        "for _ in range(3):\n"
        "    os.write(2, b'x' * 20_000)\n"
        "    while os.fstat(2).st_size: time.sleep(0.01)\n"
        "os.write(2, b'the end')\n"
    )
    assert asked(script) == Ended(0, b"", b"the end")


LEAVES = (
    "import os, subprocess, sys, time\n"
    "with_mark = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    "without = subprocess.Popen(['sleep', '600'], start_new_session=True, env={{}})\n"
    "open({note!r}, 'w').write(f'{{with_mark.pid}} {{without.pid}}')\n"
)


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize(
    ("then", "code", "gone"),
    [
        ("time.sleep(600)", None, 2),
        ("os.kill(os.getpid(), 11)", -11, 1),  # what gave up its mark before a crash cannot be found any more
    ],
)
def test_a_session_of_its_own_does_not_save_what_it_started(tmp_path, then, code, gone):
    """Seen: a child that began a session outlived its worker."""
    note = tmp_path / "pids"
    ended = asked(LEAVES.format(note=str(note)) + then, timeout_s=2.0)
    assert ended.code == code
    pids = list(map(int, note.read_text().split()))
    running = janitor.running()
    assert [pid for pid in pids if pid in running] == pids[gone:]
    janitor.end(lambda: {pid for pid in pids if pid in janitor.running()})


def test_one_that_holds_standard_output_does_not_keep_us_waiting():
    assert asked("import os, time\nif os.fork() == 0: time.sleep(600)\nos._exit(0)").code == 0


def test_threads_and_hashing_are_fixed():
    found = child.environment(3, "a folder")
    assert {found[name] for name in child.THREAD_VARIABLES} == {"3"}
    assert {found[name] for name in child.CACHES} == {"a folder"}
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
    assert child.last_line(said) == expected
