"""Tools as engines: their commands, what they can be asked for, and their rows, right and wrong, self-timed."""

import sys
from pathlib import Path

import pytest

from gradmark.engines import discovery
from gradmark.engines.gradbench.tool import words_of
from gradmark.errors import SelectionError
from gradmark.measure.job import Job
from gradmark.measure.worker.jobs import run
from gradmark.records import Cell, Measurement, Settings
from gradmark.records.metric import numbers

TOOL = Path(__file__).parents[3] / "faults" / "tool.py"
QUICK = Settings(blocks=2, block_ns=10_000, memory=False, timeout_s=20.0)


def named(fault=""):
    return f"gradbench:{sys.executable} {TOOL} '{fault}'"


def done(kind, fault="", workload="hello", derivative="gradient", **params):
    params = params or {"x": 4}
    cell = Cell(engine=named(fault), workload=workload, suite="literature", params=params, derivative=derivative)
    return run(Job(kind=kind, cell=cell, settings=QUICK))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("sh -c 'cd x && ./run'", ["sh", "-c", "cd x && ./run"]),
        (f'{sys.executable} "a b.py" --flag=$HOME', [sys.executable, "a b.py", "--flag=$HOME"]),
    ],
)
def test_a_command_is_split_as_a_shell_does_and_run_without_one(command, words):
    assert words_of(command) == words


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", r"engine 'gradbench:' names no program; give its command, as in -e 'gradbench:python run"),
        ("  ", r"engine 'gradbench:' names no program"),
        ("sh -c 'x", r"cannot be split into words \(No closing quotation\); close its quotes"),
        ("no-such-tool --x", r"there is no program 'no-such-tool' that can be run; .* without a shell: for cd, pipes"),
    ],
)
def test_commands_that_name_nothing(command, message):
    with pytest.raises(SelectionError, match=message):
        words_of(command)
    with pytest.raises(SelectionError, match=message):
        discovery.chosen([f"gradbench:{command}"])


def test_the_name_alone_is_no_engine():
    with pytest.raises(SelectionError, match="names no program"):
        discovery.check("gradbench")


def test_a_tool_is_found_by_its_command():
    assert discovery.load(named()).name == named()
    assert done("survey").capabilities.dtypes == ("float64",)


def test_a_row_is_checked_here_and_timed_there():
    inspected = done("inspect", workload="lse", n=5)
    assert (inspected.status, inspected.warnings) == ("ok", [])
    assert inspected.accuracy.relative_error < 1e-15
    assert inspected.memory.reason == "the work is done in a process that the engine drives"
    sample = done("time", workload="lse", n=5).sample
    assert {name: (phase.how, set(phase.block_ns)) for name, phase in sample.phases.items()} == {
        "primal": ("self-timed", {1000.0}),
        "total": ("self-timed", {1000.0}),
    }
    assert sample.phases["total"].harness_ns == 0.0
    assert sample.once_ns["first_call"] == 9000.0  # the first run is kept apart


def test_the_mark_goes_where_the_number_goes():
    sample = done("time", workload="lse", n=5).sample
    cell = Cell(engine="gradbench:x", workload="lse", suite="literature", params={"n": 5})
    known = numbers(Measurement(cell=cell, status="ok", samples=[sample]))
    assert {name: known[name].how for name in ("total", "primal", "gradient_primal")} == dict.fromkeys(
        ("total", "primal", "gradient_primal"), "self-timed"
    )


def test_a_function_that_is_run_once_a_message():
    sample = done("time").sample
    assert (sample.phases["total"].iterations, set(sample.phases["total"].block_ns)) == (1, {9000.0})


@pytest.mark.parametrize(
    ("fault", "status", "message"),
    [
        ("wrong", "wrong-gradient", "the gradient is off by 1.0e-03 relative"),
        ("nan", "wrong-gradient", "the gradient with respect to value is nan"),
        ("shape", "error", "gave an output of another shape than hello has: expected a number, got [8.0]"),
        ("crash", "crash", "asked to evaluate hello.double, the tool ended with exit code 3: no memory for the tape"),
        ("no module", "unsupported", "the tool has no hello: not written yet"),
    ],
)
def test_a_row_that_failed(fault, status, message):
    result = done("inspect", fault)
    assert (result.status, message in result.message) == (status, True), result.message
    has_transcript = status in ("error", "crash")
    assert bool(result.transcript) == has_transcript


def test_a_tool_that_fails_while_it_is_timed():
    result = done("time", "crashes later", workload="lse", n=5)
    assert (result.status, result.message) == (
        "crash",
        "asked to evaluate lse.gradient, the tool was ended by SIGSEGV",
    ) or (result.status, result.message) == ("crash", "asked to evaluate lse.primal, the tool was ended by SIGSEGV")
    assert len(result.transcript) > 20


def test_a_tool_that_runs_less_than_it_was_asked_for():
    result = done("time", "too few runs", workload="lse", n=5)
    assert result.status == "error"
    assert "timed 1 of 2 runs that it was asked for" in result.message


@pytest.mark.parametrize(
    ("workload", "params", "derivative", "message"),
    [
        ("poly", {"n": 10}, "gradient", "GradBench has no eval that is poly; its tools can be asked for hello, lse"),
        ("hello", {"x": 4}, "jvp", "a jvp cannot be asked for: GradBench's eval is a gradient"),
        ("ode", {"n": 4, "s": 1}, "gradient", "GradBench's eval is the gradient of the last entry, which is zero"),
        ("ba", {"p": 10}, "sparse-jacobian", "GradBench's eval is of one camera, point and weight that it repeats"),
        ("particle", {"inner": "forward"}, "gradient", "GradBench has no eval that is particle"),
    ],
)
def test_what_a_tool_cannot_be_asked_for(workload, params, derivative, message):
    result = done("inspect", workload=workload, derivative=derivative, **params)
    assert (result.status, message in result.message) == ("unsupported", True), result.message
