"""Order statistics: the stated coverage is the true one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from gradmark.records.order import CONFIDENCE, interval_of_median, place_and_coverage


def coverage_of(n, k):
    """The probability that the median lies between the (k+1)-th smallest and the (k+1)-th largest of n values.

    It does not if at most k of them fall on one of its sides.
    """
    return 1.0 - 2.0 * binom.cdf(k, n, 0.5)


@pytest.mark.parametrize("n", range(1, 31))
def test_stated_coverage_is_exact(n):
    place, coverage = place_and_coverage(n)
    assert coverage == pytest.approx(coverage_of(n, place), abs=1e-14)


@pytest.mark.parametrize("n", range(1, 31))
def test_the_interval_is_the_narrowest_that_covers_enough(n):
    place, coverage = place_and_coverage(n)
    if coverage >= CONFIDENCE:
        assert coverage_of(n, place + 1) < CONFIDENCE
    else:  # no interval of so few values does
        assert place == 0
        assert n < 6


def test_few_values_do_not_give_95_percent():
    assert [place_and_coverage(n)[1] for n in range(1, 6)] == [0.0, 0.5, 0.75, 0.875, 0.9375]


def test_the_interval_does_not_depend_on_the_order():
    assert interval_of_median([5.0, 1.0, 4.0, 2.0, 3.0]) == (1.0, 5.0, 0.9375)
    assert interval_of_median([float(k) for k in range(10)][::-1]) == (1.0, 8.0, 0.978515625)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30))
def test_ends_are_values_around_the_median(values):
    low, high, _ = interval_of_median(values)
    assert {low, high} <= set(values)
    assert sum(value < low for value in values) == sum(value > high for value in values) or len(set(values)) < len(
        values
    )
    assert low <= sorted(values)[len(values) // 2] <= high
