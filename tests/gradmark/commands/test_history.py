import json

import msgspec
import pytest

from gradmark.records import Cell, Measurement, Phase, Run, Sample, Settings
from gradmark.report.page.history import history
from gradmark.report.page.material import Material
from gradmark.store import runs


@pytest.fixture
def kept(finished, tmp_path):
    """Writes runs of four workloads, one a day, with these times; workload 3 has a factor of its own."""
    environment = msgspec.structs.replace(runs.load(finished).environment, microcode=None, virtualisation=None)
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


@pytest.mark.slow
def test_a_cell_that_became_slower(gradmark, kept):
    kept(FLAT, own=STEP)
    called = gradmark("history")
    assert called.code == 0
    assert called.out.splitlines()[4:7] == [
        "  w3@e  12 runs  100 ns → 120 ns (+20.0 %)",
        f"    +20.0 % from 2026-01-07T00:00:00+00:00 on (run run06, commit {'0' * 12})",
        "  w4@e  12 runs  100 ns → 100 ns (+0.0 %)",
    ]


def test_one_run_did_not_change(gradmark, kept):
    """Seen: `1 runs  100 ns → 100 ns (+0.0 %)`."""
    kept(FLAT[:1])
    assert gradmark("history", "w3@e").out.splitlines()[1] == "  w3@e  1 run  100 ns"


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
    ("primals", "cause"), [(True, "the machine changed: functions"), (False, "the machine or the engine changed")]
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


def test_a_row_is_selected_and_judged_by_the_company_of_all(gradmark, kept):
    """Alone it would be accused of what all cells of its engine did."""
    kept([100.0 * x for x in STEP])
    found = json.loads(gradmark("history", "w1", "--json").out)
    assert [(s["cell"], s.get("changes", [])) for s in found["series"]] == [("w1@e", [])]
    assert [change["run"] for change in found["together"][0]["changes"]] == ["run06"]


def test_another_metric(gradmark, kept):
    kept(FLAT, own=STEP)
    lines = gradmark("history", "w3", "--metric", "primal").out.splitlines()
    assert lines[1] == "  w3@e  12 runs  50 ns → 50 ns (+0.0 %)"
    called = gradmark("history", "--metric", "speed")
    assert called.code == 2
    assert "Expected a metric, got 'speed', which no kept run has. The metrics are: primal, forward," in called.err


def test_the_page_shows_the_changes_that_the_terminal_lists(gradmark, kept, tmp_path):
    kept(FLAT, own=STEP, cpu="Z80")
    kept([100.0 * x for x in STEP], cpu="6502")
    found = json.loads(gradmark("history", "--json").out)
    listed = {s["cell"]: [c["run"] for c in s["changes"]] for s in found["series"] if s.get("changes")}
    material = Material([runs.load(path) for path in sorted((tmp_path / ".gradmark" / "runs").glob("*.json"))])
    names = {run.id: place for place, run in enumerate(material.runs)}
    drawn = {
        view.keys[0]: series.x for view in history(material).views for series in view.series if series.name == "change"
    }
    assert listed == {"w3@e": ["run06Z80"]}
    assert drawn == {cell: [names[run] for run in changed] for cell, changed in listed.items()}


def test_since_and_a_selection(gradmark, kept):
    kept(FLAT)
    found = json.loads(gradmark("history", "w[12]", "--since", "2026-01-10", "--json").out)
    assert [[point["run"] for point in s["points"]] for s in found["series"]] == [["run09", "run10", "run11"]] * 2
    assert gradmark("history", "other").out.startswith("no kept run has a cell of that name")


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


def test_one_class_of_machines(gradmark, kept):
    kept(FLAT, cpu="6502")
    kept(FLAT, cpu="Z80")
    lines = gradmark("history", "w1@e", "--on", "z80").out.splitlines()
    assert [line for line in lines if line.startswith(("6502", "Z80"))] == [lines[0]]
    called = gradmark("history", "--on", "arm")
    assert called.code == 2
    assert called.err.startswith("gradmark: no run comes from a machine of class 'arm'; choose from: 6502-")


def test_a_level_for_each_version(gradmark, kept):
    kept([100.0] * 6, packages={"e": "1.0"})
    kept([*[100.0] * 6, *[110.0] * 6][6:], packages={"e": "1.1"}, cpu="x")
    assert gradmark("history", "w1@e", "--versions", "--on", "x").out.splitlines()[1:] == [
        "  w1@e",
        "    e 1.1  110 ns  6 runs from 2026-01-01T00:00:00+00:00",
    ]


def test_what_moved_last_night(gradmark, kept):
    kept([*FLAT[:-1], 130.0])
    called = gradmark("history", "--moved")
    first, *_, last = called.out.splitlines()
    assert first.startswith("engine   +30.0 %  e: 5 of 5 rows  on ")
    assert last == "since 2026-01-11T12:00:00: 1 shift in 5 rows on 1 series of machines"
    assert json.loads(gradmark("history", "--moved", "--json").out)["shifts"][0]["whose"] == "engine"
    assert gradmark("history", "--moved", "--versions").code == 2


def test_too_few_nights_to_judge(gradmark, kept):
    kept(FLAT[:2])
    assert gradmark("history", "--moved").out.splitlines() == [
        "since 2026-01-01T12:00:00: no shifts in 0 rows on 1 series of machines",
        "5 rows not judged: fewer than four runs before",
    ]


def test_a_damaged_index_is_named(gradmark, kept, tmp_path):
    kept(FLAT[:3])
    gradmark("history")
    index = tmp_path / ".gradmark" / "runs" / "outlines.index"
    index.write_text(index.read_text().replace('"total":[', '"total":["x",', 1))
    called = gradmark("history")
    assert called.code == 2
    assert called.err.endswith("in a folder, delete outlines.index: it will be rebuilt\n")
