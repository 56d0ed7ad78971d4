"""The gate's findings for machines: JUnit XML, Bencher Metric Format, github-action-benchmark, JSON.

In: a gate. Out: text in the format that the other tool documents.
"""

from typing import Any
from xml.etree import ElementTree

import msgspec

from gradmark.analyse.calm import is_calm
from gradmark.records import Run
from gradmark.records.finding import Finding, Gate
from gradmark.records.metric import Unit, metric, metrics_of, numbers
from gradmark.report.escaping.json import document
from gradmark.report.escaping.xml import text
from gradmark.report.tables.gate import change, counts, notes, sentence
from gradmark.store.baselines import key

# As other tools show a unit. Numbers are not scaled: a tool that draws a curve must not find µs after ns.
UNITS: dict[Unit, str] = {
    "time": "ns",
    "bytes": "bytes",
    "count": "count",
    "share": "share",
    "part": "part",
    "ratio": "ratio",
    "rate": "operations/s",
    "flops": "FLOP/s",
    "traffic": "bytes/s",
    "relative": "relative error",
    "ulp": "ulp",
}


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
        case = ElementTree.SubElement(suite, "testcase", classname=text(finding.cell), name=text(finding.metric))
        message = text(f"{change(finding)} {sentence(finding)}")
        if finding.word in tags:
            ElementTree.SubElement(case, tags[finding.word], message=message)
        elif message:
            ElementTree.SubElement(case, "system-out").text = message
    ElementTree.SubElement(suite, "system-out").text = "\n".join(
        map(text, [*notes(gate), f"{gate.answer}: {counts(gate)}"])
    )
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def unit(name: str) -> str:
    """The unit of a metric, in words."""
    return UNITS[metric(name).unit]


def _measured(gate: Gate) -> list[tuple[Finding, float]]:
    return [(finding, finding.now) for finding in gate.findings if finding.now is not None]


def bencher(gate: Gate) -> str:
    """Bencher Metric Format: benchmark, measure, value. Times are Bencher's own measure, latency, in nanoseconds."""
    benchmarks: dict[str, dict[str, Any]] = {}
    for finding, now in _measured(gate):
        measure = {"total": "latency"}.get(finding.metric, finding.metric.replace("_", "-"))
        benchmarks.setdefault(finding.cell, {})[measure] = {"value": now}
    return document(benchmarks)


def smaller_is_better(gate: Gate) -> str:
    """github-action-benchmark's `customSmallerIsBetter`: a list of name, unit, value."""
    return document(
        [{"name": finding.name, "unit": unit(finding.metric), "value": now} for finding, now in _measured(gate)]
    )


def of_run(run: Run) -> Gate:
    """What a run measured, as findings without anything before: its times and exact metrics, as tables show them.

    A time that was never seen on a calm machine is left out: the other tool would take it for a regression.
    """
    findings = []
    for measurement in run.measurements:
        if measurement.status != "ok":
            continue
        known = numbers(measurement)
        findings += [
            Finding(cell=key(measurement.cell), metric=entry.name, word="new", now=known[entry.name].value)
            for entry in metrics_of(measurement)
            if entry.name in known
            and not entry.stands_in_for
            and (entry.exact or (entry.phase and is_calm(known, entry.name)))
        ]
    return Gate(against="nothing", findings=findings)


def json(gate: Gate) -> str:
    """The gate as it is, with its answer, and each finding's sentence."""
    plain = msgspec.to_builtins(gate)
    for written, finding in zip(plain["findings"], gate.findings, strict=True):
        written["reason"] = sentence(finding)
    return document({"answer": gate.answer, **plain, "notes": notes(gate)})
