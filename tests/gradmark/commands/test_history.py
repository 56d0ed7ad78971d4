import json

import msgspec
import pytest

from gradmark.records import Cell, Measurement, Phase, Run, Sample, Settings
from gradmark.store import runs


@pytest.fixture
def kept(finished, tmp_path):
    """Writes runs of four workloads, one a day, with these times; workload 3 has a factor of its own."""
    environment = runs.load(finished).environment
    folder = tmp_path / ".gradmark" / "runs"
    folder.mkdir(parents=True)

    def written(totals, own=None, primals=None, **changes):
        for day, total in enumerate(totals):
            measurements = []
            for k in range(5):
                factor = own[day] if own and k == 3 else 1.0
                times = {"total": total * factor, "primal": primals[day] if primals else 50.0}
                phases = {name: Phase(how="measured", iterations=1, block_ns=[ns]) for name, ns in times.items()}
                sample = Sample(process=0, phases=phases, once_ns={}, harness_ns=1.0, clock_ns=1.0)
                cell = Cell(engine="e", workload=f"w{k}", suite="s")
                measurements.append(Measurement(cell=cell, status="ok", samples=[sample]))
            run = Run(
                id=f"run{day:02}{changes.get('cpu', '')}",
                started=f"2026-01-{day + 1:02}T00:00:00+00:00",
                environment=msgspec.structs.replace(environment, commit=f"{day:040}", **changes),
                settings=Settings(),
                measurements=measurements,
                finished=True,
            )
            runs.save(run, folder / f"{run.id}.json")

    return written


FLAT, STEP = [100.0] * 12, [1.0] * 6 + [1.2] * 6


def test_a_cell_that_became_slower(gradmark, kept):
    kept(FLAT, own=STEP)
    called = gradmark("history")
    assert called.code == 0
    assert called.out.splitlines()[4:7] == [
        "  w3@e  12 runs  100 ns → 120 ns (+20.0 %)",
        f"    +20.0 % from 2026-01-07T00:00:00+00:00 on (run run06, commit {'0' * 12})",
        "  w4@e  12 runs  100 ns → 100 ns (+0.0 %)",
    ]


def test_a_plot_stands_below_the_lines(gradmark, kept, monkeypatch):
    monkeypatch.setenv("COLUMNS", "57")
    kept(FLAT, own=STEP)
    assert gradmark("history", "w[34]").out.splitlines()[4:] == [
        "",
        "e: total, times that of the first run",
        "1.20 │                        o   o   o   o   o   o",
        "     │",
        "     │",
        "     │",
        "1.11 │",
        "     │",
        "     │",
        "     │",
        "     │",
        "1.00 │o   o   o   o   o   o   x   x   x   x   x   x",
        "     └─────────────────────────────────────────────",
        "                              ^",
        "      2026-01-01                         2026-01-12",
        "      o w3   x w4",
        "^ a new level begins: 2026-01-07",
    ]


@pytest.mark.parametrize(
    ("primals", "cause"), [(True, "the machine: functions"), (False, "the machine, or the engine")]
)
def test_what_moves_everything_accuses_no_cell(gradmark, kept, primals, cause):
    slower = [100.0 * x for x in STEP]
    kept(slower, primals=slower if primals else None)
    lines = gradmark("history").out.splitlines()
    assert lines[1].startswith("  together on e: +20.0 % from 2026-01-07T00:00:00+00:00 on (run run06")
    assert cause in lines[1]
    assert not any(line.startswith("    ") for line in lines[: lines.index("")])


def test_unlike_machines_are_separate_series(gradmark, kept):
    kept(FLAT, cpu="Z80")
    kept([200.0] * 12, cpu="6502")
    found = json.loads(gradmark("history", "w1", "--json").out)
    assert [(s["cell"], len(s["points"]), s["machine"].split(",")[0]) for s in found["series"]] == [
        ("w1@e", 12, "6502"),
        ("w1@e", 12, "Z80"),
    ]
    assert found["together"] == []


def test_since_and_a_selection(gradmark, kept):
    kept(FLAT)
    found = json.loads(gradmark("history", "w[12]", "--since", "2026-01-10", "--json").out)
    assert [[point["run"] for point in s["points"]] for s in found["series"]] == [["run09", "run10", "run11"]] * 2
    assert gradmark("history", "other").out.startswith("no cell of that name")


def test_a_damaged_file_is_named_and_left_out(gradmark, kept, tmp_path):
    kept(FLAT)
    (tmp_path / ".gradmark" / "runs" / "x.json").write_text("{")
    called = gradmark("history", "w1")
    assert called.code == 0
    assert "left out: .gradmark/runs/x.json is not a run file, or is damaged" in called.err


def test_without_runs(gradmark):
    called = gradmark("history", "--since", "2026-01-10")
    assert (called.code, called.err) == (
        2,
        "gradmark: no run in .gradmark/runs since 2026-01-10; `gradmark run` makes one\n",
    )
