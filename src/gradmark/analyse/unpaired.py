"""Unpaired comparison: two runs of different days, cell by cell, each run a sample of all its processes.

In: an older and a newer run. Out: a `Difference` for each cell of either, and what differs between the machines. Where
both runs have pilots, a row is slower or faster only if it still is with the machine's own change taken off.
Nothing is gated on it: only two builds measured side by side can tell a change of the code from one of the day.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal

import msgspec

from gradmark.analyse.calm import changed, is_as_fast, machine
from gradmark.analyse.paired import MEANING, quotient, unlike
from gradmark.records import Cell, Comparison, Measurement, Record, Run
from gradmark.records.metric import REGISTRY, Metric, numbers
from gradmark.records.number import OF_ROW
from gradmark.records.order import place_and_coverage_of_shift
from gradmark.records.times import HARNESS_ERROR_NS, never_calm, process_times

# As in `check`: less than this is what two sessions of one machine differ by. Fastest and typical process must
# both be beyond it: a session shifts now the one, now the other. It costs no power at 10 % (benchmarks/statistics.py).
NOTICED = 1.05
# The fastest of fewer than ten processes moves more from session to session: with 5 % one row in sixteen was accused
# where five processes ran within seconds, with 7 % one in forty, and slowdowns of 10 % are found as often.
MANY, NOTICED_BY_FEW = 10, 1.07
# The level of the test. Joined with the two ratios it accuses about 3 % of equal rows at most.
LEVEL = 0.05
# With three in each run the least p-value that there can be is 0.1; with four it is 0.03.
LEAST_PROCESSES = 4
# Pairs of processes up to which the exact test takes milliseconds; beyond, its limit is right to four digits.
MOST_EXACT = 10_000
# What is left of a time is nothing below this: the ratio of two times above it is a number, and has a logarithm.
LEAST_NS = 1e-30
# Relative errors that differ by less are both none: a double cannot hold less.
ROUNDING = 2.0**-53

Word = Literal["faster", "slower", "no difference", "undecided", "not judged", "not in both"]


class Change(Record, frozen=True, kw_only=True):
    """Something that is counted, not timed, and differs."""

    metric: str  # of the registry, or `status`
    old: float | str | None
    new: float | str | None


class Difference(Record, frozen=True, kw_only=True):
    """One cell in both runs."""

    cell: Cell
    verdict: Word
    reason: str = ""
    time: Comparison | None = None  # of total, or of primal where there is no total
    machine: float | None = None  # how many times as long fixed work took in the newer run; None without pilots
    changes: list[Change] = []


def environments(old: Run, new: Run) -> tuple[list[str], list[str]]:
    """What makes times incomparable, and what else differs, each as `name: old, new` or as two short sentences."""
    before, after = old.environment, new.environment
    names = sorted(before.packages.keys() | after.packages.keys())
    other = [
        f"{name}: {before.packages.get(name, 'none')}, {after.packages.get(name, 'none')}"
        for name in names
        if before.packages.get(name) != after.packages.get(name)
    ]
    if before.commit != after.commit:
        other.append(f"commit: {(before.commit or 'none')[:10]}, {(after.commit or 'none')[:10]}")
    settings = [
        f"old {ours}, new {theirs}"
        for field in MEANING
        if (ours := old.settings.words(field)) != (theirs := new.settings.words(field))
    ]
    return before.unlike(after) + settings, other


def differences(old: Run, new: Run) -> list[Difference]:
    """Every cell of the older run, then those that only the newer one has."""
    comparable, slowed = not unlike(old, new), machines(old, new)
    before, after = ({m.cell.id: m for m in run.measurements} for run in (old, new))
    every = dict.fromkeys([*before, *after])
    return [_difference(before.get(key), after.get(key), comparable, slowed) for key in every]


def machines(old: Run, new: Run) -> float | None:
    """How many times as long the core's pilot takes in the newer run; None if one of them has no pilots."""
    return changed(machine(old.measurements), machine(new.measurements))


def _difference(
    before: Measurement | None, after: Measurement | None, comparable: bool, slowed: float | None
) -> Difference:
    known = before or after
    assert known is not None
    cell = known.cell
    if before is None or after is None:
        reason = f"the {'older' if before is None else 'newer'} run does not have it"
        return Difference(cell=cell, verdict="not in both", reason=reason)
    changes = exact_changes(before, after)
    arms = _arms(before, after)
    if arms is None:
        reason = f"no time in both: {before.status}, then {after.status}"
        return Difference(cell=cell, verdict="undecided", reason=reason, changes=changes)
    phase, ours, theirs = arms
    calm = (not never_calm(before.samples, phase), not never_calm(after.samples, phase))
    shown = (numbers(before)[phase].value, numbers(after)[phase].value)
    time = msgspec.structs.replace(compare(phase, ours, theirs, shown), calm=calm)
    word, reason = judged(time, ours, theirs, slowed) if comparable else ("not judged", "")
    return Difference(cell=cell, verdict=word, reason=reason, time=time, machine=slowed, changes=changes)


def _arms(before: Measurement, after: Measurement) -> tuple[str, list[float], list[float]] | None:
    """The first phase of a row's time that both runs have, and what the processes of each took."""
    if before.status != "ok" or after.status != "ok":
        return None
    arms = ((phase, process_times(before.samples, phase), process_times(after.samples, phase)) for phase in OF_ROW)
    return next((arm for arm in arms if arm[1] and arm[2]), None)


def judged(time: Comparison, first: Sequence[float], second: Sequence[float], slowed: float | None) -> tuple[Word, str]:
    """The verdict as measured, if that on one and the same machine is no other.

    There every process of the older run takes `slowed` times as long.
    """
    word, reason = verdict(time)
    if slowed is None or is_as_fast(slowed) or not all(time.calm):
        return word, reason
    shown = (slowed * time.first, time.second)
    again, _ = verdict(compare(time.metric, [slowed * ns for ns in first], second, shown))
    if again == word or word == "undecided" or not {"slower", "faster"} & {again, word}:
        return word, reason
    return "undecided", f"the machine itself was {speed(slowed)}"


def speed(slowed: float) -> str:
    """How much slower or faster the machine was in the newer run.

    >>> speed(1.042), speed(0.96), speed(1.006)
    ('4 % slower', '4 % faster', '0.6 % slower')
    """
    share = 100 * abs(slowed - 1.0)
    return f"{share:.{0 if share >= 0.95 else 1}f} % {'slower' if slowed > 1.0 else 'faster'}"


def compare(
    metric: str, first: Sequence[float], second: Sequence[float], shown: tuple[float, float] | None = None
) -> Comparison:
    """Compare two samples of processes, of any lengths.

    The ratio is that of the numbers shown, which are the medians unless `shown` says otherwise.

    The test is the exact one of Mann and Whitney. The typical ratio is that of Hodges and Lehmann on logarithms, the
    median of all ratios between a process of one and one of the other; its interval is the test's inverse. Tried and
    rejected: pairing the sorted processes, of which all ratios fall on one side with probability 2/(n+1).

    >>> seen = compare("total", [100.0, 101.0, 102.0, 103.0], [120.0, 121.0, 122.0])
    >>> round(seen.ratio, 3), round(seen.typical, 3), round(seen.coverage, 3), round(seen.p_value, 3), seen.processes
    (1.192, 1.192, 0.943, 0.057, (4, 3))
    """
    processes = (len(first), len(second))
    old, new = shown if shown is not None else (float(median(first)), float(median(second)))
    if min(*first, *second) <= LEAST_NS:  # lost in the subtraction of the harness: there are no logarithms
        return Comparison(metric=metric, first=old, second=new, ratio=quotient(old, new), processes=processes)
    ratios = sorted(new / old for old in first for new in second)
    place, coverage = place_and_coverage_of_shift(*processes)
    return Comparison(
        metric=metric,
        first=old,
        second=new,
        ratio=quotient(old, new),
        typical=math.exp(median(map(math.log, ratios))),
        low=ratios[place],
        high=ratios[-1 - place],
        coverage=coverage,
        p_value=rank_test(first, second),
        processes=processes,
    )


def rank_test(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided p-value of the exact Mann-Whitney test. Ties make it larger, never smaller."""
    from scipy import stats

    few = len(first) * len(second) <= MOST_EXACT
    return float(stats.mannwhitneyu(first, second, method="exact" if few else "asymptotic").pvalue)


def verdict(time: Comparison) -> tuple[Word, str]:
    """What two runs say, and why it is not decided: the fastest and the typical process must say the same."""
    if not all(time.calm):
        where = "either" if not any(time.calm) else "the newer" if time.calm[0] else "the older"
        return "undecided", f"the machine was never calm in {where} run"
    least = min(time.processes)
    if least < LEAST_PROCESSES:
        return "undecided", f"{least} calm process{'es' * (least != 1)} in a run; {LEAST_PROCESSES} or more can decide"
    if time.typical is None or min(time.first, time.second) <= HARNESS_ERROR_NS:
        return "undecided", f"too short: an empty call is only known to within {HARNESS_ERROR_NS:g} ns"
    beyond = _beyond(time.ratio)
    if beyond and abs(time.second - time.first) <= HARNESS_ERROR_NS:
        return "no difference", f"within the {HARNESS_ERROR_NS:g} ns that an empty call is uncertain by"
    if beyond and time.p_value > LEVEL:
        return "undecided", "the times differ, but the processes of the two runs overlap"
    if beyond and (not _beyond(time.typical) or (time.typical > 1.0) != (time.ratio > 1.0)):
        return "undecided", "the times changed, but most processes did not change with them"
    if beyond and least < MANY and not _beyond(time.ratio, NOTICED_BY_FEW):
        return (
            "undecided",
            f"with fewer than {MANY} processes, changes below {100 * (NOTICED_BY_FEW - 1):.0f} % are not judged",
        )
    if beyond:
        return ("slower" if time.ratio > 1.0 else "faster"), ""
    assert time.low is not None
    assert time.high is not None
    if _beyond(time.low) and _beyond(time.high) and (time.low > 1.0) == (time.high > 1.0):
        return "undecided", "the processes differ, but the times shown do not: one run may have been disturbed"
    return "no difference", ""


def _beyond(ratio: float, noticed: float = NOTICED) -> bool:
    return not 1.0 / noticed <= ratio <= noticed


def exact_changes(before: Measurement, after: Measurement) -> list[Change]:
    """The status and every exact metric of the registry that moved by more than it does by itself."""
    status = [Change(metric="status", old=before.status, new=after.status)] if before.status != after.status else []
    entries = [entry for entry in REGISTRY if entry.exact and not entry.stands_in_for]
    pairs = [(entry, entry.number(before), entry.number(after)) for entry in entries]
    return status + [
        Change(metric=entry.name, old=old, new=new) for entry, old, new in pairs if _moved(old, new, entry)
    ]


def _moved(old: float | None, new: float | None, entry: Metric) -> bool:
    if old is None or new is None:
        return old is not new
    rounding = ROUNDING if entry.unit == "relative" else 0.0
    return abs(new - old) > max(entry.settled * abs(old), rounding)
