"""The trial: what cannot be measured is said once, in words, before any engine sees it."""

from pathlib import Path

import pytest

from gradmark.measure.job import Job
from gradmark.measure.worker.jobs import run
from gradmark.records import Cell, Code, Settings

FUNCTIONS = str(Path(__file__).parents[3] / "faults" / "functions.py")


def tried(name, file=FUNCTIONS, **params):
    cell = Cell(engine="", workload=name, suite="mine", params=params, file=file)
    return run(Job(kind="try", cell=cell, settings=Settings()))


@pytest.mark.parametrize("name", ["right", "right_arrays", "kinked"])
def test_what_can_be_measured(name):
    result = tried(name)
    assert (result.status, result.message, result.warnings) == ("ok", "", [])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("noisy", "noisy is random: at the same inputs it gave "),
        ("noisy_arrays", "noisy_arrays is random: at the same inputs it gave "),
        ("counting", "counting is random: at the same inputs it gave "),
        ("other_inputs", "other_inputs draws other inputs each time; use the generator"),
        ("three", "three returned 3 numbers; a workload returns one number"),
        ("nothing", "nothing returned nothing; a workload returns one number"),
        ("words", "words returned str; a workload returns one number"),
        ("vector", "vector returned an array of shape (3,); a workload returns one number"),
        (
            "too_few",
            "too_few cannot be called with ops, 2 inputs: too many positional arguments; it is too_few(ops, x)",
        ),
        ("overflow", "overflow is inf at the chosen inputs; choose others"),
        ("nan_input", "nan_input draws an input that is not finite: x"),
        ("domain", "domain fails on plain numbers: functions.py, line "),
        ("steep", "steep cannot be measured: the derivative with respect to input 0 = 0.0 is not finite; choose other"),
        ("in_place", "in_place changes its inputs; write y = x + 1, not x += 1"),
        ("integers", "integers has no input to differentiate"),
    ],
)
def test_what_cannot(name, message):
    result = tried(name)
    assert result.status == "invalid"
    assert result.message.startswith(message)


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_gradient_of_arrays_that_is_not_finite():
    result = tried("steep_arrays")
    assert result.status == "invalid"
    assert result.message.endswith("the derivative with respect to x is not finite; choose other inputs")


def test_sizes_that_the_function_or_its_inputs_do_not_take():
    assert tried("without_size", n=3).message == (
        "without_size/n=3 cannot be called with ops, 1 input, n: got an unexpected keyword argument 'n'; it is "
        "without_size(ops, x)"
    )
    assert tried("undrawn", steps=200).message.startswith("undrawn/steps=200 has no inputs: functions.py, line ")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("more_than_floats", "python-floats has no gamma, which this function needs"),
        ("methods", "plain numbers have no detach, which this function needs"),
    ],
)
def test_what_plain_numbers_lack_is_left_to_the_engines(name, reason):
    result = tried(name)
    assert result.status == "ok"
    assert [(warning.code, warning.reason) for warning in result.warnings] == [(Code.UNCHECKED, reason)]


def test_an_undeclared_size_of_a_built_in_function():
    assert tried("poly", file=None, n=20_000).status == "ok"
    wrong = tried("transformer_block", file=None, batch=2, length=16, width=66)
    assert wrong.status == "invalid"
    assert wrong.message.startswith("transformer_block/batch=2/length=16/width=66 fails on plain numbers: ")
