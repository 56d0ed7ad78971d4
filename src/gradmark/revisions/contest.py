"""A contest: rows measured on two sides, before and now, so that a slow moment falls on both, and judged together.

In: an orchestrator whose run has both sides of each row, and the budgets. Out: findings; rows that look worse are
measured again before they fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from gradmark.gate import exact, timing
from gradmark.gate.configuration import Configuration
from gradmark.measure.orchestrator import Orchestrator
from gradmark.records import Cell, Measurement, Settings
from gradmark.records.finding import Finding, merged
from gradmark.store.baselines import baseline, described, key

# With 12 pairs the least p-value is 1/4096, so that 200 rows can be told apart by Holm's procedure.
PAIRS = 12
BLOCKS = 10
BEFORE, NOW = "before", "now"


def both_sides(rows: Sequence[Cell]) -> list[Cell]:
    """The cells of a plan that measures each row on two sides."""
    return [msgspec.structs.replace(row, side=side) for row in rows for side in (BEFORE, NOW)]


def rows_of(cells: Sequence[Cell]) -> list[Cell]:
    """The rows that these cells are the sides of."""
    return [msgspec.structs.replace(cell, side="") for cell in cells if cell.side == NOW]


def settings_of(settings: Settings, pairs: int) -> Settings:
    """How a contest measures."""
    return msgspec.structs.replace(settings, processes=pairs, blocks=BLOCKS)


@dataclass(frozen=True)
class Contest:
    """Rows that are judged together, each measured in so many pairs; none where nothing is to be timed."""

    rows: Sequence[Cell]
    pairs: int = PAIRS


@dataclass(frozen=True)
class _Round:
    """The pairs of a contest that are judged at one time."""

    contest: Contest
    rows: Sequence[Cell]
    processes: range

    def floors(self, orchestrator: Orchestrator) -> list[timing.PairedTimes]:
        """Those of the rows that worked on both sides to the end."""
        sides = [_sides(orchestrator, row) for row in self.rows]
        working = [(before, now) for before, now in sides if before.status == now.status == "ok"]
        return [floors for before, now in working for floors in timing.paired(before, now, self.processes)]


def decide(
    contests: Sequence[Contest], orchestrator: Orchestrator, configuration: Configuration
) -> list[list[Finding]]:
    """Measures, measures again what is flagged, and judges; the findings of each contest."""
    orchestrator.inspect(both_sides([row for contest in contests for row in contest.rows]))
    first = [_Round(contest, contest.rows, range(contest.pairs)) for contest in contests]
    _measure(first, orchestrator)
    if orchestrator.settings.instructions:
        orchestrator.count(both_sides([row for contest in contests for row in contest.rows]))
    times = [timing.judge(part.floors(orchestrator), configuration) for part in first]
    again = [
        _Round(p.contest, _flagged(p, findings), _fresh(p.contest)) for p, findings in zip(first, times, strict=True)
    ]
    _measure(again, orchestrator)
    decided = []
    for contest, early, late, findings in zip(contests, first, again, times, strict=True):
        fresh = late.floors(orchestrator)
        names = {(floors.cell, floors.phase) for floors in fresh}
        known = [floors for floors in early.floors(orchestrator) if (floors.cell, floors.phase) in names]
        timed = merged(findings, timing.judge_again(known, fresh, configuration))
        happened = [f for row in contest.rows for f in timing.while_timed(*_sides(orchestrator, row))]
        lost = {finding.cell for finding in happened if finding.metric == "status"}
        decided.append(
            [
                *_exact(contest, orchestrator, configuration),
                *(finding for finding in timed if finding.cell not in lost),
                *happened,
            ]
        )
    return decided


def floors(contest: Contest, orchestrator: Orchestrator) -> list[timing.PairedTimes]:
    """All pairs of a contest, first and fresh ones."""
    return _Round(contest, contest.rows, range(2 * contest.pairs)).floors(orchestrator)


def notes(pairs: int) -> list[str]:
    """How the times were taken."""
    return [f"times: calm blocks of {pairs} interleaved pairs of processes, {2 * pairs} where they were flagged"]


def _fresh(contest: Contest) -> range:
    return range(contest.pairs, 2 * contest.pairs)


def _measure(parts: Sequence[_Round], orchestrator: Orchestrator) -> None:
    """Rounds over all contests with the same number of pairs, so that they too share slow moments."""
    for processes in dict.fromkeys(part.processes for part in parts if part.rows and part.processes):
        rows = [row for part in parts if part.processes == processes for row in part.rows]
        orchestrator.sample(both_sides(rows), processes)


def _flagged(part: _Round, findings: Sequence[Finding]) -> list[Cell]:
    doubtful = {finding.cell for finding in findings if finding.word in ("fail", "inconclusive")}
    return [row for row in part.rows if key(row) in doubtful]


def _sides(orchestrator: Orchestrator, row: Cell) -> tuple[Measurement, Measurement]:
    """What was measured before and now, as if each were the row's only side: the gate compares by name."""
    before, now = (msgspec.structs.replace(orchestrator.measurement(cell), cell=row) for cell in both_sides([row]))
    return before, now


def _exact(contest: Contest, orchestrator: Orchestrator, configuration: Configuration) -> list[Finding]:
    """Exact metrics against the other side's. What stopped working only while it was timed still has them."""
    sides = [_sides(orchestrator, row) for row in contest.rows]
    before, now = ([_as_inspected(side[place]) for side in sides] for place in (0, 1))
    here = orchestrator.run.environment
    return exact.compare(baseline(before, here), now, described(here), configuration)


def _as_inspected(measurement: Measurement) -> Measurement:
    return msgspec.structs.replace(measurement, status="ok") if timing.stopped(measurement) else measurement
