"""Paired comparison: two arms that were measured in turns, round by round.

In: the numbers of both arms by process number. Out: the ratio of the numbers shown, with what the rounds say of it.
`unlike` says which runs may be compared at all.
"""

import math
from collections.abc import Mapping
from statistics import median

from gradmark.errors import GradmarkError
from gradmark.records import Comparison, Measurement, Run
from gradmark.records.metric import Metric
from gradmark.records.order import interval_of_median

# Settings that shift a time. The number of processes and of blocks is not here, because samples may differ in length;
# `full` is, because files without pilots have floors, which are lower over more processes.
MEANING = ("threads", "block_ns", "pin", "huge_pages", "data", "full", "forked")


def rounds(measurement: Measurement, metric: Metric) -> dict[int, float]:
    """What each process says of a metric, by its number: processes of one number ran in one round."""
    if metric.in_process is None:
        return {}
    values = {sample.process: metric.in_process(sample) for sample in measurement.samples}
    return {process: value for process, value in values.items() if value is not None and math.isfinite(value)}


def compare(
    metric: str,
    first: Mapping[int, float],
    second: Mapping[int, float],
    shown: tuple[float, float] | None = None,
) -> Comparison:
    """Compare two arms, each by process number. Rounds that one arm lacks say nothing of the difference.

    The ratio is that of the numbers shown, which are the medians unless `shown` says otherwise. The interval
    is an order statistic of the ratios of the rounds, and the p-value the sign test on them: one is the inverse of the
    other, so they always agree. Neither asks what the noise looks like. Tried and rejected: the bootstrap, whose "95 %"
    covered 50 to 94 % for two to five rounds; the signed-rank test, which has half the power where a machine has a fast
    and a slow state; matching by rank, after which all ratios fall on one side by themselves.

    >>> seen = compare("total", {0: 100.0, 1: 104.0, 2: 101.0}, {0: 200.0, 1: 206.0, 3: 190.0})
    >>> round(seen.ratio, 2), round(seen.low, 2), seen.high, seen.coverage, seen.p_value, seen.processes
    (1.98, 1.98, 2.0, 0.5, 0.5, (2, 2))
    """
    old, new = shown if shown is not None else (_middle(metric, first), _middle(metric, second))
    both = sorted(first.keys() & second.keys())
    if not both:
        return Comparison(metric=metric, first=old, second=new, ratio=quotient(old, new))
    ratios = [quotient(first[process], second[process]) for process in both]
    low, high, coverage = interval_of_median(ratios)
    return Comparison(
        metric=metric,
        first=old,
        second=new,
        ratio=quotient(old, new),
        typical=median(ratios),
        low=low,
        high=high,
        coverage=coverage,
        p_value=sign_test(sum(ratio > 1.0 for ratio in ratios), sum(ratio < 1.0 for ratio in ratios), len(both)),
        processes=(len(both), len(both)),
    )


def sign_test(above: int, below: int, count: int) -> float:
    """The two-sided p-value that so many of `count` rounds lie on one side. A tie counts against either side."""
    if max(above, below) < 2:
        return 1.0
    from scipy import stats

    return min(1.0, 2.0 * float(stats.binomtest(max(above, below), count, alternative="greater").pvalue))


def quotient(old: float, new: float) -> float:
    """new / old, for counts and times that may be zero or, net of a subtraction, below: none against none is 1."""
    if old <= 0:
        return 1.0 if new <= 0 else math.inf
    return max(new, 0.0) / old


def _middle(metric: str, arm: Mapping[int, float]) -> float:
    if not arm:
        raise GradmarkError(f"Expected one number of {metric} or more in each arm, got none. Measure both arms.")
    return float(median(arm.values()))


def unlike(first: Run, second: Run) -> list[str]:
    """What makes times of two runs incomparable, as `field: first, second`: the machine, or the way of measuring."""
    return first.environment.unlike(second.environment) + [
        f"{field}: {ours}, {theirs}"
        for field in MEANING
        if (ours := getattr(first.settings, field)) != (theirs := getattr(second.settings, field))
    ]
