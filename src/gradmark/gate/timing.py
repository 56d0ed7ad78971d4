"""Times of two builds, measured in interleaved pairs: has a row become slower than its budget allows?

In: pairs of each row and phase, and of what happens once in a process: importing the engine, preparing, the first call.
Out: a finding for each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from gradmark.gate.configuration import Configuration
from gradmark.gate.pairs import PairedOnce, PairedTimes
from gradmark.records import Code, Measurement
from gradmark.records.finding import Finding, FindingCode, Word
from gradmark.records.measurement import WRONG
from gradmark.records.times import HARNESS_ERROR_NS
from gradmark.store.baselines import key

# The family-wise rate of false accusations that Holm's procedure keeps, before the second measurement halves it again.
LEVEL = 0.05
# A slowdown is believed if it is twice what equal things differ by.
TIMES_NOISE = 2.0


def stopped(measurement: Measurement) -> bool:
    """Whether a cell started to fail while it was timed: only an inspection that succeeds says anything of memory."""
    return measurement.status != "ok" and measurement.memory is not None


def while_timed(before: Measurement, now: Measurement) -> list[Finding]:
    """What happened while a row was timed: it stopped working, or leaves work undone that it did not leave before.

    A crash may be chance; that what is timed is not what was asked for is none.
    """
    if before.status == "ok" and stopped(now) and now.status in WRONG:
        return [
            Finding(
                cell=key(now.cell), metric="status", word="fail", code=FindingCode.STATUS,
                statuses=(before.status, now.status), detail=now.message,
            )
        ]  # fmt: skip
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
    warnings = [warning for sample in measurement.samples for warning in sample.warnings]
    return next((warning.numbers["late_ns"] for warning in warnings if warning.code is Code.UNFINISHED), None)


@dataclass(frozen=True)
class Judged:
    """The numbers that a verdict rests on."""

    floors: PairedTimes
    p_value: float  # after Holm's correction
    noise: float  # p95 of |ratio - 1| of equal things, on this machine, in this session

    def finding(self, configuration: Configuration) -> Finding:
        """Pass if it is within the budget, noise included; fail if it is beyond it, noise included; else doubt."""
        budget = self.floors.budget(configuration)
        if not self.floors.before:
            return Finding(
                cell=self.floors.cell, metric=self.floors.phase, word="inconclusive", code=FindingCode.NEVER_CALM,
                budget=budget,
            )  # fmt: skip
        ratio, (before, now) = self.floors.ratio, self.floors.levels
        share = budget.limit(before) / before - 1.0
        threshold = max(share, TIMES_NOISE * self.noise)
        finding = Finding(
            cell=self.floors.cell,
            metric=self.floors.phase,
            word="pass",
            code=FindingCode.WITHIN,
            before=before,
            now=now,
            limit=before * (1.0 + threshold),
            budget=budget,
            p_value=self.p_value,
            noise=self.noise,
            ratios=[ratio],
        )

        def verdict(word: Word, code: FindingCode) -> Finding:
            return msgspec.structs.replace(finding, word=word, code=code)

        if before * share < TIMES_NOISE * HARNESS_ERROR_NS:
            return verdict("not compared", FindingCode.TOO_SHORT)
        if ratio > 1.0 + threshold and self.p_value <= LEVEL:
            return verdict("fail", FindingCode.OVER)
        if ratio - 1.0 + self.noise <= share:
            return verdict("improved", FindingCode.BETTER) if ratio < 1.0 - threshold else finding
        return verdict("inconclusive", FindingCode.NEAR if ratio <= 1.0 + threshold else FindingCode.SPLIT)


def judge(rows: Sequence[PairedTimes], configuration: Configuration) -> list[Finding]:
    """A finding for each row. Phases are corrected together, and what happens once by itself."""
    once = [isinstance(row, PairedOnce) for row in rows]
    corrected = _corrected(rows, once)
    # A row's own scatter, seen in a dozen processes, may look smaller than it is: the suite's median is its least. Of
    # what happens once rows do not tell of each other: some take a second, some a microsecond.
    own = [row.noise for row in rows]
    of_phases = sorted(error for error, is_once in zip(own, once, strict=True) if not is_once)
    usual = of_phases[len(of_phases) // 2] if of_phases else 0.0
    return [
        Judged(row, p, error if is_once else max(error, usual)).finding(configuration)
        for row, p, error, is_once in zip(rows, corrected, own, once, strict=True)
    ]


def _corrected(rows: Sequence[PairedTimes], once: Sequence[bool]) -> list[float]:
    """The p-values after Holm's correction in each of the two families."""
    corrected = [1.0] * len(rows)
    for family in (False, True):
        places = [place for place, is_once in enumerate(once) if is_once is family]
        for place, p in zip(places, holm([rows[place].p_value for place in places]), strict=True):
            corrected[place] = p
    return corrected


def judge_again(
    first: Sequence[PairedTimes], again: Sequence[PairedTimes], configuration: Configuration
) -> list[Finding]:
    """Rows that were measured again with fresh pairs: one fails only if both measurements are beyond the budget.

    The first ones were chosen because they looked bad, so that they alone prove nothing: besides, the fresh pairs must
    fail by themselves, or all pairs together. What does not fail is judged by all pairs together.
    """
    if [(row.cell, row.phase) for row in first] != [(row.cell, row.phase) for row in again]:
        raise ValueError("expected the same rows in the same order, first and again")
    both = [row.with_more(more) for row, more in zip(first, again, strict=True)]
    judged = []
    verdicts = zip(first, again, judge(again, configuration), judge(both, configuration), strict=True)
    for row, more, fresh, pooled in verdicts:
        beyond = row.is_beyond(configuration) and more.is_beyond(configuration)
        verdict = fresh if fresh.word == "fail" and beyond else pooled
        ratios = [ratio for ratio in (row.ratio, more.ratio) if math.isfinite(ratio)]
        verdict = msgspec.structs.replace(verdict, ratios=ratios)
        if verdict.word == "fail" and not beyond:
            verdict = msgspec.structs.replace(verdict, word="inconclusive", code=FindingCode.UNCONFIRMED)
        judged.append(verdict)
    return judged


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the k-th smallest of m is multiplied by m - k + 1, and never falls again."""
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda k: p_values[k])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted
