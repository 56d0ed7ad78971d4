"""The watching process: visits in turns, and what becomes of one that fails."""

import sys

import pytest

from gradmark.errors import GradmarkError
from gradmark.measure import watching
from gradmark.measure.watching import Order, allowed, carry_out, watch


def test_cores_are_visited_in_turns():
    cores = allowed()[-2:]
    visits = watch(Order(cores=cores, rounds=2, visit_ns=1_000_000))
    assert [visit.core for visit in visits] == (cores or [0]) * 2
    for visit in visits:
        times = [at_ns for at_ns, _ in visit.pilots]
        assert times[0] == 0
        assert times == sorted(set(times))
        assert times[-1] < 1_000_000
        assert all(ns > 0 for _, ns in visit.pilots)


def test_where_a_process_cannot_choose_its_core(monkeypatch):
    monkeypatch.delattr(watching.os, "sched_setaffinity", raising=False)
    assert allowed() == []
    assert [visit.core for visit in carry_out(Order(cores=[], rounds=2, visit_ns=1))] == [0, 0]


def test_the_shortest_visit_has_a_pilot():
    (visit,) = carry_out(Order(cores=[], rounds=1, visit_ns=1))
    assert len(visit.pilots) == 1


def test_a_process_that_fails(monkeypatch):
    monkeypatch.setattr(watching, "COMMAND", [sys.executable, "-c", "raise SystemExit('no luck')"])
    with pytest.raises(GradmarkError, match="the watching process ended with exit code 1: no luck"):
        watch(Order(cores=[], rounds=1, visit_ns=1))


def test_a_process_that_does_not_end(monkeypatch):
    monkeypatch.setattr(watching, "COMMAND", [sys.executable, "-c", "import time; time.sleep(60)"])
    monkeypatch.setattr(watching, "PATIENCE_S", 0.01)
    with pytest.raises(GradmarkError, match="did not end within 0 s"):
        watch(Order(cores=[], rounds=1, visit_ns=1))
