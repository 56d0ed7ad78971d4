"""The nursery: forked workers give what fresh ones do, and whatever goes wrong is a result."""

import os
import threading
import time
from pathlib import Path

import msgspec
import pytest

from gradmark.measure import process
from gradmark.measure.job import Job
from gradmark.measure.nursery import Nursery, possible
from gradmark.measure.orchestrator import Orchestrator, begin
from gradmark.measure.plan import Plan
from gradmark.records import Cell, Settings

pytestmark = pytest.mark.skipif(not possible(), reason="this platform cannot fork after imports")
TESTS = Path(__file__).parents[2]
QUICK = Settings(processes=2, blocks=2, block_ns=100_000, timeout_s=30.0, pin=False, forked=True)


@pytest.fixture(autouse=True)
def faults_can_be_imported(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)


def cell(engine, workload="expression", **params):
    return Cell(engine=engine, workload=workload, suite="scalar", params=params)


def measured(cells, settings=QUICK):
    run = begin(Plan(verb="run", cells=cells, settings=settings))
    with Orchestrator(run, lambda event: None) as orchestrator:
        return orchestrator.carry_out().measurements


def alive(pid):
    """Whether a process is there and not only its remains."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def nursery():
    made = []

    def make(engine):
        made.append(Nursery(engine, QUICK))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.slow
def test_a_forked_worker_finds_what_a_fresh_one_finds():
    cells = [cell("tapegrad", "poly", n=100), cell("tapegrad", "chain", f="sin"), cell("manual")]
    forked = measured(cells)
    fresh = measured(cells, Settings(processes=2, blocks=2, block_ns=100_000, pin=False))
    for one, other in zip(forked, fresh, strict=True):
        assert (one.status, one.message, one.warnings) == ("ok", "", [])
        assert (one.tape, one.accuracy, one.operations) == (other.tape, other.accuracy, other.operations)
        assert one.memory.allocations == other.memory.allocations
        assert [s.process for s in one.samples] == [0, 1]
        assert [list(s.phases) for s in one.samples] == [list(s.phases) for s in other.samples]


@pytest.mark.slow
def test_the_import_of_a_round_is_that_of_its_nursery():
    first, second = measured([cell("tapegrad"), cell("tapegrad", "poly", n=10)])
    for one, other in zip(first.samples, second.samples, strict=True):
        assert one.once_ns["import"] == other.once_ns["import"] > 0
    assert first.samples[0].once_ns["import"] != first.samples[1].once_ns["import"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "status", "message"),
    [
        ("Crash", "crash", "the worker was ended by SIG"),
        ("Exit", "crash", "the worker ended with"),
        ("WrongGradient", "wrong-gradient", "the gradient is off by"),
        ("OutOfMemory", "out-of-memory", ""),
        ("Prints", "ok", ""),
        ("LeavesAChild", "ok", ""),
        ("not_there", "error", "faults.engines has no 'not_there'"),
    ],
)
def test_what_goes_wrong_is_a_result_and_the_next_job_runs(nursery, engine, status, message):
    home = nursery(f"faults.engines:{engine}")
    for _ in range(2):
        result = home.run(Job(kind="inspect", cell=cell(f"faults.engines:{engine}"), settings=QUICK))
        assert result.status == status
        assert result.message.startswith(message)


@pytest.mark.slow
def test_a_worker_that_hangs_is_ended_and_the_nursery_goes_on(nursery):
    home = nursery("faults.engines:Hang")
    short = Settings(timeout_s=1.0, pin=False, forked=True)
    for _ in range(2):
        result = home.run(Job(kind="inspect", cell=cell("faults.engines:Hang"), settings=short))
        assert (result.status, result.message[:19]) == ("timeout", "no result after 1 s")


def test_what_a_worker_started_ends_with_the_nursery(nursery, tmp_path, monkeypatch):
    monkeypatch.setenv("STARTED", str(tmp_path))
    home = nursery("faults.engines:HangsWithAChild")
    job = Job(kind="inspect", cell=cell("faults.engines:HangsWithAChild"), settings=QUICK)
    waiting = threading.Thread(target=home.run, args=(job,))
    waiting.start()
    while not (pids := [int(path.name) for path in tmp_path.iterdir()]):
        time.sleep(0.01)
    home.close()
    waiting.join()
    deadline = time.monotonic() + 60
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(alive, pids))
    assert home.run(job).message == "the run was ended meanwhile"


@pytest.mark.slow
def test_a_nursery_that_was_lost_is_replaced_by_a_fresh_process(nursery):
    home = nursery("tapegrad")
    job = Job(kind="inspect", cell=cell("tapegrad"), settings=QUICK)
    assert home.run(job).status == "ok"
    home.child.process.kill()
    home.child.process.wait()
    assert home.run(job).status == "ok"
    assert home.run(job).status == "ok"


@pytest.mark.slow
def test_an_engine_that_reads_standard_input_does_not_get_the_jobs(nursery):
    """Seen: it waited for ever, or took a job away."""
    home = nursery("faults.waiting:Own")
    for _ in range(2):
        result = home.run(Job(kind="inspect", cell=cell("faults.waiting:Own"), settings=QUICK))
        assert (result.status, result.message) == ("ok", "")
    assert home.forks


@pytest.mark.slow
def test_an_import_has_the_time_of_a_job(nursery, monkeypatch):
    """Seen: a nursery had a minute more than was asked for, and then a fresh worker had its time too."""
    monkeypatch.setenv("WAITING_S", "600")
    monkeypatch.setattr(process, "run", lambda job: pytest.fail("a fresh worker was started"))
    home = nursery("faults.waiting:Own")
    result = home.run(
        Job(kind="inspect", cell=cell("faults.waiting:Own"), settings=Settings(timeout_s=1.0, forked=True))
    )
    assert (result.status, result.message) == ("timeout", "no result after 1 s")
    assert home.child is None


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["LeavesSessions", "HangsWithSessions"])
def test_what_a_worker_left_in_other_sessions_ends_with_its_job(nursery, tmp_path, monkeypatch, engine):
    started = tmp_path / "started"
    started.mkdir()
    monkeypatch.setenv("STARTED", str(started))
    home = nursery(f"faults.escaping:{engine}")
    settings = Settings(timeout_s=5.0, pin=False, forked=True)
    for _ in range(2):
        result = home.run(Job(kind="repeat", cell=cell(f"faults.escaping:{engine}"), settings=settings))
        assert result.status == ("ok" if engine == "LeavesSessions" else "timeout")
        assert not any(alive(path.name) for path in started.iterdir())
    assert len(list(started.iterdir())) == 4


def test_a_worker_ends_when_nobody_waits_for_its_result(nursery, tmp_path, monkeypatch):
    """The orchestrator is gone: its side of the pipe is closed."""
    monkeypatch.setenv("STARTED", str(tmp_path))
    home = nursery("faults.engines:HangsSomewhere")
    child = home._child()
    job = Job(kind="inspect", cell=cell("faults.engines:HangsSomewhere"), settings=QUICK)
    child.process.stdin.write(msgspec.json.encode(job) + b"\n")
    child.process.stdin.flush()
    while not (pids := [int(path.name) for path in tmp_path.iterdir()]):
        time.sleep(0.01)
    child.process.stdin.close()
    assert child.process.wait(60) == 0
    assert not any(map(alive, pids))


def test_an_engine_with_threads_is_not_forked(nursery):
    home = nursery("faults.engines:HasThreads")
    result = home.run(Job(kind="time", cell=cell("faults.engines:HasThreads"), settings=QUICK))
    assert result.status == "ok"
    assert result.sample.once_ns["import"] > 0
    assert home.child.process.poll() is None


@pytest.mark.slow
def test_a_first_call_that_found_its_code_on_disk_is_not_shown():
    (found,) = measured([cell("faults.engines:Caches")], msgspec.structs.replace(QUICK, shared_cache=True))
    once = [sample.once_ns["first_call"] for sample in found.samples]
    assert once[0] == once[1] > 0.2e9  # the first process compiled, which took that long


def test_the_cache_of_a_nursery_goes_with_it(nursery):
    home = nursery("null")
    assert home.run(Job(kind="time", cell=cell("null"), settings=QUICK)).status == "ok"
    folder = Path(home.own.name)
    assert folder.is_dir()
    home.close()
    assert not folder.exists()
