"""The measuring core, end to end through real worker processes: what is right is measured, each fault is seen."""

import math
import os
import sys
from pathlib import Path

import msgspec
import pytest

from gradmark.measure import process
from gradmark.measure.job import Job, Result
from gradmark.measure.orchestrator import LONGEST_WAIT_S, WAITING_SHARE, Orchestrator, begin, is_smaller
from gradmark.measure.plan import Plan, cells_of
from gradmark.measure.process import Place
from gradmark.records import Accuracy, Cell, Code, Measurement, Memory, Phase, Sample, Settings
from gradmark.records.event import Counted, Finished, GrowingRun, Inspected, Sampled, Stopped
from gradmark.records.metric import metric
from gradmark.records.times import times, warnings
from gradmark.workloads.selection import select

TESTS = Path(__file__).parents[2]
QUICK = Settings(processes=1, blocks=2, block_ns=100_000, timeout_s=30.0, memory=False, pin=False)
NO_MEMORY = "switched off with --no-memory"


@pytest.fixture(autouse=True)
def faults_can_be_imported(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)


def begun(cells, settings=QUICK, **more):
    return begin(Plan(verb="run", cells=cells, settings=settings, **more))


def measured(cells, settings=QUICK):
    with Orchestrator(begun(cells, settings), lambda event: None) as orchestrator:
        return orchestrator.carry_out().measurements


def cell(engine, workload="expression", **params):
    return Cell(engine=engine, workload=workload, suite="scalar", params=params)


def faulty(name, workload="expression", settings=QUICK, **params):
    (found,) = measured([cell(f"faults.engines:{name}", workload, **params)], settings)
    return found


@pytest.mark.slow
def test_an_engine_that_is_right():
    (found,) = measured([cell("tapegrad")], Settings(processes=2, blocks=2, block_ns=100_000))
    assert (found.status, found.message, found.warnings) == ("ok", "", [])
    assert found.operations == 3
    assert found.tape.instructions == 3
    assert (found.memory.allocations, found.memory.leaked_bytes) == (0.0, 0.0)
    assert found.memory.retained_bytes > 0
    assert found.accuracy.reference == "mpmath, 50 digits"
    assert found.accuracy.ulps <= 2
    assert [sample.process for sample in found.samples] == [0, 1]
    for sample in found.samples:
        assert {name: phase.how for name, phase in sample.phases.items()} == dict.fromkeys(
            ["primal", "forward", "backward", "total"], "measured"
        )
        assert all(len(phase.block_ns) >= 2 for phase in sample.phases.values())  # more where some were not calm
        assert set(sample.once_ns) == {"import", "prepare", "first_call", "warm_up"}
        assert math.isfinite(sample.harness_ns)


@pytest.mark.slow
def test_what_a_worker_did_not_time_is_not_in_the_sample():
    (found,) = measured([cell("tapegrad:program")])
    assert "backward" not in found.samples[0].phases


@pytest.mark.slow
def test_engines_that_only_evaluate():
    floats, null = measured([cell("python-floats"), cell("null")])
    assert list(floats.samples[0].phases) == ["primal"]
    assert (floats.accuracy, floats.memory.reason) == (None, "python-floats evaluates only")
    assert set(null.samples[0].phases) == {"primal", "forward", "backward", "total"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("WrongGradient", "wrong-gradient", r"off by 1.0e-06 relative"),
        ("NotANumber", "wrong-gradient", "the gradient with respect to x is nan"),
        ("TooFew", "error", "gradients() returned 0; expected 1, one number for each input"),
        ("Crash", "crash", "ended by SIGSEGV"),
        ("Exit", "crash", "exit code 7"),
        ("Raises", "error", "engines.py, line"),
        ("Unsupported", "unsupported", "this engine has no numbers"),
        ("NoSuchDtype", "unsupported", "has no dtype float64; it has float32"),
        ("NotAnEngine", "error", "lacks name, capabilities, prepare"),
        ("Missing", "error", "has no 'Missing'"),
        ("OutOfMemory", "out-of-memory", "more than the limit of 8.0 GiB"),
    ],
)
def test_what_goes_wrong_is_a_result(name, status, message):
    found = faulty(name)
    assert found.status == status
    assert message in found.message
    assert found.samples == []


@pytest.mark.slow
def test_a_hang_is_ended():
    found = faulty("Hang", settings=Settings(timeout_s=2.0))
    assert (found.status, found.samples) == ("timeout", [])
    assert "no result after 2 s" in found.message


@pytest.mark.slow
def test_one_fault_does_no_harm_to_others():
    cells = [cell("faults.engines:Crash"), cell("tapegrad"), cell("faults.engines:Raises")]
    assert [m.status for m in measured(cells)] == ["crash", "ok", "error"]


@pytest.mark.slow
def test_what_an_engine_prints_is_not_the_result():
    assert faulty("Prints").status == "ok"


COUNTED = Settings(processes=1, blocks=2, block_ns=100_000, pin=False)


@pytest.mark.slow
def test_a_leak_is_seen():
    found = faulty("Leak", settings=COUNTED)
    assert 1000 <= found.memory.leaked_bytes <= 1200
    assert faulty("Faulty", settings=COUNTED).memory.leaked_bytes == 0.0


@pytest.mark.slow
def test_one_allocation_per_operation_is_seen():
    found = faulty("Allocates", "poly", COUNTED, n=100)
    assert found.tape.instructions == 200
    assert 200 <= found.memory.allocations <= 210
    assert 200 * 600 <= found.memory.allocated_bytes <= 200 * 700


@pytest.mark.slow
def test_an_engine_that_returns_too_early_is_seen():
    found = faulty("Late")
    assert (found.status, found.samples) == ("untimed-work", [])
    assert "the work is done when it is read" in found.message
    assert faulty("Faulty").samples[0].warnings == []


@pytest.mark.slow
def test_an_engine_of_which_nobody_knows_how_long_reading_takes_is_suspected():
    found = faulty("Untold")
    assert (found.status, len(found.samples)) == ("ok", 1)
    assert [warning.code for warning in found.warnings] == [Code.UNFINISHED]
    assert [warning.code for warning in found.samples[0].warnings] == [Code.UNFINISHED]


@pytest.mark.slow
def test_a_backward_that_cannot_be_repeated_is_computed():
    settings = Settings(processes=4, blocks=2, memory=False)
    found = faulty("OnceBackward", settings=settings)
    assert [sample.warnings for sample in found.samples] == [[], [], [], []]  # one process proves nothing
    assert metric("backward").read(found, times(found)).how == "derived"
    assert [warning.code for warning in warnings(found)] == [Code.UNREPEATABLE]


@pytest.mark.slow
def test_an_engine_that_turns_wrong_while_it_is_timed():
    found = faulty("WrongLater")
    assert (found.status, found.samples) == ("wrong-gradient", [])
    assert found.accuracy.relative_error > found.accuracy.tolerance
    assert found.accuracy.ulps > 1e6


@pytest.mark.slow
def test_a_backward_that_cannot_be_told_is_not_a_number():
    found = faulty("Fused")
    assert "backward" not in found.samples[0].phases


@pytest.mark.slow
def test_allocations_are_those_of_the_steady_state():
    assert faulty("WarmAllocations", settings=COUNTED).memory.allocations == 6.0  # the loop in it is one


@pytest.mark.slow
def test_a_compiled_engine_is_not_credited_with_the_plain_loop():
    (found,) = measured([cell("tapegrad:program", "chain", f="sin")], COUNTED)
    assert found.memory.plain_allocations == 1.0  # of the counting loop itself
    assert found.memory.allocations == found.memory.gross_allocations - 1.0


@pytest.mark.slow
def test_what_a_worker_leaves_behind_does_not_hold_it_up():
    assert (
        faulty("LeavesAChild", settings=Settings(processes=1, blocks=2, block_ns=100_000, timeout_s=15.0)).status
        == "ok"
    )


def test_a_module_of_the_user_s_does_not_hide_python_s_own(tmp_path, monkeypatch):
    (tmp_path / "random.py").write_text("raise RuntimeError('this is not the one that was meant')")
    monkeypatch.chdir(tmp_path)
    (found,) = measured([cell("null")])
    assert found.status == "ok"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this platform cannot keep processes on cores")
@pytest.mark.parametrize("threads", [1, 2])
def test_workers_have_as_many_cores_as_threads(threads):
    cores = min(threads, len(os.sched_getaffinity(0)))
    job = Job(kind="time", cell=cell("faults.engines:ShowsCores"), settings=Settings(threads=threads))
    assert process.run(job).message == f"{cores} cores"


@pytest.mark.slow
def test_larger_sizes_of_what_failed_are_skipped():
    sizes = [10, 100, 1000]
    found = measured([cell("faults.engines:OnlyBelow", "poly", n=n) for n in sizes])
    assert [m.status for m in found] == ["ok", "crash", "skipped"]
    assert found[2].message == "poly/n=100 failed: crash"


@pytest.mark.slow
def test_a_user_s_workload_and_a_broken_one():
    path = str(TESTS / "faults" / "workloads.py")
    cells = cells_of(select([path]), ["tapegrad"], full=True)
    assert [c.row for c in cells] == ["fine/n=3", "fine/n=5", "fine/n=7", "broken"]
    assert {c.file for c in cells} == {path}
    found = measured(cells)
    assert [m.status for m in found] == ["ok", "ok", "ok", "error"]
    assert found[3].message == (
        "workloads.py, line 16, `return x * undefined_name  # noqa: F821  that is the fault`: "
        "NameError: name 'undefined_name' is not defined"
    )


EXACT = Accuracy(reference="r", relative_error=0.0, tolerance=1e-9)


class Answers:
    """In place of the pool: answers without a process, and notes what was asked."""

    def __init__(self, answer=None):
        self.asked = []
        self.answer = answer or (lambda job: None)

    def run(self, job):
        self.asked.append(job)
        given = self.answer(job)
        if given is not None:
            return given
        if job.kind == "inspect":
            return Result(memory=Memory(reason="none"), iteration_ns=1000.0)
        sample = Sample(process=job.process, phases={}, once_ns={}, harness_ns=1.0, clock_ns=1.0)
        return Result(sample=sample)

    def instructions(self, job):
        self.asked.append(job)
        return 500.0 + 40.0 * job.iterations

    def parallel(self, streams):
        for stream in streams:
            yield from stream

    def close(self):
        pass


def without_processes(run, keep=lambda event: None, answer=None, **more):
    orchestrator = Orchestrator(run, keep, **more)
    orchestrator.pool = Answers(answer)
    return orchestrator


def timed(orchestrator):
    return [(job.cell.id, job.process) for job in orchestrator.pool.asked if job.kind == "time"]


def test_the_order_of_a_round_is_random_and_the_same_for_the_same_seed():
    cells = [cell("null", "poly", n=n) for n in range(8)]

    def order(seed):
        orchestrator = without_processes(begun(cells, Settings(seed=seed, processes=2)))
        orchestrator.carry_out()
        return timed(orchestrator)

    assert order(0) == order(0) != order(1)
    assert sorted(order(0)) == sorted(order(1))
    assert [number for _, number in order(0)] == [0] * 8 + [1] * 8


def test_every_sample_is_one_event():
    cells = [cell("null", "poly", n=n) for n in range(40)]
    events = []
    run = without_processes(begun(cells, Settings(processes=10)), events.append).carry_out()
    kinds = [type(event) for event in events]
    assert (kinds.count(Inspected), kinds.count(Sampled), kinds.count(Finished)) == (40, 400, 1)
    assert len(events) == 441
    assert len({(event.cell, event.sample.process) for event in events if isinstance(event, Sampled)}) == 400
    assert [[s.process for s in m.samples] for m in run.measurements] == [list(range(10))] * 40
    assert run.finished


def test_the_events_add_up_to_the_run():
    first = begun([cell("null", "poly", n=n) for n in range(3)], Settings(processes=2, instructions=True))
    events = []
    run = without_processes(first, events.append).carry_out()
    grown = GrowingRun(first)
    for event in events:
        grown.add(event)
    assert grown.run == run


def test_inspection_only():
    orchestrator = without_processes(begun([cell("null")], Settings(processes=0)))
    (found,) = orchestrator.carry_out().measurements
    assert (found.status, found.samples) == ("ok", [])
    assert [job.kind for job in orchestrator.pool.asked] == ["inspect"]


def test_what_is_known_beforehand_needs_no_process():
    known = Measurement(cell=cell("tapegrad", "matmul"), status="unsupported", message="no tensors")
    plan = Plan(verb="run", cells=[cell("null")], known=[known], settings=Settings(processes=1))
    events = []
    orchestrator = without_processes(begin(plan), events.append, known=plan.known)
    run = orchestrator.carry_out()
    assert [(m.cell.workload, m.status) for m in run.measurements] == [("expression", "ok"), ("matmul", "unsupported")]
    assert {job.cell.workload for job in orchestrator.pool.asked} == {"expression"}
    assert events[0] == Inspected(measurement=known)


def sides(*rows):
    return [msgspec.structs.replace(row, side=side) for row in rows for side in ("before", "now")]


def test_the_two_sides_of_a_row_follow_each_other_in_random_order():
    cells = sides(*(cell("null", "poly", n=n) for n in range(6)))
    orchestrator = without_processes(begun(cells, Settings(processes=8)))
    orchestrator.carry_out()
    pairs = [timed(orchestrator)[k : k + 2] for k in range(0, 2 * 6 * 8, 2)]
    for (first, number), (second, same) in pairs:
        assert number == same
        assert {first, second} == {first.split(" (")[0] + side for side in (" (before)", " (now)")}
    leaders = [first.endswith("(now)") for (first, _), _ in pairs]
    assert 10 < sum(leaders) < 38


def test_more_rounds_of_some_cells_go_on_with_the_numbers():
    cells = [cell("null", "poly", n=n) for n in range(3)]
    orchestrator = without_processes(begun(cells, Settings(processes=2)))
    orchestrator.inspect()
    orchestrator.sample(cells, range(2))
    orchestrator.sample(cells[:1], range(2, 4))
    assert [[s.process for s in m.samples] for m in orchestrator.run.measurements] == [[0, 1, 2, 3], [0, 1], [0, 1]]


def test_rounds_are_added_for_what_is_not_settled():
    cells = [cell("null", "poly", n=n) for n in range(3)]
    orchestrator = without_processes(begun(cells, Settings(processes=2, most_processes=4)))
    run = orchestrator.carry_out(lambda run: [run.measurements[1].cell])
    assert [len(m.samples) for m in run.measurements] == [2, 4, 2]
    assert run.finished


@pytest.mark.parametrize(("settings", "whole"), [((9, 11), 6), ((9, 9), 9), ((2, 11), 2)])
def test_further_processes_time_only_what_stands_for_the_row(settings, whole):
    least, most = settings
    total = Phase(iterations=1, block_ns=[1.0], harness_ns=0.0)
    sample = Sample(process=0, phases={"total": total}, once_ns={}, harness_ns=1.0, clock_ns=1.0)
    answer = lambda job: Result(sample=sample) if job.kind == "time" else None  # noqa: E731
    settings = Settings(processes=least, most_processes=most)
    orchestrator = without_processes(begun([cell("null", "poly", n=1)], settings), answer=answer)
    orchestrator.carry_out(lambda run: [run.measurements[0].cell])
    alone = [job.alone for job in orchestrator.pool.asked if job.kind == "time"]
    assert alone == [""] * whole + ["total"] * (most - whole)


@pytest.mark.parametrize(("step_s", "samples"), [(0.0, [9, 9]), (1.0, [6, 6])])
def test_rounds_end_when_the_time_of_the_cells_that_work_is_spent(monkeypatch, step_s, samples):
    """Two of three cells work, and have 2 s each. A further round takes a second: none begins after the fourth."""
    clock = [0.0]
    monkeypatch.setattr("gradmark.measure.orchestrator.time.monotonic", lambda: clock[0])
    cells = [cell("null", "poly", n=n) for n in range(3)]

    def answer(job):
        clock[0] += step_s / 2 if job.kind == "time" and job.process >= 2 else 0.0
        return Result(status="crash") if job.cell.params["n"] == 2 else None

    settings = Settings(processes=2, most_processes=9, cell_s=2.0)
    run = without_processes(begun(cells, settings), answer=answer).carry_out(lambda run: cells[:2])
    assert [len(m.samples) for m in run.measurements] == [*samples, 0]
    assert run.finished


def test_the_time_that_is_left_is_for_waiting(monkeypatch):
    """Four samples of two cells with 2 s each: half of what is left, shared, and never more than the longest wait."""
    clock = [0.0]
    monkeypatch.setattr("gradmark.measure.orchestrator.time.monotonic", lambda: clock[0])

    def answer(job):
        clock[0] += 1.5 if job.kind == "time" else 0.0

    cells = [cell("null", "poly", n=n) for n in range(2)]
    orchestrator = without_processes(begun(cells, Settings(processes=2, cell_s=2.0)), answer=answer)
    orchestrator.carry_out()
    assert [job.patience_s for job in orchestrator.pool.asked if job.kind == "time"] == [
        LONGEST_WAIT_S,
        WAITING_SHARE * 2.5 / 3,
        WAITING_SHARE * 1.0 / 2,
        0.0,
    ]
    orchestrator = without_processes(begun(cells, Settings(processes=1)))
    orchestrator.carry_out()
    assert [job.patience_s for job in orchestrator.pool.asked if job.kind == "time"] == [0.0, 0.0]


def test_a_cell_that_stops_working_keeps_its_samples_and_its_pair_ends():
    def answer(job):
        broken = job.kind == "time" and job.process == 1 and job.cell.side == "now"
        return Result(status="crash", message="gone") if broken else None

    events = []
    orchestrator = without_processes(begun(sides(cell("null")), Settings(processes=4)), events.append, answer)
    before, now = orchestrator.carry_out().measurements
    assert (now.status, now.message, [s.process for s in now.samples]) == ("crash", "gone", [0])
    assert before.status == "ok"
    assert max(s.process for s in before.samples) <= 1
    assert [event for event in events if isinstance(event, Stopped)] == [
        Stopped(cell=now.cell.id, status="crash", message="gone")
    ]


def test_places_are_where_the_sides_are_measured(tmp_path):
    (tmp_path / "elsewhere.py").write_text("from gradmark.engines.null import Null\nclass Other(Null):\n    pass\n")
    there = Place(sys.executable, tmp_path, os.environ["PYTHONPATH"], engine="elsewhere:Other")
    here = Place(sys.executable, Path.cwd(), os.environ["PYTHONPATH"])
    run = begun(sides(cell("elsewhere:Nothing")), Settings(processes=1, blocks=2, block_ns=100_000, memory=False))
    with Orchestrator(run, lambda event: None, places={"before": there, "now": here}) as orchestrator:
        before, now = orchestrator.carry_out().measurements
    assert (before.status, now.status) == ("ok", "error")
    assert before.cell.engine == "elsewhere:Nothing"
    assert len(before.samples) == 0  # its pair does not work


def test_instructions_are_counted_without_times():
    events = []
    answer = lambda job: Result(memory=Memory(reason=""), iteration_ns=1e5, accuracy=EXACT)  # noqa: E731
    orchestrator = without_processes(
        begun([cell("null")], Settings(processes=0, instructions=True)), events.append, answer
    )
    (found,) = orchestrator.carry_out().measurements
    assert found.instructions.total == 40.0
    assert [job.iterations for job in orchestrator.pool.asked if job.kind == "repeat"] == [40, 80]
    assert [type(event) for event in events] == [Inspected, Counted, Finished]


def test_cells_are_inspected_again_when_asked():
    calls = []

    def answer(job):
        calls.append(job)
        return Result(memory=Memory(allocations=float(len(calls))))

    orchestrator = without_processes(begun([cell("null")], Settings(processes=0)), answer=answer)
    orchestrator.inspect()
    orchestrator.inspect()
    assert orchestrator.run.measurements[0].memory.allocations == 1.0
    orchestrator.inspect(orchestrator.cells, again=True)
    assert orchestrator.run.measurements[0].memory.allocations == 2.0


def test_smaller_is_of_the_same_row_and_side():
    small, large = (cell("e", "poly", n=n) for n in (10, 100))
    assert is_smaller(small, large)
    assert not is_smaller(large, small)
    assert not is_smaller(small, small)
    assert not is_smaller(msgspec.structs.replace(small, engine="other"), large)
    assert not is_smaller(msgspec.structs.replace(small, side="now"), msgspec.structs.replace(large, side="before"))
    assert not is_smaller(cell("e", "chain", f="sin", n=1), cell("e", "chain", f="cos", n=2))


@pytest.mark.slow
def test_an_interrupted_run_goes_on():
    cells = [cell("null"), cell("python-floats")]
    first = begun(cells, Settings(processes=2, blocks=2, block_ns=100_000))
    events = []

    def keep(event):
        if len(events) == 3:  # two inspections, one timing
            raise KeyboardInterrupt
        events.append(event)

    with pytest.raises(KeyboardInterrupt), Orchestrator(first, keep) as orchestrator:
        orchestrator.carry_out()
    halfway = orchestrator.run
    assert not halfway.finished
    assert sum(len(m.samples) for m in halfway.measurements) == 1
    with Orchestrator(halfway, events.append) as orchestrator:
        whole = orchestrator.carry_out()
    assert whole.finished
    assert [[s.process for s in m.samples] for m in whole.measurements] == [[0, 1], [0, 1]]
    before = next(m for m in halfway.measurements if m.samples)
    after = next(m for m in whole.measurements if m.cell == before.cell)
    # not the whole sample: the blocks have the harness of all processes taken off, and there is one process more
    assert before.samples[0].once_ns in [sample.once_ns for sample in after.samples]


def test_a_resumed_run_measures_only_what_is_missing():
    cells = [cell("null", "poly", n=n) for n in range(4)]
    whole = without_processes(begun(cells, Settings(processes=3))).carry_out()
    first, *others = whole.measurements
    half = msgspec.structs.replace(
        whole, measurements=[msgspec.structs.replace(first, samples=first.samples[:1]), *others], finished=False
    )
    orchestrator = without_processes(half)
    assert orchestrator.carry_out() == whole
    assert timed(orchestrator) == [(cells[0].id, 1), (cells[0].id, 2)]


def test_variants_and_others_stand_beside():
    cells = cells_of(select(["reuse", "difference_check"]), ["tapegrad", "null"], full=False)
    assert [c.engine for c in cells] == [
        "tapegrad",
        "null",
        "tapegrad:fresh",
        "tapegrad",
        "null",
        "finite-difference",
    ]


def tensor(engine, workload="matmul", dtype="float64", **params):
    return Cell(engine=engine, workload=workload, suite="tensor", params=params, dtype=dtype)


@pytest.mark.slow
def test_a_tensor_engine_that_is_right():
    (found,) = measured([tensor("tapegrad", "mlp_step", "float32", batch=8, width=32)], COUNTED)
    assert (found.status, found.message, found.warnings) == ("ok", "", [])
    assert found.shapes == {"x": [8, 16], "labels": [8], "w1": [16, 32], "b1": [32], "w2": [32, 4], "b2": [4]}
    assert (found.operations, found.flops, found.bytes) == (6, 8 * 32 * (4 * 16 + 6 * 4), None)
    assert found.tape.instructions == 6
    assert found.tape.saved_bytes > 0
    assert 0 < found.accuracy.relative_error <= found.accuracy.tolerance == 1e-4
    assert found.memory.peak_bytes > found.memory.retained_bytes > found.tape.saved_bytes
    assert found.memory.gross_allocations > found.memory.plain_allocations > 0
    assert set(found.samples[0].phases) == {"primal", "forward", "backward", "total"}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "workload", "params", "words"),
    [
        ("ScaledTensor", "matmul", {"n": 8}, "the gradient with respect to b is off by "),
        ("ScaledTensor", "mlp_step", {"batch": 8, "width": 32}, "the gradient with respect to b1 is off by "),
        ("TransposedTensor", "matmul", {"n": 8}, "the gradient with respect to a is off by "),
        ("TransposedTensor", "mlp_step", {"batch": 8, "width": 32}, "w1 has shape (32, 16), expected (16, 32)"),
        ("BroadcastSumDropped", "broadcast_add", {"n": 32}, "the gradient with respect to row is off by "),
        ("BroadcastShapeKept", "broadcast_add", {"n": 32}, "row has shape (32, 32), expected (32,)"),
        ("WrongTensorLater", "matmul", {"n": 8}, "off by 1.0e+00 relative"),
    ],
)
def test_wrong_gradients_of_tensors_are_never_timed(name, workload, params, words, dtype):
    (found,) = measured([tensor(f"faults.engines:{name}", workload, dtype, **params)])
    assert (found.status, found.samples) == ("wrong-gradient", [])
    assert words in found.message


@pytest.mark.slow
def test_who_cannot_says_why():
    cells = [
        tensor("tapegrad:fresh", n=8),
        tensor("python-floats", n=8),
        tensor("faults.engines:ScalarsOnly", n=8),
        tensor("finite-difference", dtype="float32", n=8),
        tensor("finite-difference", n=128),
        cell("numpy"),
    ]
    found = measured(cells)
    assert {m.status for m in found} == {"unsupported"}
    assert [m.message for m in found] == [
        "tapegrad:fresh has no tensors, and matmul is a function of tensors",
        "python-floats has no tensors, and matmul is a function of tensors",
        "faults.engines:ScalarsOnly has no tensors, and matmul is a function of tensors",
        "finite-difference has no dtype float32; it has float64",
        "finite-difference evaluates four times for each of 32768 entries; at most 2000 are differenced: choose a "
        "smaller size",
        "numpy has no scalars, and expression is a function of scalars",
    ]


@pytest.mark.slow
def test_other_engines_on_tensors():
    null, numpy, differences = measured([tensor(name, n=8) for name in ("null", "numpy", "finite-difference")])
    assert set(null.samples[0].phases) == {"primal", "forward", "backward", "total"}
    assert list(numpy.samples[0].phases) == ["primal"]
    assert (numpy.memory.reason, numpy.shapes) == ("numpy evaluates only", {"a": [8, 8], "b": [8, 8]})
    assert (differences.status, differences.accuracy.tolerance) == ("ok", 1e-6)


def test_dtypes_of_cells():
    workloads = select(["reduce_sum", "expression"])

    def found(**more):
        return [(c.workload, c.dtype) for c in cells_of(workloads, ["e"], **more)]

    assert found(full=False) == [("reduce_sum", "float32"), ("expression", "float64")]
    assert found(full=False, dtypes=["float64"]) == [("reduce_sum", "float64"), ("expression", "float64")]
    assert found(full=False, dtypes=["float32"]) == [("reduce_sum", "float32")]
    assert {dtype for name, dtype in found(full=True) if name == "reduce_sum"} == {"float32", "float64"}


def test_a_worker_that_says_ok_and_gives_no_sample_is_not_believed():
    events = []
    with Orchestrator(begun([cell("tapegrad")]), events.append) as orchestrator:
        orchestrator.pool.run = lambda job: Result()
        (found,) = orchestrator.carry_out().measurements
    assert (found.status, found.message) == ("crash", "the worker said ok, and gave no sample")
    assert [type(event) for event in events] == [Inspected, Stopped, Finished]
