"""Order statistics: the interval of a median, with the coverage that it truly has.

The k-th smallest and k-th largest of n values hold the median of what they are drawn from with a probability that
depends on n and k alone (the sign test, inverted; `benchstat` does the same).
"""

import math
from collections.abc import Sequence
from functools import cache

CONFIDENCE = 0.95


@cache
def place_and_coverage(n: int) -> tuple[int, float]:
    """The largest k (from 0) whose interval still covers 95 %, else 0, and the coverage.

    >>> place_and_coverage(5), place_and_coverage(10)
    ((0, 0.9375), (1, 0.978515625))
    """
    below, found = 0, (0, max(0.0, 1.0 - 2.0 ** (1 - n)))
    for k in range((n + 1) // 2):
        below += math.comb(n, k)
        coverage = 1.0 - 2.0 * below / 2**n
        if coverage < CONFIDENCE:
            break
        found = (k, coverage)
    return found


def interval_of_median(values: Sequence[float]) -> tuple[float, float, float]:
    """Low, high and coverage; the range of all values where n cannot give 95 %."""
    ordered = sorted(values)
    k, coverage = place_and_coverage(len(ordered))
    return ordered[k], ordered[-1 - k], coverage
