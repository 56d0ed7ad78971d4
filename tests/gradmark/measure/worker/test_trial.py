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


@pytest.mark.parametrize("name", ["right", "right_arrays", "kinked", "flat_here", "flat_here_arrays"])
def test_what_can_be_measured(name):
    result = tried(name)
    assert (result.status, result.message, result.warnings) == ("ok", "", [])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("noisy", "noisy gives different values at the same inputs (0."),
        ("noisy_arrays", "noisy_arrays gives different values at the same inputs ("),
        ("counting", "counting gives different values at the same inputs ("),
        ("misspelt", "misspelt cannot be measured: ops has no sinn; did you mean sin?"),
        ("unheard_of", "unheard_of cannot be measured: ops has no frobnicate; its names are in gradmark.workloads."),
        ("of_arrays_only", "of_arrays_only cannot be measured: ops has no matmul for numbers"),
        ("truth", "truth returned a bool; a workload returns one number"),
        ("truth_of_arrays", "truth_of_arrays returned a bool; a workload returns one number"),
        ("constant", "constant does not depend on its inputs: it is 3.0 at all that were tried"),
        ("constant_arrays", "constant_arrays does not depend on its inputs: it is 3.0 at all that were tried"),
        ("leaves", "leaves fails on plain numbers: functions.py, line "),
        ("word_as_input", "word_as_input has wrong inputs: inputs gave '2.0' second; expected numbers"),
        ("inputs_without_draw", "inputs_without_draw has wrong inputs: inputs takes (draw, **sizes): too many"),
        (
            "inputs_without_list",
            "inputs_without_list has wrong inputs: inputs gave a float; expected a list of numbers",
        ),
        ("inputs_without_result", "inputs_without_result has wrong inputs: inputs gave nothing; expected a list of"),
        (
            "arrays_without_list",
            "arrays_without_list has wrong inputs: arrays gave one array; expected a list of arrays",
        ),
        ("inputs_that_leave", "inputs_that_leave has no inputs: functions.py, line "),
        ("other_inputs", "other_inputs draws other inputs each time; use the generator"),
        ("three", "three returned 3 numbers; a workload returns one number, unless it says result='array'"),
        ("nothing", "nothing returned nothing; a workload returns one number"),
        ("words", "words returned a str; a workload returns one number"),
        (
            "vector",
            "vector returned an array of shape (3,); a workload returns one number, unless it says result='array'",
        ),
        (
            "too_few",
            "too_few cannot be called with ops, 2 inputs: too many positional arguments; it is too_few(ops, x)",
        ),
        ("overflow", "overflow is inf at the chosen inputs; choose others"),
        ("nan_input", "nan_input has an input that is not finite: x"),
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
    assert (
        tried("undrawn").message
        == "undrawn has wrong inputs: inputs takes (draw, **sizes): missing a required argument: 'steps'"
    )
    assert tried("undrawn", steps=200).message.startswith("undrawn/steps=200 has no inputs: functions.py, line ")


def test_what_plain_numbers_lack_is_left_to_the_engines():
    result = tried("methods")
    assert result.status == "ok"
    reason = "plain numbers have no detach, which this function needs"
    assert [(warning.code, warning.reason) for warning in result.warnings] == [(Code.UNCHECKED, reason)]


def test_what_gives_different_values_is_random_or_keeps_state():
    for name in ("noisy", "counting"):
        assert tried(name).message.endswith("): it is random or keeps state")


def test_an_undeclared_size_of_a_built_in_function():
    assert tried("poly", file=None, n=20_000).status == "ok"
    wrong = tried("transformer_block", file=None, batch=2, length=16, width=66)
    assert wrong.status == "invalid"
    assert wrong.message.startswith("transformer_block/batch=2/length=16/width=66 fails on plain numbers: ")


@pytest.mark.parametrize("name", ["pair", "squares"])
def test_several_results_can_be_measured(name):
    assert (tried(name).status, tried(name).message) == ("ok", "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("one_for_several", "one_for_several returned a float; with result='array' it returns a list of numbers"),
        ("sum_for_several", "sum_for_several returned a float64; with result='array' it returns one array"),
        ("empty", "empty returned nothing in a list; with result='array' it returns a list of numbers"),
        ("half_infinite", "half_infinite is inf at the chosen inputs; choose others"),
        ("words_among_them", "words_among_them returned a str; a workload returns one number"),
        ("constants", "constants does not depend on its inputs"),
    ],
)
def test_several_results_that_cannot(name, message):
    result = tried(name)
    assert (result.status, result.message.startswith(message)) == ("invalid", True), result.message
