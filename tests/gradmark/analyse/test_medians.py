from collections import Counter
from itertools import product
from statistics import median

import numpy as np
import pytest

from gradmark.analyse.medians import _shares, median_interval
from gradmark.analyse.resampling import interval


@pytest.mark.parametrize("n", range(1, 7))
def test_the_distribution_is_that_of_all_resamples(n):
    values = [10**k for k in range(n)]  # every mean of two is another
    counted = Counter(median(resample) for resample in product(values, repeat=n))
    found: Counter[float] = Counter()
    for i, j, share in _shares(n):
        found[(values[i] + values[j]) / 2] += share * n**n
    assert {value: round(count) for value, count in found.items() if round(count)} == counted


@pytest.mark.parametrize("n", [2, 5, 10, 20])
def test_scipys_resamples_give_nearly_the_same(n):
    values = list(np.random.default_rng(n).lognormal(size=n))
    drawn, exact = interval(values, np.median), median_interval(values)
    # Drawing finds a neighbour of the exact place where a quantile falls between two.
    steps = sorted((a + b) / 2 for a in values for b in values)
    for one, other in zip(drawn, exact, strict=True):
        assert abs(np.searchsorted(steps, one) - np.searchsorted(steps, other)) <= len(steps) * 0.05


def test_the_order_of_the_processes_does_not_matter():
    assert median_interval([3.0, 1.0, 9.0, 2.0]) == median_interval([1.0, 2.0, 3.0, 9.0]) == (1.0, 9.0)
