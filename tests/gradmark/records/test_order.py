"""Order statistics: coverages in closed form, against SciPy and by counting."""

import doctest
import itertools

import pytest
from scipy import stats

from gradmark.records import order
from gradmark.records.order import (
    LEAST_ROUNDS,
    interval_of_median,
    mann_whitney_counts,
    place_and_coverage,
    place_and_coverage_of_shift,
)


@pytest.mark.parametrize(
    ("n", "place", "coverage"),
    [(1, 0, 0.0), (2, 0, 0.5), (3, 0, 0.75), (4, 0, 0.875), (5, 0, 0.9375), (6, 0, 0.96875), (9, 1, 0.9609375)],
)
def test_what_few_values_cover(n, place, coverage):
    assert place_and_coverage(n) == (place, coverage)


@pytest.mark.parametrize("n", [6, 10, 20, 51])
def test_the_interval_of_a_median_is_as_narrow_as_95_percent_allow(n):
    place, coverage = place_and_coverage(n)
    assert coverage == pytest.approx(1 - 2 * stats.binom.cdf(place, n, 0.5))
    assert coverage >= 0.95 > 1 - 2 * stats.binom.cdf(place + 1, n, 0.5)


@pytest.mark.parametrize(("n", "m"), [(1, 3), (3, 3), (4, 2), (5, 4)])
def test_the_counts_of_mann_and_whitney_are_those_of_all_orders(n, m):
    counts = [0] * (n * m + 1)
    for chosen in itertools.combinations(range(n + m), n):
        counts[sum(chosen) - n * (n - 1) // 2] += 1
    assert mann_whitney_counts(n, m) == counts


@pytest.mark.parametrize(("n", "m"), [(4, 4), (5, 5), (10, 4), (20, 20)])
def test_the_interval_of_a_shift_has_the_level_of_the_test(n, m):
    place, coverage = place_and_coverage_of_shift(n, m)

    def p_value(u):
        """Of data in which exactly u pairs are the other way round."""
        low = list(range(n))
        whole, rest = divmod(u, n)
        high = [-1.0] * whole + ([n - rest - 0.5] if rest else [])
        high += [float(n + k) for k in range(m - len(high))]
        return stats.mannwhitneyu(low, [x + k * 1e-6 for k, x in enumerate(high)], method="exact").pvalue

    assert p_value(place) == pytest.approx(1 - coverage)
    assert coverage >= 0.95
    assert p_value(place + 1) > 0.05


def test_as_many_processes_as_one_likes(monkeypatch):
    """Seen: OverflowError from 1,023 processes on, and minutes for the interval of a shift between 300 and 300."""
    assert place_and_coverage(1100)[1] >= 0.95
    assert place_and_coverage_of_shift(2000, 3000) == (2901992, 0.95)
    counted = [place_and_coverage_of_shift(n, n)[0] for n in (20, 50)]
    monkeypatch.setattr(order, "MOST_EXACT", 0)
    assert [place_and_coverage_of_shift.__wrapped__(n, n)[0] for n in (20, 50)] == counted


def test_too_few_values_give_their_range():
    assert interval_of_median([3.0, 1.0, 2.0]) == (1.0, 3.0, 0.75)
    assert interval_of_median([float(k) for k in range(10)]) == (1.0, 8.0, 0.978515625)
    assert LEAST_ROUNDS == 6


def test_examples_run():
    assert doctest.testmod(order) == (0, 3)
