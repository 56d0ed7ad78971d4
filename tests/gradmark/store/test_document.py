"""Runs as one document: frozen files of formats 1 and 2, and what of them is put into today's words."""

import json
from pathlib import Path

import msgspec
import pytest

from gradmark.errors import StoreError
from gradmark.records import FORMAT_VERSION, Code, Warning
from gradmark.records.metric import numbers
from gradmark.store import document, runs

DATA = Path(__file__).parents[2] / "data" / "runs"


def test_a_run_file_of_format_1():
    """As the first version wrote it, before there were tensors."""
    run = runs.load(DATA / "format-1.json")
    (found,) = run.measurements
    assert (run.format_version, run.verb, run.planned, run.finished) == (1, "run", [], True)
    assert (found.cell.id, found.cell.kind, found.cell.dtype) == ("poly/n=10@tapegrad", "scalar", "float64")
    assert (found.operations, found.shapes, found.flops, found.bytes) == (20, {}, None, None)
    assert numbers(found)["total"].value == 4.0


def test_a_run_file_of_format_2():
    """As the version before this format wrote it: warnings as text, derived times among the samples, no kinds."""
    run = runs.load(DATA / "format-2.json")
    assert (run.format_version, run.settings.processes, run.finished) == (2, 2, False)
    assert [(m.cell.id, m.cell.kind, m.status) for m in run.measurements] == [
        ("expression@tapegrad", "scalar", "ok"),
        ("expression@jax", "scalar", "ok"),
        ("matmul/n=8@tapegrad", "tensor", "ok"),
        ("matmul/n=8/dtype=float64@jax", "tensor", "unsupported"),
    ]
    assert run.planned == [*(m.cell for m in run.measurements), run.planned[-1]]
    assert run.planned[-1].id == "matmul/n=8/dtype=float64@tapegrad"
    warned = run.measurements[1]
    assert warned.warnings == [
        Warning(
            code=Code.OTHER,
            reason="the gradient of expression was not checked: the function has a kink; choose other inputs to have "
            "it checked",
        )
    ]
    (said,) = warned.samples[0].warnings
    assert said.code is Code.OTHER
    assert said.reason.startswith("forward and backward apart take 1.2 µs")
    assert warned.samples[0].phases["backward"].how == "derived"


def test_every_number_of_format_2_is_kept():
    plain = json.loads((DATA / "format-2.json").read_bytes())
    run = runs.load(DATA / "format-2.json")
    for before, now in zip(plain["measurements"], run.measurements, strict=True):
        blocks = [{name: p["block_ns"] for name, p in s["phases"].items()} for s in before.get("samples", [])]
        assert blocks == [{name: p.block_ns for name, p in s.phases.items()} for s in now.samples]
        assert (now.memory is None) == ("memory" not in before)


def test_an_old_run_that_is_saved_again_opens_again(tmp_path):
    run = runs.load(DATA / "format-2.json")
    runs.save(run, tmp_path / "x.json")
    again = runs.load(tmp_path / "x.json")
    assert again.format_version == FORMAT_VERSION
    assert (again.measurements, again.planned) == (run.measurements, run.planned)


def test_a_newer_format(tmp_path):
    with pytest.raises(StoreError, match="has format 99, this gradmark reads up to 6; install a newer gradmark"):
        document.read(b'{"format_version": 99}', tmp_path / "x.json")


def test_fields_that_are_not_known_yet_are_passed_over(tmp_path, complete):
    plain = json.loads(document.packed(complete))
    assert document.read(json.dumps({**plain, "something_new": 1}).encode(), tmp_path) == complete


def test_a_document_that_somebody_indented(tmp_path, complete):
    plain = json.loads(document.packed(complete))
    (tmp_path / "x.json").write_text(json.dumps(plain, indent=2))
    assert runs.load(tmp_path / "x.json") == complete


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("measurements", 5), ("measurements", [5]), ("planned", 5), ("planned", [[]]), ("settings", 5),
        ("environment", []), ("started", "x"), ("id", None),
    ],
)  # fmt: skip
def test_parts_of_an_old_file_that_are_something_else(version, part, value, tmp_path):
    """Seen: `'int' object is not iterable`, in a traceback."""
    plain = json.loads((DATA / f"format-{version}.json").read_bytes())
    path = tmp_path / "x.json"
    path.write_bytes(json.dumps(plain | {part: value}).encode())
    with pytest.raises(
        StoreError, match=r"x.json is not a run file, or is damaged: Expected .* - at `\$.*the file was"
    ):
        runs.load(path)


@pytest.mark.parametrize(
    ("part", "value"), [("samples", 5), ("cell", {"workload": []}), ("warnings", 5), ("shapes", 5)]
)
def test_parts_of_an_old_measurement_that_are_something_else(part, value, tmp_path):
    plain = json.loads((DATA / "format-2.json").read_bytes())
    plain["measurements"][0][part] = value
    path = tmp_path / "x.json"
    path.write_bytes(json.dumps(plain).encode())
    with pytest.raises(StoreError, match="is not a run file, or is damaged: Expected"):
        runs.load(path)


def test_deep_nesting_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b'{"x":' + b"[" * 200_000)
    with pytest.raises(StoreError, match="a few levels deep, got too many levels"):
        runs.load(path)


def test_a_document_that_could_not_be_read_is_not_written(complete, tmp_path):
    wrong = msgspec.structs.replace(complete, arguments=["caf\udce9"])
    with pytest.raises(StoreError, match="could not be read back: Expected text that UTF-8 has, got 'caf"):
        runs.save(wrong, tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []
