"""Conditions: comparisons by value, and how they combine."""

import math
import operator

import numpy as np
import pytest

from tapegrad import Condition, Tape


@pytest.fixture
def tape():
    return Tape()


@pytest.mark.parametrize("op", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
@pytest.mark.parametrize("values", [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (math.nan, 1.0), (0.0, -0.0)])
def test_comparisons_are_by_value(tape, op, values):
    a, b = values
    x, y = tape.var(a), tape.var(b)
    expected = op(a, b)
    for compared in (op(x, y), op(x, b), op(a, y), op(x, tape.const(b)), op(x, np.float64(b))):
        assert type(compared) is Condition
        assert bool(compared) is expected
        assert compared == expected
        assert repr(compared) == f"Condition({expected})"
    assert op(tape.const(a), b) is expected


def test_conditions_combine_as_bools(tape):
    x = tape.var(1.0)
    assert ((x > 0) & (x < 2)) is True
    assert ((x > 0) & (x > 2)) is False
    assert ((x > 3) | (x < 2)) is True
    assert (not x > 3) is True
    assert sorted([tape.var(2.0), x])[0] is x
    assert max(x, 3.0) == 3.0


def test_conditions_combine_with_bools_only(tape):
    condition = tape.var(1.0) > 0
    assert (condition & True, condition | np.bool_(False), False | condition) == (True, True, True)
    for wrong in ("abc", [1, 2], 0.5, None):
        with pytest.raises(TypeError):
            condition & wrong
        with pytest.raises(TypeError):
            wrong | condition


def test_comparison_with_what_is_not_a_number(tape):
    x = tape.var(1.0)
    assert (x == "one") is False
    assert (x != None) is True  # noqa: E711  the operator is what is tested
    with pytest.raises(TypeError, match="not supported between"):
        _ = x < "one"
