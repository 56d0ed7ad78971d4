import json
from xml.etree import ElementTree

import msgspec
import pytest
from oracles.watched import never_calm

from gradmark.records import Accuracy, Cell, Environment, Measurement, Memory, Phase, Run, Sample, Settings
from gradmark.records.finding import Finding, FindingCode, Gate
from gradmark.records.metric import REGISTRY, numbers
from gradmark.report.exports import machines

GATE = Gate(
    against="b",
    findings=[
        Finding(cell="poly@e", metric="allocations", word="fail", before=0, now=12, reason="no <more>"),
        Finding(cell="poly@e", metric="total", word="pass", before=1000.0, now=1010.0),
        Finding(cell="poly@e", metric="peak_bytes", word="not compared", before=5, now=6, reason="elsewhere"),
        Finding(cell="gone@e", metric="status", word="inconclusive", reason="vanished"),
    ],
    notes=["python differs"],
)


@pytest.fixture
def finished_run():
    """One cell that was measured twice, and one that failed."""
    samples = [
        Sample(
            process=k,
            phases={name: Phase(how="measured", iterations=1, block_ns=[ns + k]) for name, ns in times.items()},
            once_ns={},
            harness_ns=1.0,
            clock_ns=1.0,
        )
        for k, times in enumerate([{"total": 90.0, "forward": 60.0}, {"total": 95.0, "forward": 61.0, "primal": 5.0}])
    ]
    fine = Measurement(
        cell=Cell(engine="e", workload="poly", suite="s", params={"n": 10}),
        status="ok",
        samples=samples,
        memory=Memory(allocations=3.0),
        accuracy=Accuracy(reference="r", relative_error=1e-15, tolerance=1e-9),
    )
    failed = Measurement(cell=Cell(engine="e", workload="other", suite="s"), status="error")
    here = Environment(cpu="c", cores=1, memory_bytes=1, os="o", python="p", packages={})
    return Run(id="r", started="s", environment=here, settings=Settings(), measurements=[fine, failed])


def test_junit_has_a_case_for_each_finding():
    (suite,) = ElementTree.fromstring(machines.junit(GATE))
    assert suite.attrib == {"name": "gradmark", "tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    cases = [(case.get("classname"), case.get("name"), *(part.tag for part in case)) for case in suite.iter("testcase")]
    assert cases == [
        ("poly@e", "allocations", "failure"),
        ("poly@e", "total", "system-out"),
        ("poly@e", "peak_bytes", "skipped"),
        ("gone@e", "status", "error"),
    ]
    assert suite.find("testcase/failure").get("message") == "0 → 12 no <more>"
    assert suite.find("system-out").text == (
        "python differs\nfail: 1 cell fails (1 of 3 metrics); 1 cell is inconclusive (1 metric)"
    )


def test_bencher_metric_format():
    assert json.loads(machines.bencher(GATE)) == {
        "poly@e": {"allocations": {"value": 12}, "latency": {"value": 1010.0}, "peak-bytes": {"value": 6}}
    }


def test_github_action_benchmark():
    assert json.loads(machines.smaller_is_better(GATE)) == [
        {"name": "poly@e allocations", "unit": "count", "value": 12},
        {"name": "poly@e total", "unit": "ns", "value": 1010.0},
        {"name": "poly@e peak_bytes", "unit": "bytes", "value": 6},
    ]


def test_json_has_the_answer():
    found = json.loads(machines.json(GATE))
    assert (found["answer"], found["against"], len(found["findings"])) == ("fail", "b", 4)


def test_a_run_for_other_tools(finished_run):
    found = json.loads(machines.bencher(machines.of_run(finished_run)))
    assert found == {
        "poly/n=10@e": {
            "primal": {"value": 6.0},
            "forward": {"value": 60.0},
            "backward": {"value": 30.0},
            "latency": {"value": 90.0},
            "allocations": {"value": 3},
            "gradient-error": {"value": 1e-15},
        }
    }


def test_the_numbers_are_those_of_the_tables(finished_run):
    """Seen: other tools were told other times than the terminal showed."""
    (fine, _) = finished_run.measurements
    shown = {name: number.value for name, number in numbers(fine).items()}
    for finding in machines.of_run(finished_run).findings:
        assert finding.now == shown[finding.metric]


def test_every_unit_of_the_registry_has_a_word():
    assert {machines.unit(entry.name) for entry in REGISTRY} <= set(machines.UNITS.values())
    assert [machines.unit(name) for name in ("forward", "peak_bytes", "gradient_error", "a_phase_of_an_engine")] == [
        "ns",
        "bytes",
        "relative error",
        "ns",
    ]


def test_json_has_the_sentences():
    gate = Gate(against="b", findings=[Finding(cell="c", metric="status", word="new", code=FindingCode.NEW)])
    (finding,) = json.loads(machines.json(gate))["findings"]
    assert (finding["code"], finding["reason"]) == ("new", "not in the baseline; `gradmark baseline update` adds it")


def test_times_of_a_machine_that_was_never_calm_are_left_out(finished_run):
    """An alert of the other tool would be a failure that nobody measured."""
    run = msgspec.structs.replace(finished_run, measurements=[never_calm(finished_run.measurements[0])])
    assert [finding.metric for finding in machines.of_run(run).findings] == ["allocations", "gradient_error"]
