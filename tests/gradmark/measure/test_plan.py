"""The plan: engines decide what is planned, functions are tried once, and nothing starts that cannot end well."""

import threading
from pathlib import Path

import pytest

from gradmark.engines import discovery
from gradmark.errors import EngineError, MissingEngineError, SelectionError
from gradmark.measure.plan import Request, cells_of, make_plan, survey
from gradmark.measure.worker import jobs
from gradmark.records import Settings
from gradmark.workloads.selection import select, select_rows

FUNCTIONS = str(Path(__file__).parents[2] / "faults" / "functions.py")
QUICK = Settings()


class Worker:
    """Does jobs in this process, and remembers them."""

    def __init__(self):
        self.asked = []

    def __call__(self, job):
        self.asked.append((job.kind, job.cell.engine or job.cell.row))
        return jobs.run(job)


@pytest.fixture
def ask():
    return Worker()


def planned(ask, patterns, engines, settings=QUICK, **more):
    return make_plan(Request(select_rows(patterns), engines, **more), settings, ask)


def names(cells):
    return [(cell.row, cell.engine) for cell in cells]


def test_a_plan_of_what_is_known_to_work_asks_each_engine_once(ask):
    plan = planned(ask, ["poly/n=10", "reuse"], ["tapegrad", "null"])
    assert names(plan.cells) == [
        ("poly/n=10", "tapegrad"),
        ("poly/n=10", "null"),
        ("reuse", "tapegrad"),
        ("reuse", "null"),
        ("reuse", "tapegrad:fresh"),
    ]
    assert (plan.verb, plan.known, plan.left_out) == ("run", [], {})
    assert sorted(ask.asked) == [("survey", "null"), ("survey", "tapegrad"), ("survey", "tapegrad:fresh")]


def test_what_an_engine_does_not_have_is_known_without_a_process(ask):
    plan = planned(ask, ["matmul/n=8", "expression"], ["tapegrad:program", "faults.engines:NoSuchDtype", "numpy"])
    assert [(m.cell.row, m.cell.engine, m.status, m.message) for m in plan.known] == [
        ("matmul/n=8", "tapegrad:program", "unsupported",
         "tapegrad:program has no tensors, and matmul is a function of tensors"),
        ("matmul/n=8", "faults.engines:NoSuchDtype", "unsupported",
         "faults.engines:NoSuchDtype has no tensors, and matmul is a function of tensors"),
        ("expression", "faults.engines:NoSuchDtype", "unsupported",
         "faults.engines:NoSuchDtype has no dtype float64; it has float32"),
        ("expression", "numpy", "unsupported", "numpy has no scalars, and expression is a function of scalars"),
    ]  # fmt: skip
    assert len(plan.cells) == 6
    assert {kind for kind, _ in ask.asked} == {"survey"}


def test_an_engine_that_runs_nothing_here_says_so_in_every_row(ask):
    plan = planned(ask, ["expression", "poly/n=10"], ["faults.engines:RunsNothing"])
    assert [(m.cell.row, m.status, m.message) for m in plan.known] == [
        ("expression", "unsupported", "no device here"),
        ("poly/n=10", "unsupported", "no device here"),
    ]


# --- devices


def test_the_device_is_what_the_engine_says(ask):
    plan = planned(ask, ["matmul/n=8"], ["faults.engines:OnCuda", "tapegrad"])
    assert names(plan.cells) == [("matmul/n=8/device=cuda", "faults.engines:OnCuda"), ("matmul/n=8", "tapegrad")]
    assert plan.known == []


def test_a_device_that_was_asked_for(ask):
    engines = ["tapegrad", "faults.engines:TwoDevices"]
    plan = planned(ask, ["expression"], engines, devices=["cuda"])
    assert names(plan.cells) == [
        ("expression/device=cuda", "tapegrad"),
        ("expression/device=cuda", "faults.engines:TwoDevices"),
    ]
    assert [m.message for m in plan.known] == ["tapegrad has no device cuda; it has cpu"]
    both = planned(ask, ["expression/device=*"], engines)
    assert names(both.cells) == [
        ("expression", "tapegrad"),
        ("expression", "faults.engines:TwoDevices"),
        ("expression/device=cuda", "faults.engines:TwoDevices"),
    ]
    of_row = planned(ask, ["expression/device=cuda"], ["faults.engines:TwoDevices"])
    assert names(of_row.cells) == [("expression/device=cuda", "faults.engines:TwoDevices")]
    assert of_row.known == []


# --- engines that cannot be used


@pytest.mark.parametrize(
    ("engine", "error", "message"),
    [
        ("faults.engines:Nope", EngineError, "faults.engines has no 'Nope'; "),
        ("no_such_module:X", MissingEngineError, "cannot be imported: No module named 'no_such_module'"),
        ("faults.engines:CannotSay", EngineError, "no licence"),
        ("tapegrat", SelectionError, "did you mean tapegrad"),
    ],
)
def test_an_engine_that_was_named_must_be_usable(ask, engine, error, message):
    with pytest.raises(error, match=message):
        planned(ask, ["expression"], ["tapegrad", engine])


def test_of_all_engines_those_are_left_out_that_cannot_be_used(ask, monkeypatch):
    offered = {
        "tapegrad": discovery.BUILT_IN["tapegrad"],
        "absent": "no_such_module:Engine",
        "broken": "faults.engines:NoCapabilities",
    }
    monkeypatch.setattr(discovery, "known", lambda: offered)
    plan = planned(ask, ["expression"], ["all"])
    assert names(plan.cells) == [("expression", "tapegrad")]
    assert list(plan.left_out) == ["broken"]
    assert "expected a gradmark.Capabilities" in plan.left_out["broken"]
    with pytest.raises(EngineError, match=r"expected a gradmark\.Capabilities"):
        planned(ask, ["expression"], ["all", "broken"])


def test_an_engine_that_dies_when_asked():
    def dies(job):
        return jobs.Result(status="crash", message="the worker was ended by SIGSEGV")

    with pytest.raises(EngineError, match=r"cannot be asked what it can do \(crash\): the worker was ended by SIGSEGV"):
        survey(["tapegrad"], dies, QUICK)


def test_interrupted_while_asking():
    stopped = threading.Event()

    def interrupted(job):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        survey(["tapegrad"], interrupted, QUICK, stop=stopped.set)
    assert stopped.is_set()


# --- functions


def test_a_function_that_cannot_be_measured_is_tried_once_for_all_engines(ask):
    plan = planned(ask, [f"{FUNCTIONS}:three", f"{FUNCTIONS}:right"], ["tapegrad", "null"])
    assert [(m.cell.row, m.cell.engine, m.status, m.message) for m in plan.known] == [
        (
            "three",
            engine,
            "invalid",
            "three returned 3 numbers; a workload returns one number, unless it says result='array'",
        )
        for engine in ("tapegrad", "null")
    ]
    assert sorted(asked for asked in ask.asked if asked[0] == "try") == [("try", "right"), ("try", "three")]


def test_dtypes_and_devices_need_no_trial_of_their_own(ask):
    planned(ask, [f"{FUNCTIONS}:right_arrays"], ["tapegrad", "faults.engines:OnCuda"], Settings(full=True))
    assert [asked for asked in ask.asked if asked[0] == "try"] == [("try", "right_arrays")]


def test_a_size_that_nobody_tested_is_tried(ask):
    planned(ask, ["poly/n=777", "poly/n=10", "matmul/n=256"], ["tapegrad"])
    assert [asked for asked in ask.asked if asked[0] == "try"] == [("try", "poly/n=777")]


def test_a_plan_that_is_only_shown_tries_nothing(ask):
    request = Request(select_rows(["poly/n=99999999", f"{FUNCTIONS}:three"]), ["tapegrad"])
    plan = make_plan(request, QUICK, ask, tries=False)
    assert (names(plan.cells), plan.known) == ([("poly/n=99999999", "tapegrad"), ("three", "tapegrad")], [])
    assert {kind for kind, _ in ask.asked} == {"survey"}


def test_the_trial_that_goes_on_is_named(ask):
    said = []
    make_plan(Request(select_rows(["poly/n=777"]), ["tapegrad"]), QUICK, ask, watch=said.append)
    assert said == ["asking the engines what they can do", "trying poly/n=777"]


def test_a_function_that_no_engine_would_run_is_not_tried(ask):
    planned(ask, [f"{FUNCTIONS}:right_arrays"], ["tapegrad:program"])
    assert {kind for kind, _ in ask.asked} == {"survey"}


def test_a_trial_that_hangs_is_left_to_the_engines():
    def hangs(job):
        return jobs.Result(status="timeout", message="…") if job.kind == "try" else jobs.run(job)

    assert planned(hangs, [f"{FUNCTIONS}:right"], ["tapegrad"]).known == []


# --- cells


def test_what_tables_print_is_what_is_planned(ask):
    for full in (False, True):
        for cell in cells_of(select([]), ["tapegrad"], full=full):
            (again,) = cells_of(select_rows([cell.row]), ["tapegrad"], full=False)[:1]
            assert (again.row, again.params) == (cell.row, cell.params)


def test_a_keyword_matches_rows():
    def rows(keyword, **more):
        return [
            cell.row for cell in cells_of(select_rows(["poly", "matmul"], keyword), ["null"], **{"full": False} | more)
        ]

    assert rows("n=8") == ["matmul/n=8"]
    assert rows("n=300") == ["poly/n=300", "poly/n=3000"]  # a full run has them
    assert rows("n=8/dtype=float64") == ["matmul/n=8/dtype=float64"]
    assert rows("n=8/dtype", full=True) == ["matmul/n=8/dtype=float64"]


def test_nothing_that_was_asked_for(ask):
    with pytest.raises(
        SelectionError, match="no selected workload has float32; functions of numbers have only float64"
    ):
        planned(ask, ["expression"], ["tapegrad"], dtypes=["float32"])


def derivatives(plan):
    return [(cell.row, cell.derivative) for cell in plan.cells]


def test_derivatives_are_those_of_the_workload_or_those_that_were_asked_for(ask):
    plan = planned(ask, ["rosenbrock/n=10", "poly/n=10"], ["finite-difference"])
    assert derivatives(plan) == [
        ("rosenbrock/n=10", "gradient"),
        ("rosenbrock/n=10/derivative=hvp", "hvp"),
        ("rosenbrock/n=10/derivative=sparse-hessian", "sparse-hessian"),
        ("poly/n=10", "gradient"),
    ]
    plan = planned(ask, ["rosenbrock/n=10", "poly/n=10"], ["finite-difference"], derivatives=["jvp", "hvp"])
    assert [name for _, name in derivatives(plan)] == ["jvp", "hvp", "jvp", "hvp"]


def test_a_row_that_names_its_derivative_keeps_it(ask):
    plan = planned(ask, ["poly/n=10/derivative=h*", "reuse"], ["null"], derivatives=["jvp"])
    assert [name for _, name in derivatives(plan)] == ["hvp", "hessian", "jvp"]


def test_what_an_engine_or_a_workload_does_not_have_is_known_beforehand(ask):
    plan = planned(
        ask,
        ["rosenbrock/n=10", "broyden/n=10"],
        ["finite-difference", "tapegrad:fresh"],
        derivatives=["hvp", "jacobian"],
    )
    assert {m.cell.id: m.message for m in plan.known} == {
        "rosenbrock/n=10/derivative=hvp@tapegrad:fresh": "tapegrad:fresh has no hvp: it has gradient only",
        **{
            f"rosenbrock/n=10/derivative=jacobian@{engine}": "rosenbrock gives one number, whose jacobian is its "
            "gradient; it has gradient, jvp, vjp, hvp, hessian, sparse-hessian"
            for engine in ("finite-difference", "tapegrad:fresh")
        },
        **{
            f"broyden/n=10/derivative=hvp@{engine}": "broyden gives an array, and an hvp is of one number; it has jvp, "
            "vjp, jacobian, sparse-jacobian"
            for engine in ("finite-difference", "tapegrad:fresh")
        },
        "broyden/n=10/derivative=jacobian@tapegrad:fresh": "tapegrad:fresh has no jacobian: it has gradient only",
    }
    assert [kind for kind, _ in ask.asked] == ["survey", "survey"]


def test_every_row_of_the_suite_of_derivatives_is_what_it_is_selected_by():
    for cell in cells_of(select(["derivatives"]), ["tapegrad"], full=False):
        (again,) = [c for c in cells_of(select_rows([cell.row]), ["tapegrad"], full=False) if c.row == cell.row]
        assert again == cell
