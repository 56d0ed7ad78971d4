"""Slopes by differences, and how far they may be off."""

import math

import pytest

from gradmark.measure.reference.slope import slope


@pytest.mark.parametrize(
    ("f", "exact"),
    [
        (math.exp, 1.0),
        (lambda t: math.sin(20 * t), 20.0),
        (lambda t: 3 * t, 3.0),
        (lambda t: 5.0, 0.0),
        (lambda t: 1e6 + t, 1.0),
        (lambda t: t + abs(t - 1e-3), 0.0),  # a kink that the first steps cross
        (lambda t: 1 / (1 + math.exp(-50 * t)), 12.5),
    ],
)
def test_a_slope_and_its_error(f, exact):
    value, error = slope(f)
    assert value == pytest.approx(exact, rel=1e-8, abs=1e-9)
    assert abs(value - exact) <= max(10 * error, 1e-13)


def test_a_slope_that_is_none_does_not_settle():
    value, error = slope(lambda t: math.copysign(1.0, t))
    assert not error <= 1e-3 * abs(value)
