"""Another process that does nothing."""

import os

import pytest

from gradmark.measure.worker import forgetting


@pytest.mark.skipif(forgetting.IDLE_PROGRAM is None, reason="needs a program that does nothing")
def test_a_process_ran_and_none_is_left(monkeypatch):
    started = []

    def spawn(*arguments):
        started.append(os_spawn(*arguments))
        return started[-1]

    os_spawn = os.posix_spawn
    monkeypatch.setattr(os, "posix_spawn", spawn)
    forgetting.forget()
    assert len(started) == 1
    with pytest.raises(ChildProcessError):
        os.waitpid(started[0], 0)


def test_without_such_a_program_nothing_happens(monkeypatch):
    monkeypatch.setattr(forgetting, "IDLE_PROGRAM", None)
    monkeypatch.delattr(os, "posix_spawn", raising=False)
    forgetting.forget()


@pytest.mark.skipif(forgetting.IDLE_PROGRAM is None, reason="needs a program that does nothing")
def test_where_no_process_may_be_started_nothing_happens(monkeypatch):
    def refuse(*_):
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(os, "posix_spawn", refuse)
    forgetting.forget()
