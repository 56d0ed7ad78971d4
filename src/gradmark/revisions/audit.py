"""Auditing the gate: known faults are planted, and it is seen whether the gate catches each by the right metric.

In: faults. Out: what was caught and what was missed, and how often equal things are accused on this machine.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gradmark.analyse.resampling import SEED
from gradmark.gate import timing
from gradmark.gate.configuration import Configuration
from gradmark.measure.plan import cells_of
from gradmark.measure.process import Place
from gradmark.records import Record, Settings
from gradmark.records.finding import Gate
from gradmark.revisions.checkout import Revision
from gradmark.revisions.contest import Contest, Said
from gradmark.revisions.faults import FAULTS, Fault, engine_of
from gradmark.workloads.selection import select

# Comparisons of equal things, made by swapping the two sides of pairs at random.
SWAPS = 200
# Two pairs show that work is left undone: that is no matter of noise.
FEW = 2


class Planted(Record, frozen=True, kw_only=True):
    """One fault, the metrics that accused it, and whether that is what should have happened."""

    what: str
    expected: list[str]
    accused: list[str]
    evidence: str
    caught: bool


def judged(fault: Fault, gate: Gate) -> Planted:
    """Caught if the right metric failed; what is no fault must not fail at all."""
    failed = gate.of("fail")
    accused = list(dict.fromkeys(finding.metric for finding in failed))
    right = [finding for finding in failed if finding.metric in fault.caught_by]
    shown = right[0] if right else failed[0] if failed else None
    return Planted(
        what=fault.what,
        expected=list(fault.caught_by),
        accused=accused,
        evidence=shown.reason if shown is not None else "",
        caught=bool(right) if fault.caught_by else not failed,
    )


def here() -> Revision:
    """Both sides are the present environment: the engines differ, not the revisions."""
    place = Place(sys.executable, Path.cwd(), os.environ.get("PYTHONPATH", ""))
    return Revision(name="the unmodified engine", before=place, now=place)


def contest(fault: Fault, settings: Settings) -> Contest:
    """The unmodified engine against the fault."""
    cells = [
        cell
        for cell in cells_of(select([fault.workload]), ["tapegrad"], full=True)
        if cell.params == dict(fault.size) and cell.engine == "tapegrad"
    ]
    return Contest(here(), cells, settings, engine_of(fault))


def pairs_of(fault: Fault, pairs: int) -> int:
    """How many pairs a fault needs: none where nothing is timed."""
    return 0 if not fault.timed else FEW if fault.caught_by == ("synchronisation",) else pairs


def audit(
    settings: Settings, configuration: Configuration, pairs: int, said: Said, faults: Sequence[Fault] = FAULTS
) -> Iterator[Planted | tuple[int, int]]:
    """Plants each fault; yields what came of it, and after the unmodified engine the false alarms among comparisons."""
    for fault in faults:
        made = contest(fault, settings)
        yield judged(fault, made.decide(configuration, pairs_of(fault, pairs), said))
        if not fault.caught_by:
            yield false_alarms(made.rows(made.timed()), configuration), SWAPS


def false_alarms(rows: Sequence[timing.Row], configuration: Configuration) -> int:
    """Comparisons of equal things that accuse one: the two sides of each pair are swapped at random."""
    import numpy as np

    draw = np.random.default_rng(SEED)
    alarms = 0
    for _ in range(SWAPS):
        swapped = []
        for row in rows:
            swap = draw.random(len(row.before)) < 0.5
            before, now = np.where(swap, row.now, row.before), np.where(swap, row.before, row.now)
            swapped.append(timing.Row(row.cell, row.workload, row.phase, before.tolist(), now.tolist()))
        alarms += any(finding.word == "fail" for finding in timing.judge(swapped, configuration))
    return alarms
