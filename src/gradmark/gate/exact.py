"""Exact metrics against a baseline: counts, errors and bytes that repeat themselves, so that they gate hard.

In: a baseline and measurements. Out: a finding for each metric of each cell, and what differs between the environments.
"""

from collections.abc import Mapping, Sequence

import msgspec

from gradmark.gate.configuration import Configuration
from gradmark.records import Measurement
from gradmark.records.finding import Finding, FindingCode, Word
from gradmark.records.metric import Metric, gated, numbers
from gradmark.store.baselines import Baseline, Kept, key, metrics, renamed

# Parts of the environment, there and here.
Differing = Mapping[str, tuple[str, str]]
# Errors below this many units of the last place are rounding, whatever they were before.
ROUNDING_ULPS = 16
EPSILON = {"float32": 2.0**-23}


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
            findings.append(Finding(cell=name, metric="status", word="new", code=FindingCode.NEW))
    findings += [
        Finding(cell=name, metric="status", word="inconclusive", code=FindingCode.VANISHED)
        for name in before.cells
        if name not in by_name
    ]
    return findings


def _cell(
    name: str, kept: Kept, measurement: Measurement, differing: Differing, configuration: Configuration
) -> list[Finding]:
    if measurement.status != "ok" or kept.status != "ok":
        return [_status(name, kept, measurement)]
    now = metrics(measurement)
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
        else:
            finding = _judged(name, entry, before, now[entry.name], measurement, configuration)
        findings.append(finding)
    return findings


def _status(name: str, kept: Kept, measurement: Measurement) -> Finding:
    """Whether it works at all."""
    statuses, accuracy = (kept.status, measurement.status), measurement.accuracy
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
    if measurement.status != "wrong-gradient" or accuracy is None:
        return finding
    return msgspec.structs.replace(
        finding, metric="gradient_error", before=kept.metrics.get("gradient_error"), now=accuracy.relative_error,
        limit=accuracy.tolerance,
    )  # fmt: skip


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


def _judged(
    name: str, entry: Metric, before: float, now: float, measurement: Measurement, configuration: Configuration
) -> Finding:
    """Above the limit is worse; as far below is better."""
    budget = configuration.budget(entry.budgeted_as, measurement.cell.workload)
    limit, better = budget.limit(before), before - (budget.limit(before) - before)
    if entry.unit == "relative":
        rounding = ROUNDING_ULPS * EPSILON.get(measurement.cell.dtype, 2.0**-52)
        tolerance = measurement.accuracy.tolerance if measurement.accuracy is not None else limit
        limit = min(max(limit, rounding), tolerance)
        better = before / budget.factor if budget.factor else better
        better = better if before > rounding else 0.0  # less than rounding is no news
    word: Word = "fail" if now > limit else "improved" if now < better else "pass"
    codes = {"fail": FindingCode.OVER, "improved": FindingCode.BETTER, "pass": FindingCode.WITHIN}
    return Finding(
        cell=name, metric=entry.name, word=word, code=codes[word], before=before, now=now, limit=limit, budget=budget
    )


def agreeing(first: Sequence[Finding], again: Sequence[Finding]) -> list[Finding]:
    """What failed, as it was seen again; a failure that has gone, such as a crash, is doubt.

    A count that is over its budget only once is a cache that was filled at that moment, not the engine's doing.
    """
    newer = {finding.name: finding for finding in again}
    return [
        newer.get(finding.name, msgspec.structs.replace(finding, word="inconclusive", once=True))
        for finding in first
        if finding.word == "fail"
    ]
