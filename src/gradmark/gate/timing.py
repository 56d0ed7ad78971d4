"""Times of two revisions, measured in interleaved pairs: has a row become slower than its budget allows?

In: for each row and phase the floors of fresh processes, one of each revision per pair. Out: a finding for each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gradmark.analyse.resampling import RESAMPLES, SEED
from gradmark.gate.configuration import Configuration
from gradmark.records.finding import Finding
from gradmark.records.times import HARNESS_ERROR_NS
from gradmark.units import percent

# The family-wise rate of false accusations that Holm's procedure keeps, before the second measurement halves it again.
LEVEL = 0.05
# Draws of two disjoint halves of one arm, for the machine's own error.
DRAWS = 500
# A slowdown is believed if it is twice what equal things differ by.
TIMES_NOISE = 2.0
PHASES = ("forward", "backward", "total")


@dataclass(frozen=True)
class Row:
    """One phase of one cell: floors of the processes of each revision, in nanoseconds, paired by index."""

    cell: str
    workload: str
    phase: str
    before: Sequence[float]
    now: Sequence[float]

    @property
    def ratio(self) -> float:
        """Now against before, of the floors: the steadiest estimate where noise only ever adds."""
        return min(self.now) / min(self.before)


@dataclass(frozen=True)
class Judged:
    """The numbers that a verdict rests on."""

    row: Row
    p_value: float  # after Holm's correction
    noise: float  # p95 of |ratio - 1| of equal things, on this machine, in this session

    def finding(self, configuration: Configuration) -> Finding:
        """Pass if it is within the budget, noise included; fail if it is beyond it, noise included; else doubt."""
        budget = configuration.budget("time", self.row.workload)
        threshold = max(budget.share, TIMES_NOISE * self.noise)
        ratio = self.row.ratio
        seen = f"{percent(ratio)} (noise {self.noise:.1%}, p = {self.p_value:.2g})"
        made = Finding(
            cell=self.row.cell,
            metric=self.row.phase,
            word="pass",
            before=min(self.row.before),
            now=min(self.row.now),
            limit=min(self.row.before) * (1.0 + threshold),
            p_value=self.p_value,
            reason=seen,
        )
        if min(self.row.before) * budget.share < TIMES_NOISE * HARNESS_ERROR_NS:
            reason = f"too short: an empty call is known to {HARNESS_ERROR_NS:g} ns only"
            return msgspec.structs.replace(made, word="not compared", reason=reason)
        if ratio > 1.0 + threshold and self.p_value <= LEVEL:
            return msgspec.structs.replace(made, word="fail", reason=f"{seen}, the budget allows {budget}")
        if ratio - 1.0 + self.noise <= budget.share:
            return msgspec.structs.replace(made, word="improved") if ratio < 1.0 - threshold else made
        what = "it may be within the budget or not" if ratio <= 1.0 + threshold else "the pairs do not agree on it"
        reason = f"{seen}: {what}; more pairs (--pairs), or a calmer machine, would decide"
        return msgspec.structs.replace(made, word="inconclusive", reason=reason)


def judge(rows: Sequence[Row], configuration: Configuration) -> list[Finding]:
    """A finding for each row."""
    corrected = holm([p_value(row.before, row.now) for row in rows])
    # A row's own scatter, seen in a dozen processes, may look smaller than it is: the suite's median is its least.
    own = [noise(row) for row in rows]
    usual = sorted(own)[len(own) // 2] if own else 0.0
    return [
        Judged(row, p, max(error, usual)).finding(configuration)
        for row, p, error in zip(rows, corrected, own, strict=True)
    ]


def twice(
    found: Sequence[Finding], first: Sequence[Row], again: Sequence[Row], configuration: Configuration
) -> list[Finding]:
    """Rows that were measured again with fresh pairs: one fails only if both measurements are beyond the budget.

    The first ones were chosen because they looked bad, so that they alone prove nothing: besides, the fresh pairs must
    fail by themselves, or all pairs together. What does not fail is judged by all pairs together.
    """
    earlier = {finding.name: finding for finding in found}
    both = [
        Row(row.cell, row.workload, row.phase, [*row.before, *more.before], [*row.now, *more.now])
        for row, more in zip(first, again, strict=True)
    ]
    said = []
    verdicts = zip(first, again, judge(again, configuration), judge(both, configuration), strict=True)
    for row, more, fresh, pooled in verdicts:
        beyond = min(row.ratio, more.ratio) > 1.0 + configuration.budget("time", row.workload).share
        if fresh.word == "fail" and beyond:
            said.append(msgspec.structs.replace(fresh, reason=f"{fresh.reason}; before that {percent(row.ratio)}"))
        elif pooled.word == "fail" and beyond:
            reason = f"{pooled.reason}; {percent(row.ratio)} at first, {percent(more.ratio)} with fresh pairs"
            said.append(msgspec.structs.replace(pooled, reason=reason))
        elif pooled.word == "fail":
            was = earlier[pooled.name].word
            reason = (
                f"{pooled.reason}; {was} at first, {fresh.word} with fresh pairs; more pairs (--pairs) would decide"
            )
            said.append(msgspec.structs.replace(pooled, word="inconclusive", reason=reason))
        else:
            said.append(pooled)
    return said


def lower_half(values: Any, axis: int) -> Any:
    """The mean of the logarithms of the faster half: as steady as the floor, and not a single number."""
    import numpy as np

    count = (values.shape[axis] + 1) // 2
    return np.mean(np.log(np.take(np.sort(values, axis=axis), range(count), axis=axis)), axis=axis)


def p_value(before: Sequence[float], now: Sequence[float]) -> float:
    """One-sided permutation test over pairs: each pair may be swapped; the statistic is the ratio of the lower halves.

    Exact up to 13 pairs, seeded beyond. Tried and rejected: the mean of the log ratios, which one disturbed process
    decides. Where there is no test p is 1: what could not be tested is never significant.
    """
    import numpy as np
    from scipy import stats

    if len(before) < 2 or not all(math.isfinite(x) and x > 0 for x in (*before, *now)):
        return 1.0
    found = stats.permutation_test(
        (np.asarray(now), np.asarray(before)),
        lambda x, y, axis: lower_half(x, axis) - lower_half(y, axis),
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=RESAMPLES,
        random_state=np.random.default_rng(SEED),
    ).pvalue
    return float(found) if math.isfinite(found) else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the k-th smallest of m is multiplied by m - k + 1, and never falls again."""
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda k: p_values[k])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def noise(row: Row) -> float:
    """The 95th percentile of |ratio - 1| of the floors of two halves of one arm: equal things, compared.

    Halves have fewer processes than arms, so it is rather too large than too small.
    """
    import numpy as np

    draw = np.random.default_rng(SEED)
    errors = []
    for arm in (np.asarray(row.before), np.asarray(row.now)):
        half = len(arm) // 2
        if half == 0:
            return math.inf
        drawn = draw.permuted(np.tile(arm, (DRAWS, 1)), axis=1)
        errors.append(np.abs(drawn[:, :half].min(axis=1) / drawn[:, half : 2 * half].min(axis=1) - 1.0))
    return float(np.quantile(np.concatenate(errors), 0.95))
