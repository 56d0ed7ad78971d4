"""Pairs: times of two builds, of which one process each ran at the same moment.

In: measurements of both sides, whose samples are pairs where their process numbers agree. Out: for each row and phase,
and for what happens once in a process, how much slower it is now, how likely that is by chance, and the noise.
"""

import dataclasses
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self

from gradmark.analyse.resampling import RESAMPLES, SEED
from gradmark.gate.configuration import Configuration
from gradmark.records import Budget, Cell, Measurement, Sample
from gradmark.records.metric import REGISTRY, metric
from gradmark.records.order import interval_of_median
from gradmark.records.times import is_timed, unrepeatable
from gradmark.store.baselines import key

# Draws of two disjoint halves of one arm, for the machine's own error.
DRAWS = 500
# Log ratios and differences of pairs count up to this many times the median of their sizes.
CLIPPED = 1.5
# The phases that are gated, and what is gated of what happens once in a process.
PHASES = tuple(entry.name for entry in REGISTRY if entry.phase and entry.budget is not None)
ONCE = tuple(entry for entry in REGISTRY if entry.timed and not entry.phase and entry.budget is not None)


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
    def levels(self) -> tuple[float, float]:
        """The typical processes before and now; not numbers if there is no pair."""
        return (median(self.before), median(self.now)) if self.before else (math.nan, math.nan)

    @property
    def ratio(self) -> float:
        """Now against before."""
        before, now = self.levels
        return now / before

    @property
    def p_value(self) -> float:
        """How likely pairs of equal things look as much slower as these; 1 where something is no time."""
        import numpy as np

        if not all(math.isfinite(x) and x > 0 for x in (*self.before, *self.now)):
            return 1.0
        return of_swaps(np.log(np.asarray(self.now) / np.asarray(self.before)).tolist())

    @property
    def noise(self) -> float:
        """The 95th percentile of |ratio - 1| of two arms that are equal.

        Seen between the medians of two halves of one arm. Whole arms have twice as many processes, and differ by less:
        by the root of two.
        """
        import numpy as np

        draw = np.random.default_rng(SEED)
        errors = []
        for arm in (np.asarray(self.before), np.asarray(self.now)):
            half = len(arm) // 2
            if half == 0:
                return math.inf
            drawn = draw.permuted(np.tile(arm, (DRAWS, 1)), axis=1)
            halves = np.median(drawn[:, :half], axis=1) / np.median(drawn[:, half : 2 * half], axis=1)
            errors.append(np.abs(halves - 1.0))
        return float(np.quantile(np.concatenate(errors), 0.95)) / math.sqrt(2.0)

    def budget(self, configuration: Configuration) -> Budget:
        """How much slower it may be."""
        return configuration.budget(metric(self.phase).budgeted_as, self.workload)

    def is_beyond(self, configuration: Configuration) -> bool:
        """Whether it is slower than its budget allows, whatever the noise; not if there is no pair."""
        before, now = self.levels
        return now > self.budget(configuration).limit(before)

    def with_more(self, more: "PairedTimes") -> Self:
        """These pairs and others of the same."""
        return dataclasses.replace(self, before=[*self.before, *more.before], now=[*self.now, *more.now])


class PairedOnce(PairedTimes):
    """What happens once in a process, where no pilot tells a calm moment from a slow one.

    What counts is the typical difference within pairs, which share their moment. Tried and rejected: the ratio of the
    medians, which moves with the machine; `benchmarks/starts.py` shows both.
    """

    @property
    def differences(self) -> list[float]:
        """By how much longer each pair takes now."""
        return [now - before for before, now in zip(self.before, self.now, strict=True)]

    @property
    def levels(self) -> tuple[float, float]:
        """The typical process before, and what it takes now by the typical difference."""
        if not self.before:
            return math.nan, math.nan
        return median(self.before), median(self.before) + median(self.differences)

    @property
    def p_value(self) -> float:
        """How likely differences of equal things look as large as these."""
        return of_swaps(self.differences)

    @property
    def noise(self) -> float:
        """How far the true median difference may be from the typical one, against the typical process.

        The farther end of the interval that holds it in 95 % of all cases; the range, where so few pairs have none.
        """
        if len(self.before) < 2:
            return math.inf
        low, high, _ = interval_of_median(self.differences)
        middle = median(self.differences)
        return max(high - middle, middle - low) / median(self.before)


def paired(before: Measurement, now: Measurement, processes: Collection[int]) -> list[PairedTimes]:
    """The pairs with these process numbers: of each phase that both sides timed by itself, and of what happens once."""
    sides = [{sample.process: sample for sample in side.samples} for side in (before, now)]
    pairs = [tuple(side[number] for side in sides) for number in processes if all(number in side for side in sides)]
    # What a backward that cannot be repeated takes by itself is no time of backward.
    untimed = {"backward"} if unrepeatable(before.samples) or unrepeatable(now.samples) else set()
    rows: list[PairedTimes] = []
    for phase in PHASES:
        of_process = metric(phase).in_process
        assert of_process is not None
        timed = [pair for pair in pairs if phase not in untimed and all(is_timed(sample, phase) for sample in pair)]
        floors = [(of_process(first), of_process(second)) for first, second in timed]
        calm = [(first, second) for first, second in floors if first is not None and second is not None]
        if timed:
            before_ns, now_ns = [first for first, _ in calm], [second for _, second in calm]
            rows.append(PairedTimes(key(now.cell), now.cell.workload, phase, before_ns, now_ns))
    return [*rows, *_once(now.cell, pairs)]


def _once(cell: Cell, pairs: Sequence[tuple[Sample, ...]]) -> list[PairedTimes]:
    """What happened once in each process. What is the same for all rows of an engine goes by the engine's name."""
    rows: list[PairedTimes] = []
    for entry in ONCE:
        assert entry.in_process is not None
        both = [(entry.in_process(first), entry.in_process(second)) for first, second in pairs]
        known = [(first, second) for first, second in both if first and second]
        name, workload = (cell.engine, "") if entry.of_engine else (key(cell), cell.workload)
        if known:
            before_ns, now_ns = [first for first, _ in known], [second for _, second in known]
            rows.append(PairedOnce(name, workload, entry.name, before_ns, now_ns))
    return rows


def joined(rows: Sequence[PairedTimes]) -> list[PairedTimes]:
    """The rows, each name and phase once, with the pairs of all that have it."""
    whole: dict[tuple[str, str], PairedTimes] = {}
    for row in rows:
        known = whole.get((row.cell, row.phase))
        whole[row.cell, row.phase] = row if known is None else known.with_more(row)
    return list(whole.values())


def of_swaps(effects: Sequence[float]) -> float:
    """One-sided permutation test over pairs: each may be swapped. The statistic is the mean of the clipped effects.

    Exact up to 13 pairs, seeded beyond. Clipping depends on sizes and not on signs, so that swapping leaves it alone,
    and one disturbed process decides nothing. Tried and rejected: means of the middle halves, whose least p-value for
    12 pairs is 0.07. Where there is no test p is 1: what could not be tested is never significant.
    """
    import numpy as np
    from scipy import stats

    if len(effects) < 2:
        return 1.0
    limit = CLIPPED * np.median(np.abs(effects))
    half = np.clip(effects, -limit, limit) / 2.0
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
