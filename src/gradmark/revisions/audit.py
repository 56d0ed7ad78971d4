"""Auditing the gate: known faults are planted, and it is seen whether the gate catches each by the right metric.

In: faults, and an orchestrator whose run has the cells of their plan. Out: what was caught and what was missed, and how
often equal things are accused on this machine.
"""

import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gradmark.analyse.resampling import SEED
from gradmark.analyse.summary import summarise
from gradmark.gate import timing
from gradmark.gate.configuration import Configuration
from gradmark.gate.pairs import PairedTimes
from gradmark.measure.orchestrator import Orchestrator
from gradmark.measure.process import Place
from gradmark.records import Cell, Measurement, Record
from gradmark.records.finding import Finding
from gradmark.revisions import contest
from gradmark.revisions.contest import Contest
from gradmark.revisions.device_faults import DeviceFault
from gradmark.revisions.faults import FAULTS, Fault, engine_of
from gradmark.workloads.catalogue import built_in

# Comparisons of equal things, made by swapping the two sides of pairs at random.
SWAPS = 200
# Two pairs show that work is done elsewhere: that is no matter of noise.
FEW = 2
# Eight pairs prove what happens once: their least p-value is 1/256, so that one may disagree.
SOME = 8
UNMODIFIED = "tapegrad"


class Planted(Record, frozen=True, kw_only=True):
    """One fault, the metrics that accused it, and whether that is what should have happened."""

    what: str
    expected: list[str]
    accused: list[str]
    evidence: Finding | None
    caught: bool


class Audit(Record, frozen=True, kw_only=True):
    """What came of all faults; the false alarms if the unmodified engine was among them."""

    planted: list[Planted]
    false_alarms: int | None = None
    comparisons: int = SWAPS  # of equal things, in which false alarms are counted


def judged(fault: Fault, findings: Sequence[Finding]) -> Planted:
    """Caught if the right metric failed; what is no fault must not fail at all."""
    failed = [finding for finding in findings if finding.word == "fail"]
    accused = list(dict.fromkeys(finding.metric for finding in failed))
    right = [finding for finding in failed if finding.metric in fault.caught_by and _ends_as(fault, finding)]
    shown = right[0] if right else failed[0] if failed else None
    return Planted(
        what=fault.what,
        expected=list(fault.caught_by),
        accused=accused,
        evidence=shown,
        caught=bool(right) if fault.caught_by else not failed,
    )


def _ends_as(fault: Fault, finding: Finding) -> bool:
    """Whether a row ends as it must, for the right reason."""
    return not fault.status or (finding.statuses is not None and finding.statuses[1] == fault.status)


def places() -> dict[str, Place]:
    """Both sides are the present environment; before, the unmodified engine runs in place of each faulty one."""
    python, folder, path = sys.executable, Path.cwd(), os.environ.get("PYTHONPATH", "")
    return {
        contest.BEFORE: Place(python, folder, path, engine=UNMODIFIED),
        contest.NOW: Place(python, folder, path),
    }


def row_of(fault: Fault) -> Cell:
    """The row that shows a fault."""
    (workload,) = (workload for workload in built_in() if workload.name == fault.workload)
    return Cell(
        engine=engine_of(fault), workload=workload.name, suite=workload.suite, params=dict(fault.size), kind="scalar"
    )


def contest_of(fault: Fault, pairs: int) -> Contest:
    """The unmodified engine against the fault: each fault is judged by itself, and timed only if it must be."""
    enough: dict[tuple[str, ...], int] = {("import",): SOME, ("prepare",): SOME}
    needed = FEW if fault.status else enough.get(fault.caught_by, pairs)
    return Contest([row_of(fault)], needed if fault.timed else 0)


def audit(
    orchestrator: Orchestrator, configuration: Configuration, pairs: int, faults: Sequence[Fault] = FAULTS
) -> Audit:
    """Plants each fault, and says what came of it."""
    contests = [contest_of(fault, pairs) for fault in faults]
    decided = contest.decide(contests, orchestrator, configuration)
    equal = [its_contest for fault, its_contest in zip(faults, contests, strict=True) if not fault.caught_by]
    floors = [row for its_contest in equal for row in contest.floors(its_contest, orchestrator)]
    return Audit(
        planted=[judged(fault, findings) for fault, findings in zip(faults, decided, strict=True)],
        false_alarms=false_alarms(floors, configuration) if equal else None,
    )


def audit_devices(orchestrator: Orchestrator, faults: Sequence[DeviceFault]) -> list[Planted]:
    """Plants faults on a device of known costs, and says what is said of each row."""
    cells = [fault.cell for fault in faults]
    orchestrator.inspect(cells)
    orchestrator.sample(cells, range(1))
    return [judged_on_device(fault, orchestrator.measurement(fault.cell)) for fault in faults]


def judged_on_device(fault: DeviceFault, measurement: Measurement) -> Planted:
    """Caught if it is said what must be said; of what is no fault nothing must be."""
    status = [] if measurement.status == "ok" else [str(measurement.status)]
    verdicts = status + [str(warning.code.value) for warning in summarise(measurement).warnings]
    return Planted(
        what=fault.what,
        expected=[str(fault.verdict)] if fault.verdict is not None else [],
        accused=verdicts,
        evidence=None,
        caught=str(fault.verdict) in verdicts if fault.verdict is not None else not verdicts,
    )


def false_alarms(rows: Sequence[PairedTimes], configuration: Configuration) -> int:
    """Comparisons of equal things that accuse one: the two sides of each pair are swapped at random."""
    import numpy as np

    draw = np.random.default_rng(SEED)
    alarms = 0
    for _ in range(SWAPS):
        swapped = []
        for row in rows:
            swap = draw.random(len(row.before)) < 0.5
            before, now = np.where(swap, row.now, row.before), np.where(swap, row.before, row.now)
            swapped.append(dataclasses.replace(row, before=before.tolist(), now=now.tolist()))
        alarms += any(finding.word == "fail" for finding in timing.judge(swapped, configuration))
    return alarms
