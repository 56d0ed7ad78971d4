"""Exact metrics against a baseline: counts, errors and bytes that repeat themselves, so that they gate hard.

In: a baseline and measurements. Out: a finding for each metric of each cell, and what differs between the environments.

Not every engine repeats itself: sets of objects grow as their addresses fall, threads take turns by chance. A baseline
says by how much its processes differed, and that much is no change. Something fails only if every process that counted
it is over its limit.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from gradmark.gate.configuration import Configuration
from gradmark.records import Measurement
from gradmark.records.finding import Finding, FindingCode, Word, merged
from gradmark.records.measurement import LACKING
from gradmark.records.metric import Metric, gated, numbers
from gradmark.store.baselines import Baseline, Kept, counts, key, metrics, renamed

# Parts of the environment, there and here.
Differing = Mapping[str, tuple[str, str]]
# Errors below this many units in the last place are rounding, whatever they were before.
ROUNDING_ULPS = 16
EPSILON = {"float32": 2.0**-23}
# What fails is counted again until one process is within the limit, at most so often; so many that count the same
# number need no further one. A number that is one of two by even chance is the lower one in all three processes of a
# baseline once in 8 times, and the higher one in three processes of a check once in 8 times.
RECOUNTS = 4
AGREEING = 3


def unlike(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What differs between two environments, by name: there and here."""
    names = dict.fromkeys([*before, *now])
    pairs = {name: (before.get(name, "none"), now.get(name, "none")) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def compare(
    before: Baseline, measured: Sequence[Measurement], now: Mapping[str, str], configuration: Configuration
) -> list[Finding]:
    """A finding for each metric of each cell that is in the baseline, was measured, or both."""
    differing = unlike(before.environment, now)
    before = renamed(before, [m.cell for m in measured])
    findings: list[Finding] = []
    by_name = {key(m.cell): m for m in measured}
    for name, measurement in by_name.items():
        if name in before.cells:
            findings += _cell(name, before.cells[name], measurement, differing, configuration)
        else:
            findings.append(_new(name, measurement))
    findings += [
        Finding(cell=name, metric="status", word="inconclusive", code=FindingCode.VANISHED)
        for name in before.cells
        if name not in by_name
    ]
    return findings


def _new(name: str, measurement: Measurement) -> Finding:
    """A cell that the baseline does not know: there is nothing to compare with, but it must work."""
    if measurement.status == "ok" or measurement.status in LACKING:
        return Finding(cell=name, metric="status", word="new", code=FindingCode.NEW)
    return _with_error(
        Finding(
            cell=name, metric="status", word="fail", code=FindingCode.NEW_FAILURE,
            statuses=("", measurement.status), detail=measurement.message,
        ),
        measurement,
    )  # fmt: skip


def _cell(
    name: str, kept: Kept, measurement: Measurement, differing: Differing, configuration: Configuration
) -> list[Finding]:
    if measurement.status != "ok" or kept.status != "ok":
        return [_status(name, kept, measurement)]
    now = metrics(measurement)
    steadier = {entry.stands_in_for: entry.name for entry in gated() if entry.stands_in_for}
    findings = []
    for entry in gated():
        if entry.name not in kept.metrics:
            continue
        before = kept.metrics[entry.name]
        unlike_parts = {part: differing[part] for part in entry.depends if part in differing}
        if unlike_parts:
            finding = Finding(
                cell=name, metric=entry.name, word="not compared", code=FindingCode.ELSEWHERE,
                before=before, now=now.get(entry.name), differing=unlike_parts,
            )  # fmt: skip
        elif entry.name not in now:
            finding = _missing(name, entry, before, measurement)
        elif entry.name in kept.scatter and steadier.get(entry.name) in kept.metrics:
            finding = Finding(
                cell=name, metric=entry.name, word="not compared", code=FindingCode.BY_CHANCE,
                before=before, now=now[entry.name], scatter=kept.scatter[entry.name],
            )  # fmt: skip
        else:
            finding = _judged(name, entry, kept, measurement, configuration)
        findings.append(finding)
    return findings


def _status(name: str, kept: Kept, measurement: Measurement) -> Finding:
    """Whether it works at all."""
    statuses = (kept.status, measurement.status)
    if measurement.status == "ok":
        return Finding(cell=name, metric="status", word="improved", code=FindingCode.REPAIRED, statuses=statuses)
    finding = Finding(
        cell=name,
        metric="status",
        word="pass" if measurement.status == kept.status else "fail",
        code=FindingCode.STATUS,
        statuses=statuses,
        detail=measurement.message,
    )
    return _with_error(finding, measurement, kept.metrics.get("gradient_error"))


def _with_error(finding: Finding, measurement: Measurement, before: float | None = None) -> Finding:
    """The finding; of a wrong gradient, with how wrong it is, if a number says that."""
    accuracy = measurement.accuracy
    if measurement.status != "wrong-gradient" or accuracy is None:
        return finding
    return msgspec.structs.replace(
        finding, metric="gradient_error", before=before, now=accuracy.relative_error, limit=accuracy.tolerance
    )


def _missing(name: str, entry: Metric, before: float, measurement: Measurement) -> Finding:
    """What was not asked for is no doubt; what was, and could not be had, is."""
    return Finding(
        cell=name,
        metric=entry.name,
        word="not compared" if entry.on_demand else "inconclusive",
        code=FindingCode.ON_DEMAND if entry.on_demand else FindingCode.MISSING,
        before=before,
        detail=entry.why_missing(measurement, numbers(measurement)),
    )


def _judged(name: str, entry: Metric, kept: Kept, measurement: Measurement, configuration: Configuration) -> Finding:
    """Above the limit is worse, in every process; as far below is better."""
    before, scatter = kept.metrics[entry.name], kept.scatter.get(entry.name, 0.0)
    budget = configuration.budget(entry.budgeted_as, measurement.cell.workload)
    limit = max(budget.limit(before) + scatter, before + entry.resolution if before else 0.0)
    better = before - (limit - before)
    if entry.unit == "relative":
        rounding = ROUNDING_ULPS * EPSILON.get(measurement.cell.dtype, 2.0**-52)
        tolerance = measurement.accuracy.tolerance if measurement.accuracy is not None else limit
        limit = min(max(limit, rounding), tolerance)
        better = before / budget.factor if budget.factor else better
        better = better if before > rounding else 0.0  # less than rounding is no news
    counted = counts(measurement)[entry.name]
    word: Word = "fail" if min(counted) > limit else "improved" if max(counted) < better else "pass"
    codes = {"fail": FindingCode.OVER, "improved": FindingCode.BETTER, "pass": FindingCode.WITHIN}
    return Finding(
        cell=name, metric=entry.name, word=word, code=codes[word], before=before, now=metrics(measurement)[entry.name],
        limit=limit, budget=budget, scatter=scatter or None, counts=counted if len(counted) > 1 else [],
    )  # fmt: skip


def confirmed(first: Sequence[Finding], count_again: Callable[[Collection[str]], Sequence[Finding]]) -> list[Finding]:
    """The findings, after what failed was counted again. count_again: counts these cells, and gives their findings."""
    findings = list(first)
    for number in range(RECOUNTS):
        doubtful = {f.cell for f in findings if f.word == "fail" and (number == 0 or _unsettled(f))}
        if not doubtful:
            break
        looked_at = [finding for finding in findings if finding.cell in doubtful]
        findings = merged(findings, agreeing(looked_at, count_again(doubtful)))
    return [_doubted(finding) for finding in findings]


def _unsettled(finding: Finding) -> bool:
    """Whether another process may count something else."""
    return finding.code is FindingCode.OVER and (len(finding.counts) < AGREEING or len(set(finding.counts)) > 1)


def _doubted(finding: Finding) -> Finding:
    """A number that another stands in for, and that each process counts anew, is no proof."""
    if (
        finding.word == "fail"
        and len(set(finding.counts)) > 1
        and any(entry.stands_in_for == finding.metric for entry in gated())
    ):
        return msgspec.structs.replace(finding, word="inconclusive", code=FindingCode.ERRATIC)
    return finding


def agreeing(first: Sequence[Finding], again: Sequence[Finding]) -> list[Finding]:
    """What failed, as it was seen again; a failure that has gone, such as a crash, is doubt.

    A count that is over its budget only once is a cache that was filled at that moment, not the engine's doing.
    """
    newer = {finding.name: finding for finding in again if finding.code is not FindingCode.NEW}
    return [
        newer.get(finding.name, msgspec.structs.replace(finding, word="inconclusive", once=True))
        for finding in first
        if finding.word == "fail"
    ]
