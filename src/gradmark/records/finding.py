"""Findings: what the gate says of one metric of one cell, and what all of them add up to.

A finding is a code and numbers; `report` makes the sentence.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from gradmark.records.budget import Budget
from gradmark.records.record import Record

Word = Literal[
    "pass",
    "fail",
    "inconclusive",
    "improved",  # beyond the budget, for the better
    "new",  # nothing to compare with yet
    "not compared",  # the environments differ in what this metric depends on, or it is too short to be timed
]
Answer = Literal["pass", "fail", "inconclusive"]
EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 3}


class FindingCode(StrEnum):
    """Why a finding has its word."""

    WITHIN = "within"  # the budget
    OVER = "over"  # the budget
    BETTER = "better"  # by more than the budget
    NEW = "new"  # not in the baseline; or, as `detail` says, not in the other revision
    VANISHED = "vanished"  # in the baseline, but not measured
    STATUS = "status"  # it does not work; `statuses` say how it ended before and now
    REPAIRED = "repaired"  # it works, and did not
    NEVER_WORKED = "never-worked"  # it works, but nothing of its engine or file did: nothing was compared
    ELSEWHERE = "elsewhere"  # `differing` says in what this environment is unlike the other
    MISSING = "missing"  # it could not be obtained; `detail` says why
    ON_DEMAND = "on-demand"  # it was not asked for
    BY_CHANCE = "by-chance"  # the engine moves it by chance, by `scatter`; another metric stands in for it
    ERRATIC = "erratic"  # over the budget, and each process counts another number, which was not so before
    NEW_FAILURE = "new-failure"  # not in the baseline, and it does not work
    # Of times:
    TOO_SHORT = "too-short"  # the harness is not known well enough
    NEAR = "near"  # so close to the budget that the noise hides on which side
    SPLIT = "split"  # beyond the budget, but the pairs do not agree
    UNCONFIRMED = "unconfirmed"  # beyond the budget, but not both times
    LOST = "lost"  # it stopped working while it was timed
    UNFINISHED = "unfinished"  # work went on after the clock was read
    NEVER_CALM = "never-calm"  # no pair had calm blocks on both sides


class Finding(Record, frozen=True, kw_only=True):
    """One metric of one cell, before and now."""

    cell: str
    metric: str
    word: Word
    code: FindingCode | None = None
    before: float | None = None
    now: float | None = None
    limit: float | None = None
    budget: Budget | None = None
    p_value: float | None = None
    noise: float | None = None  # what equal things differ by, as a share
    scatter: float | None = None  # of a count: what processes of the same code differ by
    counts: list[float] = []  # what each process counted, if several did
    ratios: list[float] = []  # now against before, of each time that it was measured
    statuses: tuple[str, str] | None = None
    differing: dict[str, tuple[str, str]] = {}  # parts of the environment, there and here
    once: bool = False  # it was so only once, and not when it was measured again
    detail: str = ""  # in the words of whoever knew it: an exception, a worker
    reason: str = ""  # a sentence, where there is no code

    @property
    def name(self) -> str:
        """Cell and metric, as one name."""
        return f"{self.cell} {self.metric}"


class Gate(Record, frozen=True, kw_only=True):
    """All findings of one check, with what was compared with what."""

    against: str  # the baseline file, or the revision
    findings: list[Finding]
    differing: dict[str, tuple[str, str]] = {}  # parts of the environment, there and here
    notes: list[str] = []  # how the times were taken

    def of(self, *words: Word) -> list[Finding]:
        """The findings with one of these words."""
        return [finding for finding in self.findings if finding.word in words]

    @property
    def answer(self) -> Answer:
        """Fail if anything fails; doubt is never a pass and never a fail."""
        words = {finding.word for finding in self.findings}
        return "fail" if "fail" in words else "inconclusive" if "inconclusive" in words else "pass"


def merged(first: Sequence[Finding], again: Sequence[Finding]) -> list[Finding]:
    """The findings, those that were looked at again replaced by what was seen then."""
    newer = {finding.name: finding for finding in again}
    return [newer.get(finding.name, finding) for finding in first]
