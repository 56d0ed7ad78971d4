"""The audit: each fault is judged by the right metric, and the exact ones are caught without any timing."""

import msgspec
import pytest

from gradmark.engines.discovery import load
from gradmark.gate.configuration import Configuration
from gradmark.gate.timing import PairedTimes
from gradmark.measure.orchestrator import Orchestrator, begin
from gradmark.measure.plan import Plan
from gradmark.records import Measurement, Settings
from gradmark.records.finding import Finding
from gradmark.revisions import contest
from gradmark.revisions.audit import (
    FEW,
    SOME,
    audit,
    audit_devices,
    contest_of,
    false_alarms,
    judged,
    judged_on_device,
    places,
    row_of,
)
from gradmark.revisions.device_faults import DEVICE_FAULTS
from gradmark.revisions.faults import FAULTS, engine_of
from gradmark.workloads.selection import select

EXACT = [fault for fault in FAULTS if not fault.timed and fault.status in ("", "wrong-gradient")]
LIES = [fault for fault in FAULTS if fault.status not in ("", "wrong-gradient")]


def failed(*metrics):
    return [Finding(cell="c", metric=metric, word="fail", detail=f"of {metric}") for metric in metrics]


def test_a_fault_is_caught_by_the_right_metric_only():
    slower = FAULTS[1]
    assert judged(slower, failed("forward", "total")).caught
    assert judged(slower, failed("forward", "total")).evidence.detail == "of total"
    assert not judged(slower, failed("allocations")).caught
    assert not judged(slower, []).caught


def test_a_lie_is_caught_for_the_right_reason_only():
    lie = LIES[0]
    finding = failed("status")[0]
    right, wrong = (msgspec.structs.replace(finding, statuses=("ok", status)) for status in (lie.status, "crash"))
    assert judged(lie, [right]).caught
    assert not judged(lie, [wrong]).caught
    assert not judged(lie, [finding]).caught


def test_the_unmodified_engine_must_pass():
    assert judged(FAULTS[0], []).caught
    assert not judged(FAULTS[0], failed("total")).caught


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.engine)
def test_every_fault_can_be_loaded(fault):
    assert load(engine_of(fault)).capabilities().gradients


@pytest.fixture
def audited():
    def measured(faults):
        cells = contest.both_sides([row_of(fault) for fault in faults])
        plan = Plan(verb="audit", cells=cells, settings=contest.settings_of(Settings(), 12))
        with Orchestrator(begin(plan), lambda event: None, places=places()) as orchestrator:
            return audit(orchestrator, Configuration(), 12, faults), orchestrator.run

    return measured


@pytest.mark.slow
def test_exact_faults_are_caught_without_timing(audited):
    done, run = audited(EXACT)
    assert [(planted.what, planted.caught) for planted in done.planted] == [(fault.what, True) for fault in EXACT]
    assert done.false_alarms is None
    assert [m.samples for m in run.measurements] == [[]] * 2 * len(EXACT)


@pytest.mark.parametrize(("metric", "loaded"), [("import", [0.2]), ("prepare", [])])
def test_a_slow_start_is_slow_where_it_should_be(monkeypatch, metric, loaded):
    (fault,) = [fault for fault in FAULTS if fault.caught_by == (metric,)]
    slept = []
    monkeypatch.setattr("gradmark.revisions.faults.time.sleep", slept.append)
    engine = load(engine_of(fault))
    assert slept == loaded
    (workload,) = select([fault.workload])
    engine.prepare(workload, workload.draw(0, fault.size), fault.size)
    assert slept == [0.2]


@pytest.mark.slow
def test_lies_are_caught_before_anything_is_timed(audited):
    lies = [lie for lie in LIES if not lie.timed]
    done, run = audited(lies)
    assert [(planted.what, planted.caught) for planted in done.planted] == [(lie.what, True) for lie in lies]
    assert [m.samples for m in run.measurements] == [[]] * 2 * len(lies)


@pytest.mark.slow
def test_a_lie_that_waits_for_the_clock_is_caught_by_it(audited):
    (lie,) = (lie for lie in LIES if lie.timed)
    done, run = audited([lie])
    (planted,) = done.planted
    assert planted.caught
    assert planted.evidence.statuses == ("ok", "untimed-work")
    assert [len(m.samples) for m in run.measurements if m.cell.side == "now"] == [0]


def test_how_often_a_fault_is_timed():
    pairs = [contest_of(fault, 12).pairs for fault in FAULTS]
    assert pairs == [12, 12, 12, 0, 0, 0, 0, 12, SOME, SOME] + [FEW if lie.timed else 0 for lie in LIES]
    assert [lie.engine for lie in LIES if lie.timed] == ["KeptLater"]


def test_before_each_fault_the_unmodified_engine_runs():
    assert {side: place.engine for side, place in places().items()} == {"before": "tapegrad", "now": None}


@pytest.mark.slow
def test_false_alarms_are_counted():
    calm = [PairedTimes("c", "w", "total", [1000.0 + k for k in range(12)], [1000.5 + k for k in range(12)])]
    assert false_alarms(calm, Configuration()) == 0


# --- on a device of known costs


@pytest.mark.slow
def test_faults_on_a_device_are_named_in_real_processes():
    faults = [fault for fault in DEVICE_FAULTS if fault.engine in ("Virtual", "NotWaitedFor", "NeverUsed")]
    plan = Plan(verb="audit", cells=[fault.cell for fault in faults], settings=Settings(blocks=4, pin=False))
    with Orchestrator(begin(plan), lambda event: None) as orchestrator:
        planted = audit_devices(orchestrator, faults)
    assert [(one.caught, one.expected, one.accused) for one in planted] == [
        (True, [], []),
        (True, ["not-waited"], ["not-waited"]),
        (True, ["untimed-work"], ["untimed-work"]),
    ]


def test_a_verdict_that_is_not_passed_is_a_fault_that_was_missed():
    sound, fault, *_ = DEVICE_FAULTS
    silent = Measurement(cell=fault.cell, status="ok")
    crashed = Measurement(cell=sound.cell, status="crash")
    assert not judged_on_device(fault, silent).caught
    assert not judged_on_device(sound, crashed).caught
    assert judged_on_device(sound, silent).caught
