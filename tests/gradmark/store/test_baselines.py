import json
import stat
from pathlib import Path

import msgspec
import pytest

from gradmark.errors import StoreError
from gradmark.records import Accuracy, Cell, Environment, Measurement, Memory, Phase, Sample, TapeSize
from gradmark.store.baselines import (
    Baseline,
    Kept,
    Times,
    baseline,
    described,
    joined,
    key,
    load,
    old_key,
    only,
    renamed,
    save,
    scatter,
)

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


def in_processes(*peaks, leaked=(0.0,)):
    """A measurement that several processes inspected."""
    counts = {"peak_bytes": list(peaks), "leaked_bytes": [leaked[k % len(leaked)] for k in range(len(peaks))]}
    return msgspec.structs.replace(measured(peak=peaks[-1]), counts=counts)


def test_what_processes_differ_by_is_kept_beside_the_number(tmp_path):
    path = tmp_path / "b.json"
    save(baseline([in_processes(10_000, 14_000, 12_000)], HERE), path)
    assert '"peak_bytes": 12000, "tape_instructions": 20}, "scatter": {"peak_bytes": 4000}}' in path.read_text()
    kept = load(path).cells["poly@e"]
    assert (kept.metrics["peak_bytes"], kept.scatter) == (12_000, {"peak_bytes": 4000})


def test_what_differs_by_nothing_that_counts_has_no_scatter():
    assert scatter(in_processes(10_000, 10_100, 10_200)) == {}
    assert scatter(in_processes(10_000, 10_000, leaked=(1024.1, 1026.0))) == {}
    assert scatter(in_processes(10_000, 10_000, leaked=(1024.1, 1088.0))) == {"leaked_bytes": 63.9}
    assert scatter(in_processes(10_000, 10_000, leaked=(0.0, 1.0))) == {"leaked_bytes": 1}  # 0 stays 0


def test_a_number_within_its_scatter_is_not_written_again():
    before = baseline([in_processes(10_000, 14_000, 12_000)], HERE)
    assert baseline([in_processes(13_000, 14_000, 13_500)], HERE, before) == before
    assert baseline([in_processes(13_000, 13_000, 13_000)], HERE, before) == before
    more = baseline([in_processes(9_000, 14_000, 13_500)], HERE, before).cells["poly@e"]
    assert (more.metrics["peak_bytes"], more.scatter) == (12_000, {"peak_bytes": 5000})
    moved = baseline([in_processes(20_000, 20_000, 20_000)], HERE, before).cells["poly@e"]
    assert (moved.metrics["peak_bytes"], moved.scatter) == (20_000, {})


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
        ("", "b.json is not a baseline, or is damaged"),
        ('{"format_version": 1, "cells": 3}', "b.json is not a baseline, or is damaged"),
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


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff", "JSON is malformed: invalid character"),
        (
            b'{"format_version": 1, "environment": {"cpu": "\xe9"}, "cells": {}}',
            "Expected UTF-8, got the byte 0xe9 (byte 46)",
        ),
        (b'{"format_version":' + b"[" * 100_000, "got `array`"),
        (b'{"x":' + b"[" * 100_000, "a few levels deep, got too many levels"),
        (b'{"format_version": 1, "environment": {}, "cells": {"c": {"metrics": {"a": 1e999}}}}', "Number out of range"),
        (
            b'{"format_version": 1, "environment": {}, "cells": {"c": {"metrics": {"a": 1e305}}}}',
            "Expected `float` <= 1e+300",
        ),
    ],
)
def test_bytes_that_are_no_baseline(tmp_path, data, reason):
    """Seen: a traceback, whose exit code is that of a regression."""
    path = tmp_path / "b.json"
    path.write_bytes(data)
    with pytest.raises(StoreError) as error:
        load(path)
    assert str(error.value).startswith(f"{path} is not a baseline, or is damaged: ")
    assert reason in str(error.value)
    assert "gradmark baseline update" in str(error.value)


def test_a_baseline_that_could_not_be_read_is_not_written(tmp_path):
    path = tmp_path / "b.json"
    for metrics in ({"a": float("nan")}, {"a": float("inf")}, {"\ud800": 1}, {"a": 10**30}):
        with pytest.raises(StoreError, match="was not written, because it could not be read back: Expected"):
            save(Baseline(environment={}, cells={"c": Kept(metrics=metrics)}), path)
    assert list(tmp_path.iterdir()) == []


def test_a_system_that_does_not_say_its_name():
    assert described(msgspec.structs.replace(HERE, os="", python=" "))["system"] == "unknown"


def test_derivatives_have_names_of_their_own_and_none_from_before():
    gradient = Cell(engine="e", workload="w", suite="s")
    product = msgspec.structs.replace(gradient, derivative="hvp")
    assert (key(gradient), key(product)) == ("w@e", "w/derivative=hvp@e")
    before = Baseline(environment={}, cells={old_key(gradient): Kept()})
    assert renamed(before, [product, gradient]).cells == {"w@e": Kept()}
