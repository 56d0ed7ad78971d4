"""A program at many points on a device: the batches of the interpreter."""

import re

import numpy as np
import pytest

import tapegrad
from tapegrad.compile.cuda import points
from tapegrad.errors import InputError
from tapegrad.rules.table import RULES

pytestmark = pytest.mark.slow  # each program is compiled by g++


def recorded(f, at):
    tape = tapegrad.Tape()
    many = isinstance(at, list)
    xs = [tape.var(x) for x in at] if many else tape.var(at)
    return tape.freeze(xs, f(*xs) if many else f(xs))


PROGRAMS = {
    "square and sine": (lambda x: x * x + tapegrad.sin(x), 1.0),
    "both circular functions": (lambda x: tapegrad.sin(x) * tapegrad.cos(x) + tapegrad.exp(-x * x), 1.0),
    "two inputs": (lambda x, y: tapegrad.pow(x * x + 1.0, y) + tapegrad.atan2(x, y) * tapegrad.hypot(x, y), [1.0, 0.5]),
    "several outputs": (lambda x, y: [x * y, tapegrad.where(x < y, x, y * y), tapegrad.tanh(x)], [1.0, 0.5]),
    "a number that is known": (lambda x, y: [x * 3.0, tapegrad.log1p(y * y)], [1.0, 2.0]),
}


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("count", [1, 2, 1001])
def test_values_and_gradients_are_those_of_the_interpreter(there, name, count):
    program = recorded(*PROGRAMS[name])
    inputs = program.stats().inputs
    x = np.random.default_rng(0).normal(size=(count, inputs) if inputs > 1 else count)
    compiled = program.compile()
    expected, slopes = program.batch(x)
    values, gradients = compiled.batch(*there(x))
    np.testing.assert_allclose(values.view(np.ndarray), expected, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(gradients.view(np.ndarray), slopes, rtol=2e-15, atol=2e-15)
    alone = compiled.batch(*there(x), gradients=False)
    assert alone.view(np.ndarray).tobytes() == values.view(np.ndarray).tobytes()


@pytest.mark.usefixtures("device")
def test_a_point_that_takes_another_branch_has_nan(there):
    program = recorded(lambda x: x * x if x > 0 else -x, 1.0)
    values, gradients = program.compile().batch(*there(np.array([2.0, -1.0, 3.0])))
    assert values.tolist() == pytest.approx([4.0, np.nan, 9.0], nan_ok=True)
    assert gradients.tolist() == pytest.approx([4.0, np.nan, 6.0], nan_ok=True)


@pytest.mark.usefixtures("device")
def test_points_of_another_form_are_refused(there):
    compiled = recorded(lambda x, y: x * y, [1.0, 2.0]).compile()
    message = "expected points as an array (points, 2) of float64, got float32 of shape (3, 2)"
    with pytest.raises(InputError, match=re.escape(message)):
        compiled.batch(*there(np.ones((3, 2), np.float32)))
    with pytest.raises(InputError, match=re.escape("got float64 of shape (3, 4)")):
        compiled.batch(*there(np.ones((3, 4))))
    assert [len(part) for part in compiled.batch(*there(np.ones((0, 2))))] == [0, 0]


def test_a_program_that_would_take_minutes_to_compile_is_refused(monkeypatch):
    monkeypatch.setattr(points, "MOST_NODES", 3)
    with pytest.raises(InputError, match="expected a program of at most 3 operations"):
        points.source(recorded(*PROGRAMS["square and sine"]), gradients=True)


def test_the_sine_and_the_cosine_of_a_number_are_one_call():
    text = points.source(recorded(*PROGRAMS["both circular functions"]), gradients=True)
    assert text.count("sincos(") == 1


@pytest.mark.usefixtures("device")
def test_every_rule_is_a_function(device):
    names = [name for name, rule in RULES.items() if rule.value is not None]
    text = points.PRELUDE + points.helpers_h() + "".join(map(points.function_of, names))
    kernel = "KERNEL(1, 1) points(double x) { (void)x; }\n"
    assert device.functions(text + kernel, ["points"])
    assert len(names) > 40
