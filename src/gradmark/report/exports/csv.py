"""CSV for spreadsheets: one row for each cell, with every metric of the registry.

In: a run. Out: text. An empty field is a number that is missing, and `reasons` says why.
"""

import csv as csv_module
import io
from collections.abc import Callable, Sequence

from gradmark.analyse.summary import shape_text, summarise_run
from gradmark.records import Measurement, Run, Summary, metric
from gradmark.records.metric import Metric
from gradmark.report.escaping.csv import field as escaped
from gradmark.report.model.rows import reading_order
from gradmark.report.model.words import sentence

Field = Callable[[Measurement, Summary], object]


def csv(run: Run, summaries: Sequence[Summary] | None = None) -> str:
    """All cells in reading order."""
    out = io.StringIO()
    writer = csv_module.writer(out, lineterminator="\n")
    writer.writerow(map(escaped, _fields(run.measurements)))
    for record in records(run, summaries):
        writer.writerow(map(escaped, record.values()))
    return out.getvalue()


def records(run: Run, summaries: Sequence[Summary] | None = None) -> list[dict[str, object]]:
    """All cells in reading order, each with its fields by name; None is a number that is missing."""
    summarised = summaries if summaries is not None else summarise_run(run.measurements)
    fields = _fields(run.measurements)
    return [
        {name: field(run.measurements[place], summarised[place]) for name, field in fields.items()}
        for place in reading_order(run)
    ]


def _fields(measurements: Sequence[Measurement]) -> dict[str, Field]:
    """Names, then every metric, then words. Phases that engines declare follow those of the registry."""
    declared = {e.name: e for m in measurements for e in metric.metrics_of(m) if not metric.is_known(e.name)}
    numbers: dict[str, Field] = {}
    for entry in (*metric.REGISTRY, *declared.values()):
        numbers |= _of_metric(entry)
    return {**NAMES, **numbers, **DECLARED, **WORDS}


def _of_metric(entry: Metric) -> dict[str, Field]:
    """Its number; of a time also how it was obtained, its spread, and the median over processes with its interval."""
    fields: dict[str, Field] = {entry.column: lambda _m, s: s.value(entry.name)}
    if entry.phase:
        for suffix, attribute in {
            "_how": "how",
            "_spread_ratio": "spread",
            "_median_ns": "median",
            "_median_low_ns": "low",
            "_median_high_ns": "high",
            "_median_coverage": "coverage",
        }.items():
            fields[f"{entry.name}{suffix}"] = _attribute(entry.name, attribute)
    return fields


def _attribute(name: str, attribute: str) -> Field:
    return lambda _m, s: getattr(s.numbers.get(name), attribute, None)


def _inside(part: str, field: str) -> Field:
    return lambda m, _s: getattr(getattr(m, part), field, None)


def _calm_processes(summary: Summary) -> int | None:
    """Of those, the processes whose times count; in older files all that timed the row."""
    if summary.time is None:
        return None
    return summary.time.processes if summary.calm else 0


NAMES: dict[str, Field] = {
    "row": lambda m, _s: m.cell.row,
    "suite": lambda m, _s: m.cell.suite,
    "workload": lambda m, _s: m.cell.workload,
    "size": lambda m, _s: m.cell.size,
    "kind": lambda m, _s: m.cell.kind,
    "dtype": lambda m, _s: m.cell.dtype,
    "device": lambda m, _s: m.cell.device,
    "derivative": lambda m, _s: m.cell.derivative,
    "mode": lambda m, _s: m.mode,
    "shape": lambda _m, s: s.shape,
    "engine": lambda m, _s: m.cell.engine,
    "status": lambda m, _s: m.status,
    "message": lambda m, _s: m.message,
    "processes": lambda m, _s: len(m.samples),
    "calm_processes": lambda _m, s: _calm_processes(s),
    "calm_blocks_share": lambda _m, s: s.calm_blocks,
    "steady": lambda _m, s: s.steady,
}
DECLARED: dict[str, Field] = {
    "harness_ns": lambda m, _s: metric.harness_ns(m),
    "operations": lambda m, _s: m.operations,
    "flops": lambda m, _s: m.flops,
    "bytes": lambda m, _s: m.bytes,
    "gross_allocations_per_iteration": _inside("memory", "gross_allocations"),
    "plain_allocations_per_iteration": _inside("memory", "plain_allocations"),
    "tolerance": _inside("accuracy", "tolerance"),
    "reference": _inside("accuracy", "reference"),
}
WORDS: dict[str, Field] = {
    "shapes": lambda m, _s: "; ".join(f"{name} {shape_text(shape)}" for name, shape in m.shapes.items()),
    "warnings": lambda _m, s: "; ".join(sentence(warning) for warning in s.warnings),
    "reasons": lambda _m, s: "; ".join(f"{name}: {reason}" for name, reason in s.reasons.items()),
}
