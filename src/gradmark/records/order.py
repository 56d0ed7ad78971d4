"""Order statistics: intervals that hold whatever the noise looks like, with the coverage that they truly have.

In: how many values there are. Out: which of the sorted values bound the interval, and how often it holds the truth.
"""

import math
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

# What an interval is asked to cover. Where so few values cannot, their range is shown, and called a range.
CONFIDENCE = 0.95
# Differences up to which all orders are counted, which takes a third of a second; beyond, the normal distribution gives
# the same place.
MOST_EXACT = 10_000
NORMAL = 1.959964  # so many deviations hold 95 %


@cache
def place_and_coverage(n: int) -> tuple[int, float]:
    """Of n values: the largest k (from 0) for which the k-th smallest and largest cover 95 %, else 0; the coverage.

    The two hold the median of what the values are drawn from with a probability that depends on n and k alone (the
    sign test, inverted; `benchstat` does the same).

    >>> place_and_coverage(5), place_and_coverage(10)
    ((0, 0.9375), (1, 0.978515625))
    """
    return _place([math.comb(n, k) for k in range((n + 1) // 2)], 2**n)


@cache
def place_and_coverage_of_shift(n: int, m: int) -> tuple[int, float]:
    """The same of all n·m differences between two samples, for the shift between them.

    The Mann-Whitney test, inverted: the differences at these places bound the shifts that it does not reject.

    >>> place_and_coverage_of_shift(5, 5)
    (2, 0.9682539682539683)
    """
    if n * m > MOST_EXACT:
        deviation = math.sqrt(n * m * (n + m + 1) / 12.0)
        return max(0, math.floor(n * m / 2.0 - NORMAL * deviation)), CONFIDENCE
    counts = mann_whitney_counts(n, m)
    return _place(counts[: (len(counts) + 1) // 2], math.comb(n + m, n))


@cache
def mann_whitney_counts(n: int, m: int) -> list[int]:
    """How many of the orders of n and m values give U = 0, 1, …, n·m: the coefficients of a Gaussian binomial.

    SciPy has this distribution only behind a p-value of data.

    >>> mann_whitney_counts(2, 2)
    [1, 1, 2, 1, 1]
    """
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):  # times (1 - q^(m+i)) / (1 - q^i)
        for u in range(n * m, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):
            counts[u] += counts[u - i]
    return counts


def interval_of_median(values: Sequence[float]) -> tuple[float, float, float]:
    """Low, high and coverage; the range of all values where n cannot give 95 %."""
    ordered = sorted(values)
    k, coverage = place_and_coverage(len(ordered))
    return ordered[k], ordered[-1 - k], coverage


def _place(counts: Sequence[int], orders: int) -> tuple[int, float]:
    """The largest place that leaves out few enough of all orders, and the coverage there."""
    coverages = [max(0.0, 1.0 - 2 * below / orders) for below in accumulate(counts)]  # whole numbers of any length
    wide_enough = [k for k, coverage in enumerate(coverages) if coverage >= CONFIDENCE]
    place = wide_enough[-1] if wide_enough else 0
    return place, coverages[place]


# With fewer rounds the range of all of them covers less than 95 %, and no sign test can be significant.
LEAST_ROUNDS = next(n for n in range(1, 100) if place_and_coverage(n)[1] >= CONFIDENCE)
