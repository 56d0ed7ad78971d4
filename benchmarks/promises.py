"""What Gradmark promises on simulated machines and on recorded blocks, each with a round limit.

In: what the rules said of a grid of machines. Out: lines that say what is kept, and whether all is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import recorded_blocks
from estimates import FLOOR, GRADMARK, HEADS, MEAN, MEDIAN, TIMEIT, Row, quantile

Rows = Sequence[Row]


def length(ms: float) -> str:
    """Milliseconds or seconds."""
    return f"{ms:g} ms" if ms < 1000.0 else f"{ms / 1000.0:g} s"


def percent(share: float) -> str:
    """Without decimals."""
    return f"{100 * share:.0f} %"


def where(row: Row) -> str:
    """One machine in words."""
    if row.share == 1.0:
        return f"always calm, drift {percent(row.drift)}, {row.family}"
    slow = f"slow for {length(row.dwell)}, ×{row.ratio:g}"
    return f"{percent(row.share)} calm, {slow}, drift {percent(row.drift)}, {row.family}"


# --- what is promised


def error(rows: Rows, share: float, rule: str = GRADMARK) -> float:
    """Such a share of the times is so near the truth of the rule."""
    return quantile(np.abs(np.concatenate([row.errors(rule) for row in rows])), share)


def bias(rows: Rows, rule: str = GRADMARK) -> float:
    """How far the median time lies above the truth of the rule."""
    return quantile(np.concatenate([row.errors(rule) for row in rows]))


def apart(rows: Rows, share: float = 0.5, rule: str = GRADMARK) -> float:
    """Of such a share of the cells five runs lie at most so far apart."""
    return quantile(np.concatenate([row.apart(rule) for row in rows]), share)


def behind(rows: Rows) -> float:
    """By how much five runs lie further apart than by the best of the other rules."""
    return apart(rows) - min(apart(rows, rule=rule) for rule in (FLOOR, TIMEIT, MEAN, MEDIAN))


def not_held(rows: Rows) -> float:
    """The share of the intervals that do not hold the truth."""
    return 1.0 - float(np.mean(np.concatenate([row.held() for row in rows])))


def missed(rows: Rows) -> float:
    """Of the blocks that were called calm: the share that was slow."""
    return sum(row.missed for row in rows) / max(1, sum(row.calm for row in rows))


def refused(rows: Rows) -> float:
    """Of the blocks that were calm: the share that was called slow."""
    return sum(row.refused for row in rows) / max(1, sum(row.quiet for row in rows))


def none(rows: Rows) -> float:
    """The share of cells without a time."""
    return float(np.mean([row.none for row in rows]))


@dataclass
class Promise:
    """One thing that holds on a set of machines, all of them together."""

    text: str
    limit: float
    value: Callable[[Rows], float]

    def check(self, rows: Rows) -> bool:
        """Whether it is kept, after two lines that say so."""
        found = self.value(rows)
        worst = max(rows, key=lambda row: np.nan_to_num(self.value([row])))
        text = self.text.format(f"{100 * self.limit:g} %")
        print(f"{'KEPT' if found <= self.limit else 'NOT KEPT':9} {text}: {100 * found:.1f} %")
        print(f"{'':9}   worst machine: {100 * self.value([worst]):.1f} %, {where(worst)}")
        return found <= self.limit


NEAR = (
    Promise("the median time is within {} of the truth", 0.005, lambda rows: abs(bias(rows))),
    Promise("nine of ten times are within {} of the truth", 0.03, lambda rows: error(rows, 0.9)),
)
REPEAT = Promise("for nine of ten cells five runs agree within {}", 0.05, lambda rows: apart(rows, 0.9))
COVERED = Promise("at most {} of the intervals do not hold the truth", 0.1, not_held)
USUAL = (
    *NEAR,
    REPEAT,
    COVERED,
    Promise("five runs lie closer than by floor, timeit, mean or median, difference at most {}", 0.0, behind),
    Promise("of the blocks called calm, at most {} were slow", 0.05, missed),
    Promise("of the blocks that were calm, at most {} are called slow", 0.02, refused),
    Promise("at most {} of the cells have no time", 0.01, none),
)
PROMISES: dict[str, tuple[Callable[[Row], bool], tuple[Promise, ...]]] = {
    "calm 30 % of the time or more, slow for 3 to 30 ms at a time, clock drifts by up to 5 %": (
        lambda row: row.share >= 0.3 and (row.share == 1.0 or 3.0 <= row.dwell <= 30.0) and row.drift <= 0.05,
        USUAL,
    ),
    "the same, clock drifts by 10 %": (
        lambda row: row.share >= 0.3 and (row.share == 1.0 or 3.0 <= row.dwell <= 30.0) and row.drift > 0.05,
        (*NEAR, REPEAT, COVERED),
    ),
    "the same as the first, slow for a second at a time": (
        lambda row: 0.3 <= row.share < 1.0 and row.dwell == 1000.0 and row.drift <= 0.05,
        NEAR,
    ),
}


def promises(rows: Rows, seed: int) -> bool:
    """Whether all are kept."""
    kept = []
    print("WHAT THE METHOD KEEPS ON THESE MACHINES")
    for machines, (about, entries) in PROMISES.items():
        those = [row for row in rows if about(row)]
        print(f"\n{len(those)} machines: {machines}")
        kept += [promise.check(those) for promise in entries]
    print("\nA real machine, recorded: how far two halves of the processes of a cell lie apart, mean, %")
    splits = recorded_blocks.halves(seed)
    print(" " * 27 + "".join(f"{HEADS[rule]:>9}" for rule in recorded_blocks.RULES))
    for cell, apart in splits.items():
        print(f"{cell:27}" + "".join(f"{100 * value:9.1f}" for value in apart.mean(axis=0)))
    overall = np.mean([apart.mean(axis=0) for apart in splits.values()], axis=0)
    means = dict(zip(recorded_blocks.RULES, overall.tolist(), strict=True))
    rule = min((TIMEIT, MEAN, MEDIAN), key=lambda rule: means[rule])
    kept.append(means[GRADMARK] < means[rule])
    text = "the halves agree better than by timeit, mean or median"
    numbers = f"{100 * means[GRADMARK]:.1f} %; {rule}: {100 * means[rule]:.1f} %"
    print(f"{'KEPT' if kept[-1] else 'NOT KEPT':9} {text}: {numbers}")
    print(f"{'':9} by floors, of which nothing is promised: {100 * means[FLOOR]:.1f} %")
    return all(kept)
