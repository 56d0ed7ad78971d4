"""check_grads passes what is right and, above all, fails what is wrong."""

import math

import numpy as np
import pytest

import tapegrad
from tapegrad import GradientError, Var
from tapegrad.testing import check_grads, ridders


@pytest.mark.parametrize(
    ("f", "point"),
    [
        (lambda x: x * x + tapegrad.sin(x), (3.0,)),
        (lambda x, y: tapegrad.exp(x * y) / (1.0 + y * y), (0.5, -1.25)),
        (lambda p: p["a"] * p["b"][1], ({"a": 2.0, "b": [1.0, 3.0]},)),
        (lambda x: (x * x * x).sum(), (np.array([1.0, -2.0, 0.5]),)),
        (lambda x: tapegrad.log(x), (1000.0,)),
        (lambda x: tapegrad.log(x), (1e-4,)),
        (lambda x: tapegrad.sqrt(x), (1e-3,)),
        (lambda x: x if x > 0 else -x, (2.0,)),
        (lambda x: 5.0, (2.0,)),
    ],
)
def test_right_gradients_pass(f, point):
    check_grads(f, *point)


def with_wrong_rule(rule, wrong_slope):
    """An operation with the right value and, on a tape, another derivative than the values have."""

    def operation(x):
        if not isinstance(x, Var):
            return rule(x)
        return wrong_slope * x + (rule(x.value) - wrong_slope * x.value)

    return operation


@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.5, 1.00001])
def test_a_wrong_rule_fails(factor):
    sine = with_wrong_rule(math.sin, factor * math.cos(1.0))
    with pytest.raises(GradientError, match=r"input 0 = 1\.0 is .*, but the function's values give 0\.5403"):
        check_grads(sine, 1.0)


def test_the_right_slope_by_the_same_trick_passes():
    check_grads(with_wrong_rule(math.sin, math.cos(1.0)), 1.0)


def test_a_dropped_derivative_fails():
    with pytest.raises(GradientError, match="input 1 = 2"):
        check_grads(lambda x, y: x * (y.value if isinstance(y, Var) else y), 3.0, 2.0)


def test_other_values_on_numbers_fail():
    with pytest.raises(GradientError, match=r"on Vars and .* on plain numbers"):
        check_grads(lambda x: x * x if isinstance(x, Var) else x, 3.0)


def test_an_infinite_value_is_no_point_to_check_at():
    with pytest.raises(GradientError, match="gives inf there"):
        check_grads(lambda x: tapegrad.exp(x), 1e4)


@pytest.mark.parametrize("f", [lambda x: tapegrad.relu(x) + x, lambda x: tapegrad.sqrt(x), lambda x: x * math.nan])
def test_where_it_is_not_smooth_doubt_is_not_a_pass(f):
    with pytest.raises(GradientError):
        check_grads(f, 0.0)


def test_ridders_knows_its_error():
    slope, error = ridders(math.exp, 1.0, 1.0)
    assert abs(slope - math.e) <= 1e-10
    assert error <= 1e-9
