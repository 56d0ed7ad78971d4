"""A contest decides: rows on two sides, what is flagged measured again, judged by the gate. No process is started."""

import msgspec
import pytest

from gradmark.gate.configuration import Configuration
from gradmark.measure.job import Result
from gradmark.measure.orchestrator import Orchestrator, begin
from gradmark.measure.plan import Plan
from gradmark.records import Cell, Memory, Phase, Sample, Settings
from gradmark.revisions import contest
from gradmark.revisions.contest import Contest

PAIRS = 12


def row(n):
    return Cell(engine="e", workload="poly", suite="scalar", params={"n": n})


class Machine:
    """In place of the pool: times as a calm machine has them, slower now by a factor for some sizes."""

    def __init__(self, slower=(), stops=()):
        self.slower = dict(slower)
        self.stops = dict(stops)  # size: the process number at which it crashes now
        self.timed = []

    def run(self, job):
        if job.kind == "inspect":
            return Result(memory=Memory(allocations=0.0, leaked_bytes=0.0, peak_bytes=1000))
        n, now = job.cell.params["n"], job.cell.side == "now"
        self.timed.append((n, job.cell.side, job.process))
        if now and self.stops.get(n) == job.process:
            return Result(status="crash", message="gone")
        floor_ns = 10_000.0 * n * (1.0 + 0.001 * (job.process % 7)) * (self.slower.get(n, 1.0) if now else 1.0)
        phases = {"total": Phase(iterations=1, block_ns=[1.5 * floor_ns, floor_ns])}
        return Result(sample=Sample(process=job.process, phases=phases, once_ns={}, harness_ns=1.0, clock_ns=1.0))

    def parallel(self, streams):
        for stream in streams:
            yield from stream

    def close(self):
        pass


@pytest.fixture
def decided():
    def measured(machine, rows, pairs=PAIRS):
        plan = Plan(verb="check", cells=contest.both_sides(rows), settings=contest.settings_of(Settings(), pairs))
        orchestrator = Orchestrator(begin(plan), lambda event: None)
        orchestrator.pool = machine
        (findings,) = contest.decide([Contest(rows, pairs)], orchestrator, Configuration())
        return {finding.name: finding for finding in findings}, orchestrator

    return measured


def test_equal_builds_pass_and_are_measured_once(decided):
    machine = Machine()
    findings, _ = decided(machine, [row(1), row(2)])
    assert {finding.word for finding in findings.values()} == {"pass"}
    assert len(machine.timed) == 2 * 2 * PAIRS


def test_only_what_is_flagged_is_measured_again_and_fails(decided):
    machine = Machine(slower={2: 1.2})
    findings, orchestrator = decided(machine, [row(1), row(2)])
    assert findings["poly/n=2@e total"].word == "fail"
    assert findings["poly/n=1@e total"].word == "pass"
    numbers = {m.cell.id: [s.process for s in m.samples] for m in orchestrator.run.measurements}
    assert numbers == {
        "poly/n=1@e (before)": list(range(PAIRS)),
        "poly/n=1@e (now)": list(range(PAIRS)),
        "poly/n=2@e (before)": list(range(2 * PAIRS)),
        "poly/n=2@e (now)": list(range(2 * PAIRS)),
    }


def test_a_slow_moment_in_the_first_pairs_alone_does_not_fail(decided):
    class Calmer(Machine):
        def run(self, job):
            self.slower = {2: 1.2 if job.process < PAIRS else 1.0}
            return super().run(job)

    findings, _ = decided(Calmer(), [row(1), row(2)])
    assert findings["poly/n=2@e total"].word != "fail"


def test_what_stops_working_while_it_is_timed_is_doubt_and_keeps_its_exact_metrics(decided):
    findings, _ = decided(Machine(stops={2: 3}), [row(1), row(2)])
    assert findings["poly/n=2@e status"].word == "inconclusive"
    assert "poly/n=2@e total" not in findings
    assert findings["poly/n=2@e allocations"].word == "pass"


def test_without_pairs_nothing_is_timed(decided):
    machine = Machine()
    findings, _ = decided(machine, [row(1)], pairs=0)
    assert machine.timed == []
    assert findings["poly/n=1@e allocations"].word == "pass"


def test_a_resumed_contest_comes_to_the_same_findings(decided):
    rows = [row(1), row(2)]
    findings, orchestrator = decided(Machine(slower={2: 1.2}), rows)
    half = msgspec.structs.replace(
        orchestrator.run,
        measurements=[msgspec.structs.replace(m, samples=m.samples[:5]) for m in orchestrator.run.measurements],
    )
    again = Orchestrator(half, lambda event: None)
    again.pool = machine = Machine(slower={2: 1.2})
    (resumed,) = contest.decide([Contest(rows, PAIRS)], again, Configuration())
    assert {finding.name: finding for finding in resumed} == findings
    assert min(number for _, _, number in machine.timed) == 5


def test_the_rows_of_both_sides():
    assert contest.rows_of(contest.both_sides([row(1), row(2)])) == [row(1), row(2)]
