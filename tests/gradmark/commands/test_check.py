"""The gate as a user has it: a baseline, a check, and what has become worse."""

import json
import shutil
from pathlib import Path

import pytest

FILE = Path("gradmark-baseline.json")


@pytest.fixture(scope="module")
def written(tmp_path_factory, started):
    """A folder with a baseline of two workloads of the scalar suite and its run, counted once for all tests."""
    folder = tmp_path_factory.mktemp("written")
    process = started("baseline", "update", "expression", "reuse", "-e", "tapegrad", cwd=folder)
    out, err = process.communicate()
    assert (process.returncode, out) == (0, "gradmark-baseline.json: 3 cells, 3 changed; commit it\n"), err
    return folder


@pytest.fixture
def kept(gradmark, written, tmp_path):
    """They are in the current folder."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return FILE


def edited(change):
    found = json.loads(FILE.read_text())
    change(found)
    FILE.write_text(json.dumps(found))


@pytest.mark.slow
def test_unchanged_and_written_again(gradmark, kept):
    called = gradmark("check", "expression", "reuse")
    assert (called.code, called.out) == (0, "pass against gradmark-baseline.json: 3 cells pass (18 metrics)\n")
    before = FILE.read_bytes()
    assert gradmark("baseline", "update", "expression").out == "gradmark-baseline.json: 3 cells, 0 changed; commit it\n"
    assert FILE.read_bytes() == before
    shown = gradmark("baseline", "show")
    assert shown.out.splitlines()[0].startswith("expression@tapegrad: allocations 0, gradient_error 7.6e-17, ")


@pytest.mark.slow
def test_worse_better_new_vanished_and_elsewhere(gradmark, kept, tmp_path, monkeypatch):
    def change(found):
        cells = found["cells"]
        cells["expression@tapegrad"]["metrics"]["tape_instructions"] = 2
        cells["reuse@tapegrad:fresh"]["metrics"]["tape_instructions"] = 99
        cells["gone@tapegrad"] = cells.pop("reuse@tapegrad")
        found["environment"]["python"] = "CPython 2.7"

    edited(change)
    (tmp_path / "pyproject.toml").write_text('[tool.gradmark]\nselect = ["expression", "reuse"]\n')
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    called = gradmark("check", "--format", "junit", "--output", "junit.xml")
    assert called.code == 1
    lines = called.out.splitlines()
    assert lines[0].startswith("fail         expression@tapegrad tape_instructions: 2 → 3 (+50.0 %)")
    assert lines[1].startswith("inconclusive gone@tapegrad status: in the baseline, but not measured")
    assert lines[2].startswith("improved     reuse@tapegrad:fresh tape_instructions: 99 → 14 (-85.9 %)")
    assert lines[3].startswith("new          reuse@tapegrad: not in the baseline")
    assert lines[4].startswith("note         python: CPython 2.7 in the baseline, CPython 3.")
    assert lines[5].startswith("note         not compared because of that: allocations, least_allocations, peak_bytes")
    assert Path("junit.xml").read_text().count("<failure") == 1
    assert (tmp_path / "summary.md").read_text().startswith("### ❌ gradmark: fail")


@pytest.mark.slow
def test_a_faulty_engine_fails(gradmark, kept):
    edited(lambda found: found.update(cells={
        name.replace("@tapegrad", "@faults.engines:Allocates"): cell for name, cell in found["cells"].items()
    }))  # fmt: skip
    called = gradmark("check", "expression", "-e", "faults.engines:Allocates")
    assert called.code == 1
    assert "fail         expression@faults.engines:Allocates allocations: 0 → " in called.out


@pytest.fixture
def old(kept):
    """The same baseline as it was written before rows had one spelling."""
    edited(lambda found: found.update(cells={
        name.replace("@", "/float64/cpu@"): cell for name, cell in found["cells"].items()
    }))  # fmt: skip
    return FILE.read_bytes()


@pytest.mark.slow
def test_a_baseline_with_old_names_still_holds(gradmark, old):
    assert (
        gradmark("check", "expression", "reuse").out
        == "pass against gradmark-baseline.json: 3 cells pass (18 metrics)\n"
    )
    edited(lambda found: found["cells"]["expression/float64/cpu@tapegrad"]["metrics"].update(tape_instructions=2))
    called = gradmark("check", "expression")
    assert called.code == 1
    assert called.out.startswith("fail         expression@tapegrad tape_instructions: 2 → 3 (+50.0 %)")


@pytest.mark.slow
def test_renewing_a_baseline_with_old_names_loses_and_doubles_nothing(gradmark, old):
    assert gradmark("baseline", "update", "expression").out == "gradmark-baseline.json: 3 cells, 0 changed; commit it\n"
    assert sorted(json.loads(FILE.read_text())["cells"]) == [
        "expression@tapegrad", "reuse/float64/cpu@tapegrad", "reuse/float64/cpu@tapegrad:fresh",
    ]  # fmt: skip
    gradmark("baseline", "update", "expression", "reuse")
    assert sorted(json.loads(FILE.read_text())["cells"]) == [
        "expression@tapegrad", "reuse@tapegrad", "reuse@tapegrad:fresh",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "there is no gradmark-baseline.json; make one with `gradmark baseline update`"),
        (["check", "--budget", "tmie=3%"], "--budget tmie=3% has 'tmie', which is not a metric; choose from: time"),
        (["check", "pol"], "there is no gradmark-baseline.json"),
        (["baseline", "show"], "there is no gradmark-baseline.json"),
        (["baseline", "update", "-e", "tapgrad"], "no engine is called 'tapgrad'; did you mean tapegrad"),
    ],
)
def test_wrong_usage(gradmark, arguments, message):
    called = gradmark(*arguments)
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith(f"gradmark: {message}")


def test_a_damaged_baseline_is_refused_and_untouched(gradmark):
    FILE.write_text("{")
    assert gradmark("baseline", "update", "expression").code == 2
    assert FILE.read_text() == "{"


@pytest.mark.slow
def test_each_cell_is_counted_in_three_processes(gradmark, kept):
    from gradmark.store import runs

    (path,) = runs.FOLDER.glob("*.jsonl")
    run = runs.load(path)
    assert [measurement.inspections for measurement in run.measurements] == [3, 3, 3]
    assert {m.cell.engine: m.counts["tape_instructions"] for m in run.measurements} == {
        "tapegrad": [14, 14, 14], "tapegrad:fresh": [14, 14, 14],
    }  # fmt: skip
    assert run.finished
    assert all("scatter" not in cell for cell in json.loads(kept.read_text())["cells"].values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "code", "line"),
    [
        ("Raises", 1, "fail         expression@faults.engines:Raises status: new and failing: error: "),
        ("Crash", 1, "fail         expression@faults.engines:Crash status: new and failing: crash: "),
        (
            "WrongGradient",
            1,
            "fail         expression@faults.engines:WrongGradient gradient_error: n/a → 1.0e-06: new and failing"
            ": wrong-gradient: the gradient is off by 1.0e-06 relative",
        ),
        ("Unsupported", 0, "new          expression@faults.engines:Unsupported: not in the baseline; "),
        ("Faulty", 0, "new          expression@faults.engines:Faulty: not in the baseline; "),
    ],
)
def test_a_row_that_the_baseline_does_not_know_must_work(gradmark, kept, engine, code, line):
    called = gradmark("check", "expression", "-e", f"faults.engines:{engine}")
    assert called.code == code
    assert called.out.startswith(line)


@pytest.mark.slow
def test_an_engine_that_leaks_as_before_passes_and_is_named(gradmark):
    leak = ["expression", "-e", "faults.engines:Leak"]
    gradmark("baseline", "update", *leak)
    called = gradmark("check", *leak)
    assert called.code == 0
    assert called.out.startswith("note         1 cell leaks no more than before; worst: 1.")
    edited(lambda found: found["cells"]["expression@faults.engines:Leak"]["metrics"].update(leaked_bytes=1000))
    called = gradmark("check", *leak)
    assert called.code == 1
    assert called.out.startswith("fail         expression@faults.engines:Leak leaked_bytes: 1000 B → 1.0")


@pytest.mark.slow
def test_an_interrupted_baseline_goes_on_where_it_stopped(gradmark, kept):
    """What was counted before the interruption is not counted again, and not lost."""
    from gradmark.store import runs

    (path,) = runs.FOLDER.glob("*.jsonl")
    whole = path.read_bytes().splitlines(keepends=True)
    inspected = [k for k, line in enumerate(whole) if b'"Inspected"' in line]
    path.write_bytes(b"".join(whole[: inspected[4] + 1]))
    kept.unlink()
    assert gradmark("baseline", "update", "--resume", "latest").code == 0
    assert path.read_bytes().splitlines(keepends=True)[: inspected[4] + 1] == whole[: inspected[4] + 1]
    assert [measurement.inspections for measurement in runs.load(path).measurements] == [3, 3, 3]
    assert len(json.loads(kept.read_text())["cells"]) == 3
