"""Summaries: what a measurement says, when it is unsteady, and warnings once each."""

import subprocess
import sys

import msgspec
import pytest
from oracles.watched import all_watched, never_calm

from gradmark.analyse.summary import JUDGED_ABOVE_NS, UNSTEADY_SPREAD, is_steady, summarise, summarise_run
from gradmark.records import (
    Cell,
    Code,
    Instructions,
    Measurement,
    Memory,
    Number,
    Phase,
    Sample,
    Sparsity,
    Warning,
    metric,
)

CELL = Cell(engine="null", workload="poly", suite="scalar", params={"n": 10})
KINK = Warning(code=Code.UNCHECKED, reason="the function has a kink")


def sample(process=0, warnings=(), **times):
    phases = {name: Phase(iterations=1, block_ns=ns if isinstance(ns, list) else [ns]) for name, ns in times.items()}
    return Sample(process=process, phases=phases, once_ns={}, harness_ns=20.0, clock_ns=1.0, warnings=list(warnings))


def measurement(*samples, **fields):
    return Measurement(**{"cell": CELL, "status": "ok", "samples": list(samples), **fields})


def late(ns):
    return Warning(code=Code.UNFINISHED, numbers={"late_ns": ns})


def test_a_summary_has_the_numbers_of_the_registry():
    one = measurement(sample(primal=100.0, forward=200.0, total=500.0), message="said", operations=1000)
    found = summarise(one)
    assert found.numbers == metric.numbers(one)
    assert (found.cell, found.status, found.message) == (CELL, "ok", "said")
    assert found.value("total") == found.time.value == 500.0
    assert found.value("peak_bytes") is None
    assert found.reasons["peak_bytes"] == "not measured"
    assert found.steady
    assert found.warnings == []


def test_the_time_of_what_only_evaluates_is_primal():
    assert summarise(measurement(sample(primal=4.0))).time.value == 4.0
    assert summarise(measurement()).time is None


def test_what_was_not_measured():
    found = summarise(measurement(status="timeout", message="60 s", operations=10, warnings=[KINK]))
    assert found.numbers == {}
    assert set(found.reasons.values()) == {"timeout"}
    assert found.steady
    assert found.warnings == [KINK]


# --- unsteady


def test_processes_that_disagree_are_told():
    found = summarise(measurement(*(sample(total=ns) for ns in (100.0, 120.0, 150.0))))
    assert not found.steady
    assert found.warnings == [Warning(code=Code.UNSTEADY, numbers={"spread": 25.0 / 120.0})]


@pytest.mark.parametrize(
    "samples",
    [
        [sample(total=ns) for ns in [100.0] * 8 + [900.0]],  # of nine, the slowest is not in the interval
        [sample(total=100.0), sample(total=118.0)],  # ±8 %
        [sample(total=[100.0, 900.0, 900.0]), sample(total=[100.0, 900.0, 900.0])],  # processes agree
        [sample(total=100.0)],  # one process cannot disagree
        [sample(total=10.0), sample(total=49.0), sample(total=500.0)],  # too short to be judged
        [sample(forward=10.0, total=900.0), sample(forward=99.0, total=900.0)],  # only the whole is judged
    ],
)
def test_no_false_alarm(samples):
    found = summarise(measurement(*samples))
    assert found.steady
    assert found.warnings == []


def test_primal_is_judged_where_there_is_no_total():
    assert not summarise(measurement(*(sample(primal=ns) for ns in (100.0, 150.0, 150.0)))).steady


def test_the_limits_themselves_are_steady():
    assert is_steady(Number(value=1000.0, spread=UNSTEADY_SPREAD))
    assert not is_steady(Number(value=1000.0, spread=UNSTEADY_SPREAD + 1e-9))
    assert is_steady(Number(value=JUDGED_ABOVE_NS, spread=9.0))
    assert is_steady(None)


def test_a_cell_that_failed_is_not_called_unsteady():
    found = summarise(measurement(*(sample(total=ns) for ns in (100.0, 150.0, 200.0)), status="crash"))
    assert found.steady
    assert found.warnings == []


# --- warnings


def test_warnings_are_told_once_each_with_the_largest_numbers():
    samples = [sample(warnings=[late(ns)], total=1.0) for ns in (30.0, 90.0, 50.0)]
    assert summarise(measurement(*samples, warnings=[KINK, KINK])).warnings == [KINK, late(90.0)]


def test_warnings_with_different_reasons_are_different():
    smooth = Warning(code=Code.UNCHECKED, reason="differences do not settle")
    assert summarise(measurement(sample(total=1.0, warnings=[smooth]), warnings=[KINK])).warnings == [KINK, smooth]


def test_what_the_times_say_is_a_warning_of_the_row():
    lazy = [sample(process, forward=1000.0, backward=200.0, total=5000.0) for process in range(4)]
    assert [w.code for w in summarise(measurement(*lazy)).warnings] == [Code.UNREPEATABLE]
    assert summarise(measurement(*lazy, status="crash")).warnings == []


# --- tools and shapes


def test_a_missing_tool_is_told_from_what_was_switched_off():
    found = summarise(
        measurement(
            memory=Memory(reason="switched off with --no-memory"),
            instructions=Instructions(reason="valgrind is not installed", lacks_tool=True),
        )
    )
    assert found.lacks_tool == ["instructions"]


@pytest.mark.parametrize(("shapes", "text"), [({}, ""), ({"x": [128, 784], "w": [784]}, "128×784"), ({"x": []}, "()")])
def test_the_shape_is_that_of_the_first_input(shapes, text):
    assert summarise(measurement(shapes=shapes)).shape == text


def test_stage_starts_without_numpy_and_scipy():
    code = (
        "import sys, gradmark.analyse.summary, gradmark.analyse.standings; "
        "print([name for name in ('numpy', 'scipy') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


# --- calm


def test_a_cell_that_never_saw_a_calm_block_says_so_and_nothing_of_its_spread():
    one = measurement(*(sample(total=ns) for ns in (100.0, 120.0, 150.0)))
    found = summarise(never_calm(one))
    assert (found.calm, found.calm_blocks, found.time.value) == (False, 0.0, 120.0)
    assert found.warnings == [Warning(code=Code.NEVER_CALM)]
    calm = summarise(all_watched(one, calm=3))
    assert (calm.calm, calm.calm_blocks, [w.code for w in calm.warnings]) == (True, 0.75, [Code.UNSTEADY])


def test_older_files_count_as_calm():
    found = summarise(measurement(sample(total=100.0)))
    assert (found.calm, found.calm_blocks) == (True, None)
    assert summarise(measurement(status="crash")).calm


# --- beside other derivatives


def derived(derivative, total, first_call=1000.0, peak=1 << 20, **fields):
    one = msgspec.structs.replace(sample(primal=10.0, total=total), once_ns={"prepare": first_call, "first_call": 0.0})
    cell = msgspec.structs.replace(CELL, derivative=derivative)
    return measurement(one, cell=cell, memory=Memory(peak_bytes=peak), **fields)


def test_a_derivative_beside_its_function_and_its_gradient():
    gradient, product = summarise_run([derived("gradient", 40.0), derived("hvp", 100.0, peak=3 << 19, evaluations=1.0)])
    values = {name: product.value(name) for name in ("derivative_primal", "theory", "derivative_gradient")}
    assert values == {"derivative_primal": 10.0, "theory": 10.0, "derivative_gradient": 2.5}
    assert (product.value("peak_gradient"), product.value("evaluations")) == (1.5, 1.0)
    assert gradient.value("gradient_primal") == 4.0
    assert not gradient.numbers.keys() & values.keys()
    assert not gradient.reasons.keys() & values.keys()


def test_without_its_gradient_it_says_so():
    (product,) = summarise_run([derived("hvp", 100.0)])
    assert product.reasons["derivative_gradient"] == "its gradient is not in this run; add -d gradient"
    assert product.reasons["evaluations"] == "the function is compiled, and the engine does not count"
    other = msgspec.structs.replace(CELL, engine="other")
    both = summarise_run([derived("hvp", 100.0), msgspec.structs.replace(derived("gradient", 40.0), cell=other)])
    assert "derivative_gradient" in both[0].reasons


def test_a_gradient_that_failed_is_none_to_compare_with():
    failed = msgspec.structs.replace(derived("gradient", 40.0), status="crash")
    assert "derivative_gradient" in summarise_run([failed, derived("hvp", 100.0)])[1].reasons


@pytest.mark.parametrize(
    ("first_call", "total", "calls"),
    [(1000.0, 10.0, 0.0), (10_000.0, 10.0, 100.0), (10_000.0, 99.0, 9000.0)],
)
def test_when_a_sparse_matrix_has_made_up_for_its_preparation(first_call, total, calls):
    dense = derived("jacobian", 100.0)
    sparse = derived("sparse-jacobian", total, first_call, sparsity=Sparsity(nonzeros=28, colours=3))
    found = summarise_run([dense, sparse])[1]
    assert (found.value("break_even"), found.value("preparation")) == (calls, first_call)
    assert (found.value("nonzeros"), found.value("colours")) == (28, 3)
    assert found.reasons["theory"] == "it depends on the size"


def test_one_that_never_does_or_has_nothing_to_compare_with():
    sparse = derived("sparse-jacobian", 200.0, 10_000.0)
    assert summarise_run([derived("jacobian", 100.0), sparse])[1].reasons["break_even"] == (
        "never: the dense matrix takes no longer"
    )
    assert summarise_run([sparse])[0].reasons["break_even"] == ("its dense matrix is not in this run; add -d jacobian")
