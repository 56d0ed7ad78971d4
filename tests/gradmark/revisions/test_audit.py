"""The audit: each fault is judged by the right metric, and the exact ones are caught without any timing."""

import pytest

from gradmark.engines.discovery import load
from gradmark.gate.configuration import Configuration
from gradmark.gate.timing import PairedTimes
from gradmark.measure.orchestrator import Orchestrator, begin
from gradmark.measure.plan import Plan
from gradmark.records import Settings
from gradmark.records.finding import Finding
from gradmark.revisions import contest
from gradmark.revisions.audit import FEW, audit, contest_of, false_alarms, judged, places, row_of
from gradmark.revisions.faults import FAULTS, engine_of

EXACT = [fault for fault in FAULTS if not fault.timed]


def failed(*metrics):
    return [Finding(cell="c", metric=metric, word="fail", detail=f"of {metric}") for metric in metrics]


def test_a_fault_is_caught_by_the_right_metric_only():
    slower = FAULTS[1]
    assert judged(slower, failed("forward", "total")).caught
    assert judged(slower, failed("forward", "total")).evidence.detail == "of total"
    assert not judged(slower, failed("allocations")).caught
    assert not judged(slower, []).caught


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


@pytest.mark.slow
def test_an_unfinished_result_is_caught(audited):
    done, run = audited([FAULTS[-1]])
    (planted,) = done.planted
    assert planted.caught
    assert planted.evidence.now > 1e6
    assert {len(m.samples) for m in run.measurements} <= {FEW, 2 * FEW}


def test_how_often_a_fault_is_timed():
    assert [contest_of(fault, 12).pairs for fault in FAULTS] == [12, 12, 12, 0, 0, 0, 0, 12, FEW]


def test_before_each_fault_the_unmodified_engine_runs():
    assert {side: place.engine for side, place in places().items()} == {"before": "tapegrad", "now": None}


@pytest.mark.slow
def test_false_alarms_are_counted():
    calm = [PairedTimes("c", "w", "total", [1000.0 + k for k in range(12)], [1000.5 + k for k in range(12)])]
    assert false_alarms(calm, Configuration()) == 0
