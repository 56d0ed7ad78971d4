"""Differences: two runs cell by cell, and what differs between the machines and settings that they were made with.

In: an older and a newer run. Out: a `Difference` for each cell of either. Nothing is gated on it: two runs of different
days are no pairs, so a verdict on times only says what was seen.
"""

from typing import Literal

from gradmark.analyse.paired import MEANING, compare
from gradmark.records import Comparison, Measurement, Record, Run

# As in `check`: less than this is what two sessions of one machine differ by.
NOTICED = 1.05
# With fewer processes the spread between them is not known.
LEAST_PROCESSES = 3

Verdict = Literal["faster", "slower", "no difference", "undecided", "unlike runs", "not in both"]


class Difference(Record, frozen=True, kw_only=True):
    """One cell in both runs. The ratio is new / old of the floors of total, or of primal where there is no total."""

    name: str
    engine: str
    verdict: Verdict
    reason: str = ""
    time: Comparison | None = None
    changes: list[str] = []  # of exact metrics: `allocations: 0 → 12`


def environments(old: Run, new: Run) -> tuple[list[str], list[str]]:
    """What makes times incomparable, and what else differs, each as `field: old → new`."""
    fields = ("cpu", "machine", "cores", "memory_bytes", "os", "python", "governor")
    before, after = old.environment, new.environment
    unlike = [
        _changed(f, getattr(before, f), getattr(after, f)) for f in fields if getattr(before, f) != getattr(after, f)
    ]
    unlike += [
        _changed(f, getattr(old.settings, f), getattr(new.settings, f))
        for f in MEANING
        if getattr(old.settings, f) != getattr(new.settings, f)
    ]
    names = sorted(before.packages.keys() | after.packages.keys())
    other = [
        _changed(name, before.packages.get(name, "none"), after.packages.get(name, "none"))
        for name in names
        if before.packages.get(name) != after.packages.get(name)
    ]
    if before.commit != after.commit:
        other.append(_changed("commit", (before.commit or "none")[:10], (after.commit or "none")[:10]))
    return unlike, other


def differences(old: Run, new: Run) -> list[Difference]:
    """Every cell of the older run, then those that only the newer one has."""
    unlike, _ = environments(old, new)
    before, after = ({m.cell.id: m for m in run.measurements} for run in (old, new))
    return [_difference(before.get(key), after.get(key), bool(unlike)) for key in dict.fromkeys([*before, *after])]


def _difference(before: Measurement | None, after: Measurement | None, unlike: bool) -> Difference:
    known = before or after
    assert known is not None
    cell = known.cell
    name = cell.row
    if before is None or after is None:
        missing = "older" if before is None else "newer"
        return Difference(name=name, engine=cell.engine, verdict="not in both", reason=f"the {missing} run lacks it")
    changes = _changes(before, after)
    ours, theirs = _floors(before), _floors(after)
    rounds = min(len(ours), len(theirs))
    if not rounds:
        why = f"{before.status}, then {after.status}"
        return Difference(name=name, engine=cell.engine, verdict="undecided", reason=why, changes=changes)
    time = compare("total", ours[:rounds], theirs[:rounds])
    verdict: Verdict = "unlike runs"
    reason = ""
    if not unlike:
        verdict = _verdict(time, rounds)
        reason = f"{rounds} processes; {LEAST_PROCESSES} decide" if verdict == "undecided" else ""
    return Difference(name=name, engine=cell.engine, verdict=verdict, reason=reason, time=time, changes=changes)


def _verdict(time: Comparison, rounds: int) -> Verdict:
    """Only if the whole interval lies on one side of 1, and the ratio beyond what two sessions differ by."""
    if rounds < LEAST_PROCESSES:
        return "undecided"
    if time.low > 1.0 and time.ratio > NOTICED:
        return "slower"
    return "faster" if time.high < 1.0 and time.ratio < 1.0 / NOTICED else "no difference"


def _floors(m: Measurement) -> list[float]:
    """Ascending, because rounds of two runs are no pairs: the best of one is held against the best of the other."""
    phases = [s.phases.get("total") or s.phases.get("primal") for s in m.samples]
    return sorted(phase.floor_ns for phase in phases if phase is not None)


def _changes(before: Measurement, after: Measurement) -> list[str]:
    pairs = {
        "status": (before.status, after.status),
        "allocations": (_of(before, "memory", "allocations"), _of(after, "memory", "allocations")),
        "tape": (_of(before, "tape", "instructions"), _of(after, "tape", "instructions")),
        "error": (_of(before, "accuracy", "relative_error"), _of(after, "accuracy", "relative_error")),
    }
    return [_changed(name, *pair) for name, pair in pairs.items() if pair[0] != pair[1]]


def _of(m: Measurement, part: str, field: str) -> object:
    return getattr(getattr(m, part), field, None)


def _changed(name: str, old: object, new: object) -> str:
    def text(value: object) -> str:
        return "n/a" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)

    return f"{name}: {text(old)} → {text(new)}"
