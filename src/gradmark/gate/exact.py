"""Exact metrics against a baseline: counts, errors and bytes that repeat themselves, so that they gate hard.

In: a baseline and measurements. Out: a finding for each metric of each cell, and what differs between the environments.
"""

from collections.abc import Mapping, Sequence

import msgspec

from gradmark.gate.configuration import Configuration
from gradmark.records import Measurement
from gradmark.records.finding import Finding, Word
from gradmark.store.baselines import Baseline, Kept, key, metrics

RENEW = "gradmark baseline update"
# What each metric depends on. A recording is the engine's own, and errors have a budget that no C library or BLAS
# exceeds, so these compare everywhere. What Python, NumPy and the C library allocate differs between their versions,
# and what memray sees of it between its own.
DEPENDS: dict[str, tuple[str, ...]] = {
    "tape_instructions": (),
    "gradient_error": (),
    "allocations": ("system", "machine", "libc", "python", "numpy", "memray"),
    "leaked_bytes": (),  # none is none everywhere
    "peak_bytes": ("system", "machine", "libc", "python", "numpy", "memray"),
    "instructions": ("system", "machine", "cpu", "libc", "python", "numpy"),
}
# Errors below this many units of the last place are rounding, whatever they were before.
ROUNDING_ULPS = 16
EPSILON = {"float32": 2.0**-23}


def unlike(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """What differs between two environments, by name, in words."""
    names = dict.fromkeys([*before, *now])
    return {
        name: f"{name}: {before.get(name, 'none')} in the baseline, {now.get(name, 'none')} here"
        for name in names
        if before.get(name) != now.get(name)
    }


def compare(
    before: Baseline, measured: Sequence[Measurement], now: Mapping[str, str], configuration: Configuration
) -> list[Finding]:
    """A finding for each metric of each cell that is in the baseline, was measured, or both."""
    differing = unlike(before.environment, now)
    found: list[Finding] = []
    names = {key(m.cell): m for m in measured}
    for name, measurement in names.items():
        if name in before.cells:
            found += _cell(name, before.cells[name], measurement, differing, configuration)
        else:
            found.append(
                Finding(cell=name, metric="status", word="new", reason=f"not in the baseline; `{RENEW}` adds it")
            )
    for name in before.cells:
        if name not in names:
            reason = f"vanished: in the baseline, but not measured; if that is meant, `{RENEW}` takes it out"
            found.append(Finding(cell=name, metric="status", word="inconclusive", reason=reason))
    return found


def _cell(
    name: str, kept: Kept, measurement: Measurement, differing: Mapping[str, str], configuration: Configuration
) -> list[Finding]:
    if measurement.status != "ok" or kept.status != "ok":
        return [_status(name, kept, measurement)]
    found, now = [], metrics(measurement)
    for metric, value in kept.metrics.items():
        if metric not in DEPENDS:  # of a newer gradmark
            continue
        why = [differing[part] for part in DEPENDS[metric] if part in differing]
        if why:
            finding = Finding(
                cell=name, metric=metric, word="not compared", before=value, now=now.get(metric), reason="; ".join(why)
            )
        elif metric not in now:
            word: Word = "not compared" if metric == "instructions" else "inconclusive"
            finding = Finding(cell=name, metric=metric, word=word, before=value, reason=_missing(metric, measurement))
        else:
            finding = _metric(name, metric, value, now[metric], measurement, configuration)
        found.append(finding)
    return found


def _status(name: str, kept: Kept, measurement: Measurement) -> Finding:
    """Whether it works at all."""
    before, now = kept.status, measurement.status
    if now == "ok":
        return Finding(cell=name, metric="status", word="improved", reason=f"was {before}; `{RENEW}` keeps it so")
    word: Word = "pass" if now == before else "fail"
    reason, accuracy = f"{now} ({before} before): {measurement.message}", measurement.accuracy
    if now == "wrong-gradient" and accuracy is not None:
        return Finding(
            cell=name, metric="gradient_error", word=word, before=kept.metrics.get("gradient_error"),
            now=accuracy.relative_error, limit=accuracy.tolerance, reason=reason,
        )  # fmt: skip
    return Finding(cell=name, metric="status", word=word, reason=reason)


def _missing(metric: str, measurement: Measurement) -> str:
    if metric == "instructions":
        return "counted only with --instructions"
    memory = measurement.memory
    reason = memory.reason if memory is not None and metric in ("allocations", "leaked_bytes", "peak_bytes") else None
    return f"could not be obtained: {reason or 'the engine does not say it any more'}"


def _metric(
    name: str, metric: str, before: float, now: float, measurement: Measurement, configuration: Configuration
) -> Finding:
    """Above the limit is worse; as far below is better."""
    cell = measurement.cell
    budget = configuration.budget(metric, cell.workload)
    limit, better = budget.limit(before), before - (budget.limit(before) - before)
    if metric == "gradient_error":
        assert measurement.accuracy is not None
        rounding = ROUNDING_ULPS * EPSILON.get(cell.dtype, 2.0**-52)
        limit = min(max(limit, rounding), measurement.accuracy.tolerance)
        better = before / budget.factor if budget.factor else better
        better = better if before > rounding else 0.0  # less than rounding is no news
    word: Word = "fail" if now > limit else "improved" if now < better else "pass"
    reason = {
        "fail": f"the budget allows {budget} more" if not budget.factor else f"the budget allows {budget} the error",
        "improved": f"`{RENEW}` keeps it so",
    }.get(word, "")
    return Finding(cell=name, metric=metric, word=word, before=before, now=now, limit=limit, reason=reason)


def agreeing(first: Sequence[Finding], again: Sequence[Finding]) -> list[Finding]:
    """What failed, as it was seen again; a failure that has gone, such as a crash, is doubt.

    A count that is over its budget only once is a cache that was filled at that moment, not the engine's doing.
    """
    newer = {finding.name: finding for finding in again}
    return [
        newer.get(
            finding.name, msgspec.structs.replace(finding, word="inconclusive", reason=f"only once: {finding.reason}")
        )
        for finding in first
        if finding.word == "fail"
    ]
