"""Findings: what the gate says of one metric of one cell, and what all of them add up to."""

from collections.abc import Sequence
from typing import Literal

from gradmark.records import Record

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


class Finding(Record, frozen=True, kw_only=True):
    """One metric of one cell, before and now. `reason` says why, and what would decide it or what to do."""

    cell: str
    metric: str
    word: Word
    before: float | None = None
    now: float | None = None
    limit: float | None = None
    p_value: float | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        """Cell and metric, as one name."""
        return f"{self.cell} {self.metric}"


class Gate(Record, frozen=True, kw_only=True):
    """All findings of one check, with what was compared with what."""

    against: str  # the baseline file, or the revision
    findings: list[Finding]
    notes: list[str] = []  # what differs between the environments, how the times were taken

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
