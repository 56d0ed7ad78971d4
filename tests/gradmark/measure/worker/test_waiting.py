"""What a thread waited for its core."""

import os
import subprocess
import sys
import time

import pytest

from gradmark.measure.worker.waiting import Waiting

linux = pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="needs the counts of a Linux kernel")


def answers(monkeypatch, *counts):
    """A kernel that says these: what was waited, and what other threads of the process computed."""
    left = list(counts)
    monkeypatch.setattr(Waiting, "_read", lambda self: left.pop(0))
    return Waiting()


def test_only_what_was_waited_since_the_last_question(monkeypatch):
    waiting = answers(monkeypatch, (500, 0), (700, 0), (700, 0))
    assert [waiting.since_last(), waiting.since_last()] == [200.0, 0.0]


def test_threads_of_the_engine_are_its_own_doing(monkeypatch):
    waiting = answers(monkeypatch, (0, 0), (900, 600), (1000, 900))
    assert [waiting.since_last(), waiting.since_last()] == [300.0, 0.0]


def test_without_counts_nothing_was_waited(monkeypatch):
    def refuse(*_):
        raise FileNotFoundError

    monkeypatch.setattr(os, "open", refuse)
    assert Waiting().since_last() == 0.0


@pytest.fixture
def one_core():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[-1:])
    yield
    os.sched_setaffinity(0, before)


def work():
    """Until a quarter of a second of this thread's own time has passed."""
    until = time.thread_time() + 0.25
    while time.thread_time() < until:
        pass


@linux
def test_another_process_on_the_core_is_seen(one_core):
    other = subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE)
    try:
        other.stdout.readline()
        waiting = Waiting()
        work()
        assert waiting.since_last() > 0
    finally:
        other.kill()
        other.communicate()


@linux
def test_the_file_is_closed_with_it():
    waiting = Waiting()
    number = waiting._file
    os.fstat(number)
    del waiting
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)
