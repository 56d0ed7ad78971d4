"""What workers answer, mutated: whatever it is, it is a result with a status, and the run goes on and can be read."""

import io
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fuzz.budget import inputs
from fuzz.mutations import mutated
from gradmark.engines.protocol import Capabilities
from gradmark.errors import GradmarkError
from gradmark.isolation.child import Ended
from gradmark.measure import nursery, plan, process
from gradmark.measure.job import Job, Result
from gradmark.measure.orchestrator import Orchestrator
from gradmark.records import FORMAT_VERSION, Accuracy, Cell, Code, Environment, Memory, Run, Settings, TapeSize, Warning
from gradmark.store import journal, runs

KEPT = runs.load(Path(__file__).parents[1] / "data" / "runs" / "format-4.jsonl").measurements[0]
INSPECTED = Result(
    tape=TapeSize(instructions=3, values=4, adjoints=4, saved_bytes=100),
    memory=Memory(allocations=0.0, gross_allocations=1.0, leaked_bytes=0.0, peak_bytes=8680),
    accuracy=Accuracy(reference="mpmath, 50 digits", relative_error=7e-17, ulps=0.4, tolerance=1e-9),
    reference=[(0.5, 1e-20)],
    operations=3,
    flops=2.0,
    shapes={"x": [2, 3]},
    iteration_ns=200.0,
    first_call_ns=1e6,
    warnings=[Warning(code=Code.UNFINISHED, numbers={"late_ns": 5.0})],
)
TIMED = Result(sample=KEPT.samples[0])
SURVEYED = Result(capabilities=Capabilities(devices=("cpu", "cuda")))
FAILED = Result(status="unsupported", message="has no sin", lacks=["sin"])
ANSWERS = mutated(*map(msgspec.json.encode, (INSPECTED, TIMED, SURVEYED, FAILED)))
CELLS = [Cell(engine="e", workload="w", suite="s", params={"n": n}) for n in (1, 2)]
SETTINGS = Settings(processes=2)


def begun():
    here = Environment(cpu="c", cores=1, memory_bytes=1, os="o", python="p", packages={})
    return Run(
        id="r", started="2026-01-01T00:00:00+00:00", environment=here, settings=SETTINGS, measurements=[],
        planned=CELLS, format_version=FORMAT_VERSION,
    )  # fmt: skip


@inputs(few=100, share=0.06)
@given(answer=ANSWERS, code=st.sampled_from([0, 0, 0, 1, -9, -11, 200]), said=st.binary(max_size=20))
def test_an_answer_is_a_result(answer, code, said):
    result = process.outcome(Ended(code, answer, said))
    assert isinstance(result, Result)
    assert msgspec.json.decode(msgspec.json.encode(result), type=Result) == result


@inputs(few=30, share=0.03)
@given(answers=st.lists(ANSWERS, min_size=1, max_size=6))
def test_a_run_goes_on_and_is_kept_whatever_workers_answer(answers):
    with tempfile.TemporaryDirectory() as folder:
        keep = journal.Journal.begin(begun(), Path(folder))
        with keep, Orchestrator(keep.run, keep) as orchestrator:
            turn = iter(answers * 100)
            orchestrator.pool.run = lambda job: process.outcome(Ended(0, next(turn)))
            measured = orchestrator.carry_out()
        kept = runs.load(keep.path)
    assert kept == measured
    assert kept.finished
    for measurement in kept.measurements:
        processes = [sample.process for sample in measurement.samples]
        assert processes == sorted(set(processes))
        assert measurement.status != "ok" or len(processes) >= SETTINGS.processes


@inputs(few=50, share=0.01)
@given(answer=ANSWERS)
def test_a_survey_gives_capabilities_or_an_error(answer):
    try:
        can = plan.survey(["e"], lambda job: process.outcome(Ended(0, answer)), SETTINGS).can
    except GradmarkError:
        return
    assert can["e"].devices[0]
    can["e"].lacking(CELLS[0])


class Told(nursery.Nursery):
    """A nursery whose process has answered already."""

    def __init__(self, answer: bytes) -> None:
        super().__init__("e", SETTINGS)
        self.forks = True
        ours, theirs = os.pipe()
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(answer)
        self.results = os.fdopen(ours, "rb")
        self.answered = SimpleNamespace(process=SimpleNamespace(stdin=io.BytesIO(), stdout=self.results))

    def _child(self):
        return self.answered

    def _end(self):
        self.results.close()


@inputs(few=50, share=0.01)
@given(answer=ANSWERS)
def test_a_nursery_gives_a_result(answer, no_fresh_worker):
    home = Told(answer.replace(b"\n", b" ")[:60_000] + b"\n")
    try:
        assert isinstance(home.run(Job(kind="time", cell=CELLS[0], settings=SETTINGS)), Result)
    finally:
        home._end()
