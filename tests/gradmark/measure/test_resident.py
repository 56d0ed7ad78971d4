"""The resident: the rows of an engine on a device share a process; one that fails takes no other with it."""

import itertools
import os
from pathlib import Path

import pytest

from gradmark.measure.job import Job
from gradmark.measure.orchestrator import Orchestrator, _shares, begin
from gradmark.measure.plan import Plan
from gradmark.measure.pool import Pool
from gradmark.records import Cell, Settings

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[2]
QUICK = Settings(processes=2, device_processes=2, blocks=2, block_ns=100_000, timeout_s=30.0, pin=False)


@pytest.fixture(autouse=True)
def faults_can_be_imported(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)


@pytest.fixture
def pool():
    pool = Pool(QUICK)
    yield pool
    pool.close()


def cell(engine, workload="poly", device="virtual", **params):
    return Cell(
        engine=f"faults.device_engines:{engine}", workload=workload, suite="scalar", params=params, device=device
    )


def job(of, kind="inspect", process=0, settings=QUICK):
    return Job(kind=kind, cell=of, settings=settings, process=process)


SMALL, LARGE, SHARED = ("poly", {"n": 10}), ("poly", {"n": 100}), ("shared", {"k": 4})


def results(pool, engine, *rows, settings=QUICK):
    return [pool.run(job(cell(engine, name, **params), settings=settings)) for name, params in rows]


def test_rows_of_an_engine_share_a_process_and_engines_do_not(pool):
    first, second = results(pool, "Resident", SMALL, LARGE)
    (other,) = results(pool, "Another", SMALL)
    assert (first.status, second.status, other.status) == ("ok", "ok", "ok")
    assert first.tape.instructions == second.tape.instructions != other.tape.instructions
    assert os.getpid() not in (first.tape.instructions, other.tape.instructions)


def test_what_is_timed_has_the_device_to_itself(pool):
    pool.run(job(cell("Resident", n=10), kind="time"))
    (alone,) = (home.child for home, _ in pool.residents.values())
    pool.run(job(cell("Another", n=10), kind="time"))
    assert alone.process.returncode is not None
    assert len(pool.residents) == 1


def test_importing_is_paid_once(pool):
    first, second = (pool.run(job(cell("Resident", n=n), kind="time")).sample for n in (10, 100))
    assert first.once_ns["import"] == second.once_ns["import"] > 0


def test_the_next_process_imports_its_engine_beside_others(pool):
    pool.ahead = 2
    for number in range(3):
        pool.import_ahead(cell("Another", n=10), number)
    assert sorted(pool.residents) == [("faults.device_engines:Another", "time", number, 0) for number in (0, 1)]
    waiting = pool.residents["faults.device_engines:Another", "time", 0, 0][0].child
    pool.run(job(cell("Resident", n=10), kind="time"))
    assert waiting.process.returncode is None  # it has the device no more than a process that was not begun
    timed = pool.run(job(cell("Another", n=10), kind="time"))
    assert timed.sample.once_ns["import"] > 0
    assert pool.residents["faults.device_engines:Another", "time", 0, 0][0].child is waiting


def test_where_cores_are_few_nothing_is_imported_ahead(monkeypatch):
    monkeypatch.setattr("gradmark.measure.pool.environment.cores", lambda: 4)
    few = Pool(QUICK)
    few.import_ahead(cell("Another", n=10), 0)
    assert few.residents == {}


@pytest.mark.parametrize(
    ("cores", "engines", "parts"), [(2, 1, [0, 0, 0]), (4, 1, [0, 1, 0]), (16, 4, [0, 1, 0]), (16, 2, [0, 1, 2])]
)
def test_workloads_are_inspected_in_as_many_processes_as_there_are_cores_for(monkeypatch, cores, engines, parts):
    monkeypatch.setattr("gradmark.measure.orchestrator.environment.cores", lambda: cores)
    cells = [cell(f"E{k}", name) for name in ("poly", "shared", "chain") for k in range(engines)]
    assert list(_shares([*cells, Cell(engine="null", workload="expression", suite="scalar")]).values())[:3] == parts


@pytest.mark.parametrize(
    ("engine", "status", "message"),
    [
        ("CrashesOnShared", "crash", "SIGSEGV"),
        ("RaisesOnShared", "error", "an illegal memory access was encountered"),
    ],
)
def test_a_row_that_fails_is_a_result_and_the_next_has_a_process_of_its_own(pool, engine, status, message):
    before, failed, after = results(pool, engine, SMALL, SHARED, SMALL)
    assert (failed.status, message in failed.message) == (status, True)
    assert (before.status, after.status) == ("ok", "ok")
    assert before.tape.instructions != after.tape.instructions


@pytest.mark.slow
def test_a_row_that_hangs_is_ended(pool):
    brief = Settings(timeout_s=3.0, pin=False)
    failed, after = results(pool, "HangsOnShared", SHARED, SMALL, settings=brief)
    assert (failed.status, failed.message) == ("timeout", "no result after 3 s")
    assert after.status == "ok"


def test_a_closed_pool_runs_nothing(pool):
    (first,) = results(pool, "Resident", SMALL)
    pool.close()
    (late,) = results(pool, "Resident", SMALL)
    assert (first.status, late.message) == ("ok", "the run was ended meanwhile")


def test_both_devices_in_one_run():
    """CPU rows have their processes, and rows of a device theirs, after them and engine by engine."""
    cells = [
        cell("Resident", n=10),
        cell("Another", n=10),
        cell("Resident", n=100),
        Cell(engine="null", workload="expression", suite="scalar"),
    ]
    settings = Settings(processes=1, device_processes=2, blocks=2, block_ns=100_000, memory=False, pin=False)
    steps = []
    begun = begin(Plan(verb="run", cells=cells, settings=settings))
    with Orchestrator(begun, lambda event: None, watch=steps.append) as orchestrator:
        run = orchestrator.carry_out()
    assert {m.cell.id: (m.status, len(m.samples)) for m in run.measurements} == {
        each.id: ("ok", settings.processes_of(each)) for each in cells
    }
    engines = [step.cell.rpartition("@")[2] for step in steps if step.kind == "sample" and step.cell]
    assert engines[0] == "null"
    for round_ in (engines[1:4], engines[4:7]):
        assert len({name for name, other in itertools.pairwise(round_) if name != other}) == 1
