"""Comparisons: is the second arm slower or faster than the first, and may the two be compared at all.

In: two lists of numbers, paired by interleaved round, or two runs. Out: the ratio of floors with interval and p-value.
"""

import math
from collections.abc import Sequence

from gradmark.analyse.resampling import RESAMPLES, SEED, interval
from gradmark.errors import GradmarkError, UnlikeRunsError
from gradmark.records import Comparison, Run

# Settings that shift a time. The number of processes and of blocks is not here, because `compare` wants pairs; `full`
# is, because a floor over more processes and blocks is lower by itself.
MEANING = ("threads", "block_ns", "pin", "full", "forked")


def compare(metric: str, first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Compare two arms whose numbers of one index come from one round; the ratio is second / first of the floors.

    The interval is a percentile bootstrap over rounds of the geometric mean of the ratios, because that of the floors
    is degenerate (a resample can only repeat the floor or raise it); it is widened to hold the ratio of floors.
    The p-value is that of the paired sign-flip permutation test on the log ratios. It needs six rounds to fall
    below 0.05, and is 1 where there is no test: what could not be tested is never significant.

    >>> found = compare("total", [100.0, 104.0, 101.0], [200.0, 206.0, 203.0])
    >>> found.ratio, round(found.low, 2), round(found.high, 2), found.p_value
    (2.0, 1.98, 2.01, 0.25)
    """
    if not first or len(first) != len(second):
        raise GradmarkError(
            f"Expected as many rounds of {metric} in both arms, and one at least, got {len(first)} and {len(second)}. "
            "Leave out the rounds that one arm lacks, or measure both again side by side."
        )
    if not all(map(math.isfinite, (*first, *second))):
        raise GradmarkError(
            f"Expected finite numbers for {metric}, got {list(first)} and {list(second)}. Leave out the rounds without."
        )
    ratio = _ratio(min(first), min(second))
    ratios = [_ratio(old, new) for old, new in zip(first, second, strict=True)]
    low, high = _interval(ratios)
    return Comparison(
        metric=metric,
        first=min(first),
        second=min(second),
        ratio=ratio,
        low=min(low, ratio),
        high=max(high, ratio),
        p_value=_p_value([_log(ratio) for ratio in ratios]),
    )


def refuse_unlike(first: Run, second: Run) -> None:
    """Raise if times of these runs do not compare: another machine, or another way of measuring."""
    unlike = first.environment.unlike(second.environment)
    unlike += [
        f"{field}: {ours}, {theirs}"
        for field in MEANING
        if (ours := getattr(first.settings, field)) != (theirs := getattr(second.settings, field))
    ]
    if unlike:
        raise UnlikeRunsError(
            f"Expected two runs of one machine and one way of measuring, but {first.id} and {second.id} differ in "
            f"{'; '.join(unlike)}. Measure both again on one machine with the same options, or let "
            "`gradmark check --against REF` build the other revision and measure both side by side."
        )


def _ratio(old: float, new: float) -> float:
    """new / old, for counts and times that may be zero or, net of a subtraction, below: none against none is 1."""
    if old <= 0:
        return 1.0 if new <= 0 else math.inf
    return max(new, 0.0) / old


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0 else -math.inf


def _interval(ratios: list[float]) -> tuple[float, float]:
    """Percentile bootstrap of the geometric mean; the whole range where a ratio to zero leaves no mean."""
    low, high = min(ratios), max(ratios)
    if low == high or low == 0 or high == math.inf:
        return low, high
    import numpy as np

    lower, upper = interval([_log(ratio) for ratio in ratios], np.mean)
    return math.exp(lower), math.exp(upper)


def _p_value(logs: list[float]) -> float:
    """Two-sided sign-flip permutation test of a mean log ratio of zero, exact up to 13 rounds, seeded beyond."""
    if len(logs) < 2 or not any(logs):
        return 1.0
    import numpy as np
    from scipy import stats

    # A ratio to zero has no finite logarithm. It counts as the largest one there is, and at least as a factor of e.
    largest = max([1.0, *(abs(value) for value in logs if math.isfinite(value))])
    try:
        found = stats.permutation_test(
            (np.clip(logs, -largest, largest),),
            lambda values, axis: np.mean(values, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=RESAMPLES,
            random_state=np.random.default_rng(SEED),
        ).pvalue
    except (ValueError, ArithmeticError):
        return 1.0
    return float(found) if math.isfinite(found) else 1.0
