"""The pool: what is started is ended, streams are worked on together, and what cannot run is asked once."""

import os
import threading
import time
from pathlib import Path

import pytest

from gradmark.measure import process
from gradmark.measure.job import Job
from gradmark.measure.nursery import possible
from gradmark.measure.orchestrator import Orchestrator, begin
from gradmark.measure.plan import Plan
from gradmark.measure.pool import Pool
from gradmark.records import Cell, Settings

TESTS = Path(__file__).parents[2]
QUICK = Settings(processes=2, blocks=2, block_ns=100_000, timeout_s=30.0, pin=False)


@pytest.fixture(autouse=True)
def faults_can_be_imported(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)


def cell(engine, workload="expression", **params):
    return Cell(engine=engine, workload=workload, suite="scalar", params=params)


def alive(pid):
    """Whether a process is there and not only its remains."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_engine_that_runs_nothing_here_is_asked_once(monkeypatch):
    pool = Pool(Settings(forked=False))
    asked = []
    real = process.run
    monkeypatch.setattr("gradmark.measure.process.run", lambda job, place=None: asked.append(job) or real(job))
    for workload in ("expression", "reuse"):
        result = pool.run(Job(kind="inspect", cell=cell("faults.engines:RunsNothing", workload), settings=QUICK))
        assert (result.status, result.message) == ("unsupported", "no device here")
    assert len(asked) == 1


def test_streams_are_given_as_they_come():
    assert sorted(Pool(QUICK).parallel([iter([1, 2]), iter([]), iter([3])])) == [1, 2, 3]


def test_the_error_of_a_stream_is_raised():
    def failing():
        yield 1
        raise ValueError("broken")

    given = Pool(QUICK).parallel([failing()])
    assert next(given) == 1
    with pytest.raises(ValueError, match="broken"):
        next(given)


def test_nothing_is_begun_when_nobody_listens_any_more():
    going = threading.Event()
    begun = []

    def stream():
        for number in range(1000):
            begun.append(number)
            yield number
            going.wait(10)

    pool = Pool(QUICK)
    given = pool.parallel([stream()])
    next(given)
    closing = threading.Thread(target=given.close)
    closing.start()
    while not pool.closed:
        time.sleep(0.001)
    going.set()
    closing.join()
    assert begun == [0, 1]  # what was under way was done


@pytest.mark.slow
@pytest.mark.parametrize(
    "forked", [pytest.param(True, marks=pytest.mark.skipif(not possible(), reason="no fork")), False]
)
def test_an_interruption_ends_what_still_runs(forked, tmp_path, monkeypatch):
    monkeypatch.setenv("STARTED", str(tmp_path))
    settings = Settings(timeout_s=300.0, pin=False, forked=forked)
    hanging = [cell("faults.engines:HangsSomewhere", "poly", n=n) for n in (10, 100, 1000)]
    run = begin(Plan(verb="run", cells=[cell("null"), *hanging], settings=settings))
    pids = []

    def watch(step):
        if step.done:  # the null engine is done
            while not pids:
                pids.extend(int(path.name) for path in tmp_path.iterdir())
                time.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Orchestrator(run, lambda event: None, watch=watch) as orchestrator:
        orchestrator.carry_out()
    deadline = time.monotonic() + 60  # the system ends the worker of a nursery that is gone, in its own time
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(alive, pids))
    assert sorted(int(path.name) for path in tmp_path.iterdir()) == sorted(pids)  # nothing was begun afterwards
