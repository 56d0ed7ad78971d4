"""Times of two builds, measured in interleaved pairs: has a row become slower than its budget allows?

In: measurements of both sides, whose samples are pairs where their process numbers agree. Out: a finding for each row
and phase.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median

import msgspec

from gradmark.analyse.resampling import RESAMPLES, SEED
from gradmark.gate.configuration import Configuration
from gradmark.records import Code, Measurement
from gradmark.records.finding import Finding, FindingCode, Word
from gradmark.records.metric import REGISTRY, metric
from gradmark.records.times import HARNESS_ERROR_NS, is_timed, unrepeatable
from gradmark.store.baselines import key

# The family-wise rate of false accusations that Holm's procedure keeps, before the second measurement halves it again.
LEVEL = 0.05
# Draws of two disjoint halves of one arm, for the machine's own error.
DRAWS = 500
# A slowdown is believed if it is twice what equal things differ by.
TIMES_NOISE = 2.0
# Log ratios of pairs count up to this many times the median of their sizes.
CLIPPED = 1.5
# The phases that are gated.
PHASES = tuple(entry.name for entry in REGISTRY if entry.phase and entry.budget is not None)


@dataclass(frozen=True)
class PairedTimes:
    """One phase of one cell: times of the processes of each build, in nanoseconds, paired by index.

    Calm blocks are compared with calm blocks: pairs of which one process saw none are not here. There may be no pair.
    """

    cell: str
    workload: str
    phase: str
    before: Sequence[float]
    now: Sequence[float]

    @property
    def ratio(self) -> float:
        """Now against before, of the typical processes; not a number if there is no pair."""
        return median(self.now) / median(self.before) if self.now else math.nan


def paired(before: Measurement, now: Measurement, processes: Collection[int]) -> list[PairedTimes]:
    """The pairs with these process numbers, for each phase that both sides timed by itself."""
    sides = [{sample.process: sample for sample in side.samples} for side in (before, now)]
    pairs = [tuple(side[number] for side in sides) for number in processes if all(number in side for side in sides)]
    # What a backward that cannot be repeated takes by itself is no time of backward.
    untimed = {"backward"} if unrepeatable(before.samples) or unrepeatable(now.samples) else set()
    rows = []
    for phase in PHASES:
        of_process = metric(phase).in_process
        assert of_process is not None
        timed = [pair for pair in pairs if phase not in untimed and all(is_timed(sample, phase) for sample in pair)]
        floors = [(of_process(first), of_process(second)) for first, second in timed]
        calm = [(first, second) for first, second in floors if first is not None and second is not None]
        if timed:
            before_ns, now_ns = [first for first, _ in calm], [second for _, second in calm]
            rows.append(PairedTimes(key(now.cell), now.cell.workload, phase, before_ns, now_ns))
    return rows


def stopped(measurement: Measurement) -> bool:
    """Whether a cell stopped working while it was timed: only an inspection that succeeds says anything of memory."""
    return measurement.status != "ok" and measurement.memory is not None


def while_timed(before: Measurement, now: Measurement) -> list[Finding]:
    """What happened while a row was timed: it stopped working, or leaves work undone that it did not leave before."""
    for measurement in (before, now):
        if stopped(measurement):
            return [
                Finding(
                    cell=key(now.cell), metric="status", word="inconclusive", code=FindingCode.LOST,
                    statuses=(before.status, now.status), detail=measurement.message,
                )
            ]  # fmt: skip
    late_ns = _unfinished_ns(now)
    if late_ns is None or _unfinished_ns(before) is not None:
        return []
    return [
        Finding(
            cell=key(now.cell), metric="synchronisation", word="fail", code=FindingCode.UNFINISHED, before=0.0,
            now=late_ns,
        )
    ]  # fmt: skip


def _unfinished_ns(measurement: Measurement) -> float | None:
    said = [warning for sample in measurement.samples for warning in sample.warnings]
    return next((warning.numbers["late_ns"] for warning in said if warning.code is Code.UNFINISHED), None)


@dataclass(frozen=True)
class Judged:
    """The numbers that a verdict rests on."""

    floors: PairedTimes
    p_value: float  # after Holm's correction
    noise: float  # p95 of |ratio - 1| of equal things, on this machine, in this session

    def finding(self, configuration: Configuration) -> Finding:
        """Pass if it is within the budget, noise included; fail if it is beyond it, noise included; else doubt."""
        budget = configuration.budget("time", self.floors.workload)
        if not self.floors.before:
            return Finding(
                cell=self.floors.cell, metric=self.floors.phase, word="inconclusive", code=FindingCode.NEVER_CALM,
                budget=budget,
            )  # fmt: skip
        threshold = max(budget.share, TIMES_NOISE * self.noise)
        ratio, before = self.floors.ratio, median(self.floors.before)
        finding = Finding(
            cell=self.floors.cell,
            metric=self.floors.phase,
            word="pass",
            code=FindingCode.WITHIN,
            before=before,
            now=median(self.floors.now),
            limit=before * (1.0 + threshold),
            budget=budget,
            p_value=self.p_value,
            noise=self.noise,
            ratios=[ratio],
        )

        def verdict(word: Word, code: FindingCode) -> Finding:
            return msgspec.structs.replace(finding, word=word, code=code)

        if before * budget.share < TIMES_NOISE * HARNESS_ERROR_NS:
            return verdict("not compared", FindingCode.TOO_SHORT)
        if ratio > 1.0 + threshold and self.p_value <= LEVEL:
            return verdict("fail", FindingCode.OVER)
        if ratio - 1.0 + self.noise <= budget.share:
            return verdict("improved", FindingCode.BETTER) if ratio < 1.0 - threshold else finding
        return verdict("inconclusive", FindingCode.NEAR if ratio <= 1.0 + threshold else FindingCode.SPLIT)


def judge(rows: Sequence[PairedTimes], configuration: Configuration) -> list[Finding]:
    """A finding for each row."""
    corrected = holm([p_value(row.before, row.now) for row in rows])
    # A row's own scatter, seen in a dozen processes, may look smaller than it is: the suite's median is its least.
    own = [noise(row) for row in rows]
    usual = sorted(own)[len(own) // 2] if own else 0.0
    return [
        Judged(row, p, max(error, usual)).finding(configuration)
        for row, p, error in zip(rows, corrected, own, strict=True)
    ]


def judge_again(
    first: Sequence[PairedTimes], again: Sequence[PairedTimes], configuration: Configuration
) -> list[Finding]:
    """Rows that were measured again with fresh pairs: one fails only if both measurements are beyond the budget.

    The first ones were chosen because they looked bad, so that they alone prove nothing: besides, the fresh pairs must
    fail by themselves, or all pairs together. What does not fail is judged by all pairs together.
    """
    both = [
        PairedTimes(row.cell, row.workload, row.phase, [*row.before, *more.before], [*row.now, *more.now])
        for row, more in zip(first, again, strict=True)
    ]
    judged = []
    verdicts = zip(first, again, judge(again, configuration), judge(both, configuration), strict=True)
    for row, more, fresh, pooled in verdicts:
        limit = 1.0 + configuration.budget("time", row.workload).share
        beyond = row.ratio > limit and more.ratio > limit
        verdict = fresh if fresh.word == "fail" and beyond else pooled
        ratios = [ratio for ratio in (row.ratio, more.ratio) if math.isfinite(ratio)]
        verdict = msgspec.structs.replace(verdict, ratios=ratios)
        if verdict.word == "fail" and not beyond:
            verdict = msgspec.structs.replace(verdict, word="inconclusive", code=FindingCode.UNCONFIRMED)
        judged.append(verdict)
    return judged


def p_value(before: Sequence[float], now: Sequence[float]) -> float:
    """One-sided permutation test over pairs: each may be swapped. The statistic is the mean of the clipped log ratios.

    Exact up to 13 pairs, seeded beyond. Clipping depends on sizes and not on signs, so that swapping leaves it alone,
    and one disturbed process decides nothing. Tried and rejected: means of the middle halves, whose least p-value for
    12 pairs is 0.07. Where there is no test p is 1: what could not be tested is never significant.
    """
    import numpy as np
    from scipy import stats

    if len(before) < 2 or not all(math.isfinite(x) and x > 0 for x in (*before, *now)):
        return 1.0
    ratios = np.log(np.asarray(now) / np.asarray(before))
    limit = CLIPPED * np.median(np.abs(ratios))
    half = np.clip(ratios, -limit, limit) / 2.0
    tested = stats.permutation_test(
        (half, -half),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=RESAMPLES,
        random_state=np.random.default_rng(SEED),
    ).pvalue
    return float(tested) if math.isfinite(tested) else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the k-th smallest of m is multiplied by m - k + 1, and never falls again."""
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda k: p_values[k])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def noise(row: PairedTimes) -> float:
    """The 95th percentile of |ratio - 1| of two arms that are equal.

    Seen between the medians of two halves of one arm. Whole arms have twice as many processes, and differ by less: by
    the root of two.
    """
    import numpy as np

    draw = np.random.default_rng(SEED)
    errors = []
    for arm in (np.asarray(row.before), np.asarray(row.now)):
        half = len(arm) // 2
        if half == 0:
            return math.inf
        drawn = draw.permuted(np.tile(arm, (DRAWS, 1)), axis=1)
        halves = np.median(drawn[:, :half], axis=1) / np.median(drawn[:, half : 2 * half], axis=1)
        errors.append(np.abs(halves - 1.0))
    return float(np.quantile(np.concatenate(errors), 0.95)) / math.sqrt(2.0)
