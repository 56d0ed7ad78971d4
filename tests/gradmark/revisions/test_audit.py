import pytest

from gradmark.engines.discovery import load
from gradmark.gate.configuration import Configuration
from gradmark.gate.timing import Row
from gradmark.records import Settings
from gradmark.records.finding import Finding, Gate
from gradmark.revisions.audit import FEW, contest, false_alarms, judged, pairs_of
from gradmark.revisions.faults import FAULTS, engine_of

EXACT = [fault for fault in FAULTS if not fault.timed]


def gate(*metrics):
    return Gate(against="x", findings=[Finding(cell="c", metric=m, word="fail", reason=f"of {m}") for m in metrics])


def test_a_fault_is_caught_by_the_right_metric_only():
    slower = FAULTS[1]
    assert judged(slower, gate("forward", "total")).caught
    assert judged(slower, gate("forward", "total")).evidence == "of total"
    assert not judged(slower, gate("allocations")).caught
    assert not judged(slower, gate()).caught


def test_the_unmodified_engine_must_pass():
    assert judged(FAULTS[0], gate()).caught
    assert not judged(FAULTS[0], gate("total")).caught


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.engine)
def test_every_fault_can_be_loaded(fault):
    assert load(engine_of(fault)).capabilities().gradients


@pytest.mark.parametrize("fault", EXACT, ids=lambda fault: fault.engine)
def test_exact_faults_are_caught(fault):
    found = judged(fault, contest(fault, Settings()).decide(Configuration(), 0, lambda text: None))
    assert (found.caught, pairs_of(fault, 12)) == (True, 0)


def test_an_unfinished_result_is_caught():
    fault = FAULTS[-1]
    found = judged(fault, contest(fault, Settings()).decide(Configuration(), FEW, lambda text: None))
    assert found.caught
    assert "work was not finished when the clock was read" in found.evidence


def test_false_alarms_are_counted():
    calm = [Row("c", "w", "total", [1000.0 + k for k in range(12)], [1000.5 + k for k in range(12)])]
    assert false_alarms(calm, Configuration()) == 0
