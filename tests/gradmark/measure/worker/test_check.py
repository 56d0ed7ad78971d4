"""Values and gradients are right, and follow the inputs; what tells without a clock whether they do."""

import pytest

from gradmark.measure.job import Job
from gradmark.measure.worker.check import follow, routes
from gradmark.measure.worker.jobs import run
from gradmark.measure.worker.prepared import Prepared
from gradmark.records import Cell, Code, Settings
from gradmark.revisions.faults import FAULTS, engine_of

QUICK = Settings(blocks=2, block_ns=10_000, memory=False)
LIES = {fault.engine: fault for fault in FAULTS}


def inspected(engine, workload="poly", params=None, kind="inspect", **more):
    cell = Cell(engine=engine, workload=workload, suite="scalar", params={"n": 1000} if params is None else params)
    return run(Job(kind=kind, cell=cell, settings=QUICK, **more))


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("WrongValue", "the value is 12345, expected 0.0176081569: it is off by"),
        ("NeverComputing", "the value is 12345, expected 0.0176081569: it is off by"),
        ("WhenRead", "what total gives is computed when it is read, not when it is timed"),
        ("Kept", "the function is evaluated for new inputs, but not for the same ones again: a result is kept"),
        ("FirstInputs", "after its inputs changed, the value of total is 0.0176081569, expected 0.0206484397"),
        ("InPrepare", "after its inputs changed, the value of total is 0.0176081569, expected 0.0206484397"),
        ("AtImport", "after its inputs changed, the value of total is 0.0176081569, expected 0.0206484397"),
        ("InMove", "the function is evaluated in `move`, which is not timed: it must only take the inputs over"),
    ],
)
def test_a_lie_that_needs_no_clock_to_be_found(engine, message):
    result = inspected(engine_of(LIES[engine]))
    assert (result.status, result.message.startswith(message)) == (LIES[engine].status, True), result.message


def test_an_honest_engine_says_what_was_expected():
    result = inspected("tapegrad")
    assert (result.status, result.warnings) == ("ok", [])
    assert result.expected.value == pytest.approx(0.0176081569)
    assert result.expected.other_value == pytest.approx(0.0206484397)
    assert result.expected.other_slope is not None


def test_a_session_without_a_value_says_so():
    result = inspected("faults.engines:NoValue")
    assert (result.status, [warning.code for warning in result.warnings]) == ("ok", [Code.NO_VALUE])


def test_a_value_that_is_no_number_is_an_error():
    result = inspected("faults.engines:ValueAsAWord")
    assert (result.status, "value() returned str; expected one number" in result.message) == ("error", True)


def test_a_wrong_primal_is_a_wrong_value():
    result = inspected("faults.engines:WrongPrimal")
    assert result.status == "wrong-value"
    assert result.message.startswith("after its inputs changed, the value of primal is 12345, expected 0.0206484397")


def test_inputs_that_an_engine_keeps_need_move():
    result = inspected("faults.engines:KeepsItsInputs")
    assert result.status == "wrong-value"
    assert result.message.endswith("; if the engine keeps inputs of its own, give its session `move`")


def test_results_that_go_with_their_inputs_are_no_lie():
    assert inspected("faults.engines:LosesItsResults").status == "ok"


@pytest.mark.parametrize(
    ("engine", "names"),
    [
        ("tapegrad", ["forward and backward", "primal"]),
        ("tapegrad:program", ["total", "forward", "primal"]),
        ("faults.engines:TotalOnly", ["total"]),
        ("python-floats", ["primal"]),
    ],
)
def test_every_way_in_which_a_session_is_timed(engine, names):
    cell = Cell(engine=engine, workload="expression", suite="scalar")
    assert [route.name for route in routes(Prepared(Job(kind="time", cell=cell, settings=QUICK)))] == names


def test_a_gradient_of_other_inputs_is_wrong_by_so_much():
    known = inspected("tapegrad").expected
    cell = Cell(engine="faults.engines:KeepsItsInputs", workload="poly", suite="scalar", params={"n": 1000})
    prepared = Prepared(Job(kind="time", cell=cell, settings=QUICK))
    object.__setattr__(prepared.session, "value", None)  # its primal is what it should be, its gradient is not
    failed = follow(prepared, known)
    assert failed.status == "wrong-gradient"
    assert failed.accuracy.relative_error > 1e-3 > failed.accuracy.tolerance
    assert prepared.inputs == prepared.workload.draw(0, {"n": 1000})


@pytest.mark.slow
def test_what_turns_wrong_while_it_is_timed():
    known = inspected("tapegrad")
    more = {"reference": known.reference, "reference_name": known.accuracy.reference, "expected": known.expected}
    for engine in ("WrongValue", "InPrepare"):
        result = inspected(engine_of(LIES[engine]), kind="time", **more)
        assert (result.status, result.sample) == ("wrong-value", None)


BRANCHING = """
from gradmark import workload

@workload(suite="mine", stresses="a branch", inputs=lambda draw: [1.0])
def branching(ops, x):
    return x * x if 0.999 < x < 1.001 else x

@workload(suite="mine", stresses="a pole", inputs=lambda draw: [1.0])
def edge(ops, x):
    return ops.log(1.001 - x) + ops.sqrt(x - 0.999)
"""


@pytest.mark.parametrize(
    ("engine", "workload", "step"),
    [
        ("tapegrad", "branching", 2.0**-6),
        ("tapegrad:program", "branching", 2.0**-10),  # it has recorded one branch
        ("tapegrad", "edge", 2.0**-10),
        ("tapegrad:program", "edge", 2.0**-10),
        ("finite-difference", "edge", 2.0**-10),
    ],
)
def test_functions_with_branches_and_edges_are_followed_nearby(engine, workload, step, tmp_path):
    (tmp_path / "mine.py").write_text(BRANCHING)
    cell = Cell(engine=engine, workload=workload, suite="mine", file=str(tmp_path / "mine.py"))
    result = run(Job(kind="inspect", cell=cell, settings=QUICK))
    assert (result.status, result.message) == ("ok", "")
    assert result.expected.step == step
