"""JSON: the run as a file has it, and beside it the numbers as tables show them."""

from typing import Any

import msgspec

from gradmark.records import Run, Summary, metric
from gradmark.report.exports.json import json


def test_json_is_the_run(make: Any) -> None:
    run = make.run(make.measurement(), make.tensor(), make.failed("crash", 'quo"ted\n', make.cell("[red]")))
    written = json(run)
    assert msgspec.json.decode(written, type=Run) == run
    assert written.startswith('{\n  "id": "run-1",\n')
    assert written.endswith("}\n")


def test_rows_have_the_numbers_as_tables_show_them(make: Any) -> None:
    run = make.run(make.measurement(samples=make.totals(1000.0, 1400.0, 1300.0)), make.failed("crash", "SIGSEGV"))
    first, second = msgspec.json.decode(json(run))["rows"]
    assert (first["row"], first["engine"]) == ("poly/n=10", "tapegrad")
    assert msgspec.convert(first, Summary).numbers == metric.numbers(run.measurements[0])
    assert first["numbers"]["total"] == {
        "value": 1000.0,
        "processes": 3,
        "spread": 200.0 / 1300.5,
        "median": 1300.5,
        "low": 1000.5,
        "high": 1400.5,
        "coverage": 0.75,
    }
    assert first["reasons"]["instructions"] == "counted only with --instructions"
    assert (second["status"], second["message"], "numbers" in second) == ("crash", "SIGSEGV", False)


def test_summaries_that_were_made_are_taken(make: Any) -> None:
    run = make.run(make.measurement())
    assert json(run) == json(run, make.summaries(run))
