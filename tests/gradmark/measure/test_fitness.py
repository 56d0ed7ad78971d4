"""What a platform lacks, and which extras are not installed: findings with what to do about each."""

import importlib.util
import os
import sys

from gradmark import requirements
from gradmark.measure import fitness


def test_linux_lacks_nothing(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("sched_setaffinity", "killpg"):
        monkeypatch.setattr(os, name, print, raising=False)
    assert list(fitness.platform()) == []


def test_what_windows_lacks(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    for name in ("sched_setaffinity", "killpg"):
        monkeypatch.delattr(os, name, raising=False)
    found = list(fitness.platform())
    assert [(check.good, check.what) for check in found] == [
        (False, "pinning: not on this platform"),
        (False, "memory limits: not on this platform"),
        (False, "process groups: not on this platform"),
        (False, "forked workers: not on this platform"),
    ]
    assert all(check.advice for check in found)


def test_what_macos_lacks(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    assert [check.what.partition(":")[0] for check in fitness.platform()] == [
        "pinning",
        "memory limits",
        "forked workers",
    ]


def hide(monkeypatch, *absent):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else sys)


def test_an_extra_that_is_there_is_not_named(monkeypatch):
    hide(monkeypatch)
    assert list(fitness.extras()) == []


def test_a_missing_extra_is_named_with_its_command(monkeypatch):
    hide(monkeypatch, "xad", "psycopg")
    found = list(fitness.extras())
    assert [(check.good, check.what, check.advice) for check in found] == [
        (
            False,
            "extra peers: without xad",
            "python -m pip install 'gradmark[peers]' for other engines to compare with",
        ),
        (
            False,
            "extra postgresql: without psycopg",
            "python -m pip install 'gradmark[postgresql]' for runs in a database",
        ),
    ]
    assert [extra.name for extra in requirements.absent_extras()] == ["peers", "postgresql"]
