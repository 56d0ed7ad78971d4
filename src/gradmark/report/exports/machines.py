"""The gate's findings for machines: JUnit XML, Bencher Metric Format, github-action-benchmark, JSON.

In: a gate. Out: text in the format that the other tool documents.
"""

from typing import Any
from xml.etree import ElementTree

import msgspec

from gradmark.records import Run
from gradmark.records.finding import Finding, Gate
from gradmark.report.model.characters import one_line
from gradmark.report.tables.gate import change, counts
from gradmark.store.baselines import key, metrics

PHASES = ("primal", "forward", "backward", "total")


def junit(gate: Gate) -> str:
    """JUnit XML: a test case for each finding. Inconclusive is an error, which is neither a failure nor a pass."""
    counted = {
        "tests": len(gate.findings),
        "failures": len(gate.of("fail")),
        "errors": len(gate.of("inconclusive")),
        "skipped": len(gate.of("new", "not compared")),
    }
    suite = ElementTree.Element("testsuite", {"name": "gradmark", **{k: str(n) for k, n in counted.items()}})
    tags = {"fail": "failure", "inconclusive": "error", "new": "skipped", "not compared": "skipped"}
    for finding in gate.findings:
        case = ElementTree.SubElement(suite, "testcase", classname=one_line(finding.cell), name=finding.metric)
        message = one_line(f"{change(finding)} {finding.reason}")
        if finding.word in tags:
            ElementTree.SubElement(case, tags[finding.word], message=message)
        elif message:
            ElementTree.SubElement(case, "system-out").text = message
    ElementTree.SubElement(suite, "system-out").text = "\n".join(
        one_line(text) for text in [*gate.notes, f"{gate.answer}: {counts(gate)}"]
    )
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def unit(metric: str) -> str:
    """The unit of a metric, in words."""
    if metric in PHASES:
        return "ns"
    if metric.endswith("_bytes"):
        return "bytes"
    return "relative error" if metric == "gradient_error" else "count"


def _measured(gate: Gate) -> list[tuple[Finding, float]]:
    return [(finding, finding.now) for finding in gate.findings if finding.now is not None]


def bencher(gate: Gate) -> str:
    """Bencher Metric Format: benchmark, measure, value. Times are Bencher's own measure, latency, in nanoseconds."""
    found: dict[str, dict[str, Any]] = {}
    for finding, now in _measured(gate):
        measure = {"total": "latency"}.get(finding.metric, finding.metric.replace("_", "-"))
        found.setdefault(finding.cell, {})[measure] = {"value": now}
    return _pretty(found)


def smaller_is_better(gate: Gate) -> str:
    """github-action-benchmark's `customSmallerIsBetter`: a list of name, unit, value."""
    return _pretty(
        [{"name": finding.name, "unit": unit(finding.metric), "value": now} for finding, now in _measured(gate)]
    )


def of_run(run: Run) -> Gate:
    """What a run measured, as findings without anything before: times are floors, as they are compared."""
    findings = []
    for measurement in run.measurements:
        if measurement.status != "ok":
            continue
        floors = {
            phase: min(sample.phases[phase].floor_ns for sample in measurement.samples)
            for phase in PHASES
            if measurement.samples and all(phase in sample.phases for sample in measurement.samples)
        }
        findings += [
            Finding(cell=key(measurement.cell), metric=metric, word="new", now=value)
            for metric, value in (floors | metrics(measurement)).items()
        ]
    return Gate(against="nothing", findings=findings)


def json(gate: Gate) -> str:
    """The gate as it is, with its answer."""
    return _pretty({"answer": gate.answer, **msgspec.to_builtins(gate)})


def _pretty(plain: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"
