from typing import Any

import msgspec
import pytest

from gradmark.errors import GradmarkError
from gradmark.records import Settings
from gradmark.report.page.material import Material


def test_the_newest_measurement_of_each_cell_counts(make: Any) -> None:
    old = make.run(
        make.measurement(make.cell(n=10), operations=1),
        make.measurement(make.cell(n=100), operations=2),
        id="old",
        started="2026-01-01",
    )
    new = make.run(make.measurement(make.cell(n=10), operations=3), id="new", started="2026-01-02")
    found = Material([new, old])  # in any order
    assert [(e.row.workload, e.measurement.operations) for e in found.entries] == [("poly/n=10", 3), ("poly/n=100", 2)]
    assert (found.run.id, found.left_out) == ("new", {})


def test_runs_of_other_machines_and_settings_are_left_out(make: Any) -> None:
    here = make.run(make.measurement(), id="here", started="2026-01-02")
    elsewhere = msgspec.structs.replace(
        here, id="elsewhere", started="2026-01-01", environment=msgspec.structs.replace(here.environment, cpu="M1")
    )
    threads = make.run(make.measurement(), id="threads", started="2026-01-01", settings=Settings(threads=2))
    full = make.run(make.measurement(), id="full", started="2026-01-01", settings=Settings(full=True))
    assert Material([elsewhere, threads, full, here]).left_out == {
        "elsewhere": ["cpu: M1, AMD EPYC"],
        "threads": ["it uses 2 threads, the newest uses 1 thread"],
    }


def test_a_run_that_was_continued_in_another_file_counts_once(make: Any) -> None:
    begun = make.run(make.measurement(samples=[]), id="one")
    whole = make.run(make.measurement(), id="one")
    for runs in ([begun, whole], [whole, begun]):
        assert [len(run.measurements[0].samples) for run in Material(runs).runs] == [1]


def test_of_two_builds_the_newer_is_shown(make: Any) -> None:
    cells = [make.cell(side=side) for side in ("before", "now")]
    run = make.run(*map(make.measurement, cells), planned=cells)
    found = Material([run])
    assert [row.cell.id for row in found.rows] == ["poly/n=10@tapegrad"]
    assert [len(row) for row in found.standings.values()] == [1]
    assert found.runs == [run]


def test_no_run_is_an_error() -> None:
    with pytest.raises(GradmarkError, match="Expected one run or more for a report, got none"):
        Material([])
