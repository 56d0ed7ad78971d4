"""A contest decides: rows on two sides, what is flagged measured again, judged by the gate. No process is started."""

import msgspec
import pytest

from gradmark.gate.configuration import Configuration
from gradmark.measure.job import Result
from gradmark.measure.orchestrator import Orchestrator, begin
from gradmark.measure.plan import Plan
from gradmark.records import Cell, Memory, Phase, Sample, Settings
from gradmark.records.finding import FindingCode
from gradmark.revisions import contest
from gradmark.revisions.contest import Contest

PAIRS = 12


def row(n):
    return Cell(engine="e", workload="poly", suite="scalar", params={"n": n})


def counted(allocations):
    return Result(memory=Memory(allocations=allocations, leaked_bytes=0.0, peak_bytes=1000))


class Machine:
    """In place of the pool: times as a calm machine has them, slower now by a factor for some sizes."""

    def __init__(self, slower=(), stops=(), once_ns=(), inspections=()):
        self.slower = dict(slower)
        self.stops = dict(stops)  # size: the process number at which it crashes now
        self.once_ns = dict(once_ns)  # side: what happens once there
        self.inspections = {
            name: list(results) for name, results in dict(inspections).items()
        }  # size and side: in turn
        self.timed = []
        self.inspected = []

    def run(self, job):
        if job.kind == "inspect":
            name = (job.cell.params["n"], job.cell.side)
            self.inspected.append(name)
            return self.inspections[name].pop(0) if self.inspections.get(name) else counted(0.0)
        n, now = job.cell.params["n"], job.cell.side == "now"
        self.timed.append((n, job.cell.side, job.process))
        if now and self.stops.get(n) == job.process:
            return Result(status="crash", message="gone")
        floor_ns = 10_000.0 * n * (1.0 + 0.001 * (job.process % 7)) * (self.slower.get(n, 1.0) if now else 1.0)
        phases = {"total": Phase(iterations=1, block_ns=[1.5 * floor_ns, floor_ns])}
        once_ns = {name: ns + job.process for name, ns in self.once_ns.get(job.cell.side, {}).items()}
        return Result(sample=Sample(process=job.process, phases=phases, once_ns=once_ns, harness_ns=1.0, clock_ns=1.0))

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


# --- what fails is counted again, on both sides


def test_a_count_that_is_over_only_once_passes(decided):
    machine = Machine(inspections={(2, "now"): [counted(3.0)]})
    findings, _ = decided(machine, [row(1), row(2)])
    assert findings["poly/n=2@e allocations"].word == "pass"
    assert sorted(machine.inspected) == sorted([(n, side) for n in (1, 2, 2) for side in ("before", "now")])


def test_a_count_that_was_too_low_before_only_once_passes(decided):
    """The other side may be the one that was counted wrong."""
    machine = Machine(inspections={(1, "before"): [counted(0.0)], (1, "now"): [counted(3.0), counted(3.0)]})
    machine.inspections[1, "before"].append(counted(3.0))
    findings, _ = decided(machine, [row(1)])
    assert findings["poly/n=1@e allocations"].word == "pass"


def test_a_count_that_is_over_again_fails(decided):
    findings, _ = decided(Machine(inspections={(1, "now"): [counted(3.0)] * 5}), [row(1)])
    finding = findings["poly/n=1@e allocations"]
    assert (finding.word, finding.before, finding.now) == ("fail", 0, 3)


def test_a_row_that_crashed_only_once_is_timed_and_in_doubt(decided):
    machine = Machine(inspections={(1, "now"): [Result(status="crash", message="gone")]})
    findings, _ = decided(machine, [row(1)])
    assert (findings["poly/n=1@e status"].word, findings["poly/n=1@e status"].once) == ("inconclusive", True)
    assert findings["poly/n=1@e total"].word == "pass"
    assert len(machine.timed) == 2 * PAIRS


# --- what only one side has, and what did not work


def test_a_row_that_the_other_side_does_not_have_is_new(decided):
    absent = Result(status="unsupported", message="there is no file mine.py", new=True)
    machine = Machine(inspections={(1, "before"): [absent]})
    findings, _ = decided(machine, [row(1), row(2)])
    finding = findings["poly/n=1@e status"]
    assert (finding.word, finding.code, finding.detail) == ("new", FindingCode.NEW, "there is no file mine.py")
    assert {n for n, _, _ in machine.timed} == {2}


def test_a_repair_is_one_if_the_engine_worked_elsewhere(decided):
    broken = Result(status="error", message="IndexError")
    findings, _ = decided(Machine(inspections={(2, "before"): [broken]}), [row(1), row(2)])
    assert findings["poly/n=2@e status"].code is FindingCode.REPAIRED


def test_if_nothing_of_an_engine_worked_nothing_was_compared(decided):
    broken = Result(status="error", message="No module named 'fast'")
    findings, _ = decided(Machine(inspections={(n, "before"): [broken] for n in (1, 2)}), [row(1), row(2)])
    finding = findings["poly/n=1@e status"]
    assert (finding.word, finding.code, finding.detail) == (
        "inconclusive",
        FindingCode.NEVER_WORKED,
        "No module named 'fast'",
    )


def test_if_nothing_of_a_file_worked_nothing_was_compared(decided):
    broken = Result(status="error", message="No module named 'mypkg'")
    mine = msgspec.structs.replace(row(2), file="/mine.py")
    findings, _ = decided(Machine(inspections={(2, "before"): [broken]}), [row(1), mine])
    assert findings["poly/n=2@e of mine.py status"].code is FindingCode.NEVER_WORKED


# --- what happens once in a process


ONCE = {"import": 30e6, "prepare": 1e6, "first_call": 2e6}


@pytest.mark.parametrize(
    ("part", "failing"),
    [
        ("import", {"e import"}),
        ("prepare", {"poly/n=1@e prepare", "poly/n=1@e first_call", "poly/n=2@e prepare", "poly/n=2@e first_call"}),
        ("first_call", {"poly/n=1@e first_call", "poly/n=2@e first_call"}),
    ],
)
def test_200_ms_more_before_the_first_result_fail(decided, part, failing):
    slower = {**ONCE, part: ONCE[part] + 200e6}
    findings, _ = decided(Machine(once_ns={"before": ONCE, "now": slower}), [row(1), row(2)])
    assert {name for name, finding in findings.items() if finding.word == "fail"} == failing


def test_equal_sides_pass_and_an_import_is_told_once_for_each_engine(decided):
    machine = Machine(once_ns={"before": ONCE, "now": ONCE})
    findings, _ = decided(machine, [row(1), row(2)])
    assert {finding.word for finding in findings.values()} == {"pass"}
    assert [name for name in findings if name.endswith("import")] == ["e import"]
    assert len(machine.timed) == 2 * 2 * PAIRS


def test_of_an_import_in_doubt_one_row_is_measured_again(decided):
    machine = Machine(once_ns={"before": ONCE, "now": {**ONCE, "import": 230e6}})
    decided(machine, [row(1), row(2)])
    assert {n for n, _, number in machine.timed if number >= PAIRS} == {1}


def test_fresh_pairs_of_another_row_of_the_engine_count_for_its_import(decided):
    """A row that is slower is measured again; its import was fine, and is judged by all pairs."""
    machine = Machine(slower={2: 1.2}, once_ns={"before": ONCE, "now": ONCE})
    findings, _ = decided(machine, [row(1), row(2)])
    assert (findings["poly/n=2@e total"].word, findings["e import"].word) == ("fail", "pass")


def test_the_rows_of_both_sides():
    assert contest.rows_of(contest.both_sides([row(1), row(2)])) == [row(1), row(2)]
