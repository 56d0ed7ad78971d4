"""A contest: rows measured on two sides, before and now, so that a slow moment falls on both, and judged together.

In: an orchestrator whose run has both sides of each row, and the budgets. Out: findings; rows that look worse are
measured again before they fail.
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec

from gradmark.gate import exact, timing
from gradmark.gate.configuration import Configuration
from gradmark.gate.pairs import PairedTimes, joined, paired
from gradmark.measure.orchestrator import Measuring
from gradmark.records import Cell, Measurement, Run, Settings, Status
from gradmark.records.finding import Finding, FindingCode, merged
from gradmark.revisions.checkout import Revision
from gradmark.store.baselines import baseline, described, key

# With 12 pairs the least p-value is 1/4096, so that 200 rows can be told apart by Holm's procedure.
PAIRS = 12
BLOCKS = 10
BEFORE, NOW = "before", "now"
# How rows end whose engine or workload cannot be loaded.
BROKEN: tuple[Status, ...] = ("error", "crash", "skipped")
# Files that a note names.
SHOWN_FILES = 3


def both_sides(rows: Sequence[Cell]) -> list[Cell]:
    """The cells of a plan that measures each row on two sides."""
    return [msgspec.structs.replace(row, side=side) for row in rows for side in (BEFORE, NOW)]


def rows_of(cells: Sequence[Cell]) -> list[Cell]:
    """The rows that these cells are the sides of."""
    return [msgspec.structs.replace(cell, side="") for cell in cells if cell.side == NOW]


def settings_of(settings: Settings, pairs: int) -> Settings:
    """How a contest measures."""
    return msgspec.structs.replace(settings, processes=pairs, device_processes=pairs, blocks=BLOCKS)


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

    def floors(self, orchestrator: Measuring) -> list[PairedTimes]:
        """Those of the rows that worked on both sides to the end."""
        sides = [_sides(orchestrator, row) for row in self.rows]
        working = [(before, now) for before, now in sides if before.status == now.status == "ok"]
        return joined([floors for before, now in working for floors in paired(before, now, self.processes)])


def decide(contests: Sequence[Contest], orchestrator: Measuring, configuration: Configuration) -> list[list[Finding]]:
    """Counts and measures, each again where something is flagged, and judges; the findings of each contest."""
    orchestrator.count_exactly(both_sides([row for contest in contests for row in contest.rows]))
    # before anything is timed: a row that failed only once is timed
    counted = [_counted(contest, orchestrator, configuration) for contest in contests]
    first = [_Round(contest, contest.rows, range(contest.pairs)) for contest in contests]
    _measure(first, orchestrator)
    times = [timing.judge(part.floors(orchestrator), configuration) for part in first]
    again = [
        _Round(p.contest, _flagged(p, findings), _fresh(p.contest)) for p, findings in zip(first, times, strict=True)
    ]
    _measure(again, orchestrator)
    decided = []
    for contest, exact_findings, early, late, findings in zip(contests, counted, first, again, times, strict=True):
        known = {(floors.cell, floors.phase): floors for floors in early.floors(orchestrator)}
        fresh = [floors for floors in late.floors(orchestrator) if (floors.cell, floors.phase) in known]
        first_ones = [known[floors.cell, floors.phase] for floors in fresh]
        timed = merged(findings, timing.judge_again(first_ones, fresh, configuration))
        happened = [f for row in contest.rows for f in timing.while_timed(*_sides(orchestrator, row))]
        lost = {finding.cell for finding in happened if finding.metric == "status"}
        decided.append(
            [
                *exact_findings,
                *(finding for finding in timed if finding.cell not in lost),
                *happened,
            ]
        )
    return decided


def floors(contest: Contest, orchestrator: Measuring) -> list[PairedTimes]:
    """All pairs of a contest, first and fresh ones."""
    return _Round(contest, contest.rows, range(2 * contest.pairs)).floors(orchestrator)


def notes(pairs: int) -> list[str]:
    """How the times were taken."""
    return [f"times: calm blocks of {pairs} interleaved pairs of processes, {2 * pairs} where they were flagged"]


def notes_on_files(run: Run, revision: Revision) -> list[str]:
    """Which of the user's files are not the same function on both sides, and which are outside of both."""
    files = dict.fromkeys(cell.file for cell in run.planned if cell.file is not None)
    changed = revision.changed(files)
    shared = dict.fromkeys(file for measurement in run.measurements for file in measurement.shared)
    notes = [f"changed since {revision.name}, so that each side runs its own: {_named(changed)}"] if changed else []
    return notes + ([f"outside of the repository, so that both sides run the same: {_named(shared)}"] if shared else [])


def _named(files: Collection[str]) -> str:
    shown = ", ".join(os.path.relpath(file) for file in list(files)[:SHOWN_FILES])
    return shown + (f" and {len(files) - SHOWN_FILES} more" if len(files) > SHOWN_FILES else "")


def _fresh(contest: Contest) -> range:
    return range(contest.pairs, 2 * contest.pairs)


def _measure(parts: Sequence[_Round], orchestrator: Measuring) -> None:
    """Rounds over all contests with the same number of pairs, so that they too share slow moments."""
    for processes in dict.fromkeys(part.processes for part in parts if part.rows and part.processes):
        rows = [row for part in parts if part.processes == processes for row in part.rows]
        orchestrator.sample(both_sides(rows), processes)


def _flagged(part: _Round, findings: Sequence[Finding]) -> list[Cell]:
    """The rows in doubt; of an engine as a whole any row will do."""
    doubtful = {finding.cell for finding in findings if finding.word in ("fail", "inconclusive")}
    first = {row.engine: row for row in reversed(part.rows)}
    return [row for row in part.rows if key(row) in doubtful or (row.engine in doubtful and first[row.engine] is row)]


def _sides(orchestrator: Measuring, row: Cell) -> tuple[Measurement, Measurement]:
    """What was measured before and now, as if each were the row's only side: the gate compares by name."""
    before, now = (msgspec.structs.replace(orchestrator.measurement(cell), cell=row) for cell in both_sides([row]))
    return before, now


def _counted(contest: Contest, orchestrator: Measuring, configuration: Configuration) -> list[Finding]:
    """Exact metrics against the other side's; what fails is counted again on both."""

    def count_again(doubtful: Collection[str]) -> list[Finding]:
        again = [row for row in contest.rows if key(row) in doubtful]
        orchestrator.count_exactly(both_sides(again), again=True)
        return _exact(again, orchestrator, configuration)

    findings = exact.confirmed(_exact(contest.rows, orchestrator, configuration), count_again)
    return _doubted(findings, [_sides(orchestrator, row)[0] for row in contest.rows])


def _exact(rows: Sequence[Cell], orchestrator: Measuring, configuration: Configuration) -> list[Finding]:
    """Exact metrics as they are now, held against a baseline of those before. What is new has nothing before.

    What stopped working only while it was timed still has them.
    """
    sides = [_sides(orchestrator, row) for row in rows]
    before, now = ([_as_inspected(side[place]) for side in sides] for place in (0, 1))
    known = [measurement for measurement in before if not measurement.new]
    lacking = {key(measurement.cell): measurement.message for measurement in before if measurement.new}
    here = orchestrator.run.environment
    findings = exact.compare(baseline(known, here), now, described(here), configuration)
    return [
        msgspec.structs.replace(finding, detail=lacking[finding.cell]) if finding.code is FindingCode.NEW else finding
        for finding in findings
    ]


def _doubted(findings: Sequence[Finding], before: Sequence[Measurement]) -> list[Finding]:
    """The findings, with doubt about repairs that may be none.

    If nothing of an engine, or of a workload file, worked before, then most likely the other revision was not built as
    it must be, and nothing was compared.
    """
    working = [side.cell for side in before if not side.new and side.status not in BROKEN]
    engines, files = {cell.engine for cell in working}, {cell.file for cell in working}
    unproven = {
        key(side.cell): side.message
        for side in before
        if side.cell.engine not in engines or (side.cell.file and side.cell.file not in files)
    }
    return [
        msgspec.structs.replace(
            finding, word="inconclusive", code=FindingCode.NEVER_WORKED, detail=unproven[finding.cell]
        )
        if finding.code is FindingCode.REPAIRED and finding.cell in unproven
        else finding
        for finding in findings
    ]


def _as_inspected(measurement: Measurement) -> Measurement:
    return msgspec.structs.replace(measurement, status="ok") if timing.stopped(measurement) else measurement
