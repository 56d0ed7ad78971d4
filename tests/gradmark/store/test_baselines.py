import json
import stat
from pathlib import Path

import msgspec
import pytest

from gradmark.errors import StoreError
from gradmark.records import Accuracy, Cell, Environment, Measurement, Memory, Phase, Sample, TapeSize
from gradmark.store.baselines import Baseline, Kept, Times, baseline, joined, key, load, old_key, only, renamed, save

HERE = Environment(
    cpu="Z80", cores=2, memory_bytes=1, os="Linux 6", python="CPython 3.11.7", packages={"numpy": "2.4.6"}, machine="m"
)


def measured(workload="poly", *, peak=12345, error=1.234e-15, total=None, **memory):
    phases = {"total": Phase(how="measured", iterations=1, block_ns=[total or 1.0])}
    sample = Sample(process=0, phases=phases, once_ns={}, harness_ns=1.0, clock_ns=1.0)
    return Measurement(
        cell=Cell(engine="e", workload=workload, suite="s"),
        status="ok",
        memory=Memory(allocations=0.0, leaked_bytes=0.0, peak_bytes=peak, **memory),
        tape=TapeSize(instructions=20),
        accuracy=Accuracy(reference="r", relative_error=error, tolerance=1e-9),
        samples=[sample] if total else [],
    )


def test_the_file_as_it_is(tmp_path):
    path = tmp_path / "b.json"
    save(baseline([measured("z", error=3e-20), measured("a")], HERE), path)
    lines = path.read_text().splitlines()
    assert lines[:6] == [
        "{",
        ' "cells": {',
        '  "a@e": {"metrics": {"allocations": 0, "gradient_error": 1.2e-15, "leaked_bytes": 0, '
        '"peak_bytes": 12300, "tape_instructions": 20}},',
        '  "z@e": {"metrics": {"allocations": 0, "gradient_error": 0, "leaked_bytes": 0, '
        '"peak_bytes": 12300, "tape_instructions": 20}}',
        " },",
        lines[5],
    ]
    assert lines[-2:] == [' "format_version": 1', "}"]
    assert json.loads(lines[5].strip().rstrip(",").split(": ", 1)[1])["python"] == "CPython 3.11"


def test_writing_again_changes_nothing(tmp_path):
    path = tmp_path / "b.json"
    save(baseline([measured("a", total=77.7), measured("b")], HERE), path)
    first = path.read_bytes()
    again = [measured("b", peak=12400), measured("a", error=1.3e-15)]
    save(baseline(again, HERE, load(path)), path)
    assert path.read_bytes() == first


def test_what_counts_is_written():
    before = baseline([measured()], HERE)
    after = baseline([measured(peak=13000, error=5e-15)], HERE, before)
    assert after.cells["poly@e"].metrics == {
        "allocations": 0, "leaked_bytes": 0, "peak_bytes": 13000, "tape_instructions": 20, "gradient_error": 5e-15,
    }  # fmt: skip


def test_times_carry_their_machine_and_stay_until_measured_again():
    before = baseline([measured(total=123.456)], HERE)
    assert before.times.total_ns == {"poly@e": 123}
    assert before.times.machine == "Z80, 2 cores, Linux 6, CPython 3.11.7"
    assert baseline([measured()], HERE, before).times == before.times
    assert baseline([measured(total=99.0)], HERE, before).times.total_ns == {"poly@e": 99}


def test_some_cells_are_renewed():
    before = baseline([measured("a"), measured("b")], HERE)
    renewed = measured("b", peak=99999)
    after = joined(before, baseline([renewed], HERE), [renewed.cell])
    assert [kept.metrics["peak_bytes"] for kept in after.cells.values()] == [12300, 100000]


def test_one_file_has_one_environment():
    before = baseline([measured("a")], HERE)
    there = msgspec.structs.replace(HERE, machine="other")
    with pytest.raises(StoreError, match="renew all of it"):
        joined(before, baseline([measured("b")], there), [measured("b").cell])


def test_a_user_s_file_is_named_from_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cell = Cell(engine="e", workload="w", suite="s", file=str(Path.cwd() / "my" / "w.py"))
    assert key(cell) == "w@e of my/w.py"
    assert key(msgspec.structs.replace(cell, file="/elsewhere/w.py")) == "w@e of w.py"


def test_a_side_is_no_part_of_a_name():
    cell = Cell(engine="e", workload="w", suite="s", side="before")
    assert key(cell) == "w@e"


def test_names_of_today_and_of_before(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scalar = Cell(engine="e", workload="poly", suite="s", params={"n": 10})
    tensor = Cell(engine="e", workload="matmul", suite="t", params={"n": 8}, kind="tensor", dtype="float32")
    double = msgspec.structs.replace(tensor, dtype="float64", device="cuda", file=str(Path.cwd() / "my.py"))
    assert [(key(cell), old_key(cell)) for cell in (scalar, tensor, double)] == [
        ("poly/n=10@e", "poly/n=10/float64/cpu@e"),
        ("matmul/n=8@e", "matmul/n=8/float32/cpu@e"),
        ("matmul/n=8/dtype=float64/device=cuda@e of my.py", "matmul/n=8/float64/cuda@e of my.py"),
    ]


@pytest.fixture
def old():
    """A baseline with the names of before, of three cells and their times."""
    kept = baseline([measured("a", total=1.0), measured("b", total=2.0), measured("c", total=3.0)], HERE)
    return msgspec.structs.replace(
        kept,
        cells={old_key(Cell(engine="e", workload=w, suite="s")): kept.cells[f"{w}@e"] for w in "abc"},
        times=Times(machine="m", total_ns={f"{w}/float64/cpu@e": 1 for w in "abc"}),
    )


def test_an_old_file_is_renewed_whole(old):
    after = baseline([measured("a"), measured("b", peak=99999), measured("c")], HERE, old)
    assert list(after.cells) == ["a@e", "b@e", "c@e"]
    assert [kept.metrics["peak_bytes"] for kept in after.cells.values()] == [12300, 100000, 12300]
    assert list(after.times.total_ns) == ["a@e", "b@e", "c@e"]


def test_one_cell_of_an_old_file_is_renewed(old):
    """None is lost, and none is there under two names."""
    renewed = measured("b", peak=99999)
    after = joined(old, baseline([renewed], HERE, old), [renewed.cell])
    assert {name: kept.metrics["peak_bytes"] for name, kept in after.cells.items()} == {
        "a/float64/cpu@e": 12300,
        "b@e": 100000,
        "c/float64/cpu@e": 12300,
    }
    again = joined(after, baseline([renewed], HERE, after), [renewed.cell])
    assert again == after
    assert list(after.times.total_ns) == ["a/float64/cpu@e", "b@e", "c/float64/cpu@e"]


def test_of_two_names_the_new_one_counts():
    cell = Cell(engine="e", workload="a", suite="s")
    both = Baseline(environment={}, cells={"a/float64/cpu@e": Kept(status="error"), "a@e": Kept()})
    assert renamed(both, [cell]).cells == {"a@e": Kept()}


def test_only_what_was_asked_for(old):
    assert list(only(old, [measured("c").cell, measured("z").cell]).cells) == ["c@e"]


def test_the_committed_file_compares_by_its_old_names():
    """`gradmark-baseline.json` was written before rows had one spelling, and is not rewritten for that."""
    committed = load(Path(__file__).parents[3] / "gradmark-baseline.json")
    poly = Cell(engine="tapegrad", workload="poly", suite="scalar", params={"n": 1000})
    matmul = Cell(
        engine="tapegrad", workload="matmul", suite="tensor", params={"n": 256}, kind="tensor", dtype="float32"
    )
    assert list(only(committed, [poly, matmul]).cells) == ["matmul/n=256@tapegrad", "poly/n=1000@tapegrad"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no b.json; make one with `gradmark baseline update`, and commit it"),
        ("", "b.json is no baseline, or is damaged"),
        ('{"format_version": 1, "cells": 3}', "b.json is no baseline, or is damaged"),
        ('{"format_version": 2}', "b.json has format 2, this gradmark reads up to 1; install a newer gradmark"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("b.json").write_text(text)
    with pytest.raises(StoreError) as error:
        load(Path("b.json"))
    assert str(error.value).startswith(message)


def test_a_folder_that_cannot_be_written(tmp_path):
    found = baseline([measured()], HERE)
    with pytest.raises(StoreError, match="cannot be written"):
        save(found, tmp_path / "none" / "b.json")
    assert stat.S_ISDIR(tmp_path.stat().st_mode)
    assert list(tmp_path.iterdir()) == []
