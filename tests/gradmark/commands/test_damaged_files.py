"""Damaged files as a user meets them: one line that names the file, exit code 2, and all others go on."""

import os
import shutil
from pathlib import Path

import pytest

from gradmark.commands import report

RUNS = Path(__file__).parents[2] / "data" / "runs"
DAMAGE = {
    "invalid UTF-8": lambda data: data.replace(b'"cpu":"', b'"cpu":"\xff', 1),
    "empty block_ns": lambda data: data.replace(b'"block_ns":[', b'"block_ns":[],"x":[', 1),
    "bad started": lambda data: data.replace(b'"started":"2026', b'"started":"x', 1),
    "deep nesting": lambda data: data.replace(b'"verb":', b'"x":' + b"[" * 50_000 + b"]" * 50_000 + b',"verb":', 1),
    "number out of range": lambda data: data.replace(b'"harness_ns":', b'"harness_ns":1e999,"x":', 1),
    "pilots that are missing": lambda data: data.replace(b'"core":[[', b'"core":[],"x":[[', 1),
    "no text": lambda data: b"\x00" * 100,
    "nothing": lambda data: b"",
}


@pytest.fixture(params=DAMAGE)
def store(request, tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    shutil.copy(RUNS / "format-3.jsonl", folder / "20261101T000000-aaaaaa.jsonl")
    whole = (RUNS / "format-4.jsonl").read_bytes()
    damaged = DAMAGE[request.param](whole)
    assert damaged != whole
    (folder / "20261201T000000-bbbbbb.jsonl").write_bytes(damaged)
    return folder


def test_history_leaves_it_out_and_says_so(gradmark, store):
    """Seen: a traceback for all runs."""
    called = gradmark("history", "--store", store)
    assert called.code == 0
    assert "poly/n=100@tapegrad  1 run" in called.out
    (line,) = called.err.splitlines()
    assert line.startswith(f"left out: {store / '20261201T000000-bbbbbb.jsonl'} is ")
    assert "the file was not changed" in line


def test_list_goes_on(gradmark, store):
    called = gradmark("list", "runs", "--store", store)
    assert (called.code, called.err) == (0, "")
    assert "poly, matmul on " in called.out


def test_what_names_it_is_refused(gradmark, store):
    path = store / "20261201T000000-bbbbbb.jsonl"
    before = path.read_bytes()
    for arguments in (["compare", "20261101", "20261201"], ["report", "20261201"], ["run", "--resume", path]):
        called = gradmark(*arguments, "--store", store)
        assert (called.code, called.out) == (2, "")
        (line,) = called.err.splitlines()
        assert line.startswith(f"gradmark: {path} is ")
    assert path.read_bytes() == before


def test_a_report_of_several_leaves_it_out(gradmark, store, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(report, "write", lambda runs, *_: shown.extend(runs))  # a page takes a third of a second
    called = gradmark("report", "20261101", "20261201", "--store", store, "-o", tmp_path / "page.html")
    assert (called.code, len(shown)) == (0, 1)
    (line,) = called.err.splitlines()
    assert line.startswith(f"left out: {store / '20261201T000000-bbbbbb.jsonl'} is ")


@pytest.mark.skipif(os.name == "nt", reason="Windows has none")
def test_a_pipe_in_the_folder_is_not_waited_for(gradmark, tmp_path):
    """Seen: `history` hung for ever."""
    shutil.copy(RUNS / "format-3.jsonl", tmp_path / "20261101T000000-aaaaaa.jsonl")
    os.mkfifo(tmp_path / "20261201T000000-bbbbbb.jsonl")
    called = gradmark("history", "--store", tmp_path)
    assert called.code == 0
    assert called.err.startswith(f"left out: {tmp_path / '20261201T000000-bbbbbb.jsonl'} cannot be read: it is a pipe")


@pytest.mark.parametrize(
    "data", [b"\xff", b'{"format_version": 1, "environment": {"cpu": "\xe9"}}', b"[" * 100_000, b""]
)
def test_a_baseline_that_cannot_be_read_is_no_regression(gradmark, data):
    """Seen: exit code 1."""
    Path("gradmark-baseline.json").write_bytes(data)
    for arguments in (["check", "expression"], ["baseline", "show"], ["baseline", "update", "expression"]):
        called = gradmark(*arguments)
        assert (called.code, called.out) == (2, "")
        assert called.err.startswith("gradmark: gradmark-baseline.json is not a baseline, or is damaged: ")
        assert len(called.err.splitlines()) == 1


@pytest.mark.parametrize("data", [b"tool = 1", b"a = '\xff'", b"a = " + b"[" * 5000, b"[tool]\ngradmark = 1"])
def test_a_configuration_that_cannot_be_read(gradmark, data):
    Path("pyproject.toml").write_bytes(data)
    called = gradmark("check")
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith("gradmark: ")
    assert "pyproject.toml" in called.err
    assert len(called.err.splitlines()) == 1


@pytest.mark.skipif(os.name == "nt", reason="file names are text there")
def test_what_was_typed_is_no_text(gradmark):
    """Seen: a traceback, because no run file can hold such an argument."""
    called = gradmark("run", "expression", "-e", "null", "--store", "caf\udce9")
    assert called.code == 2
    assert "a run file cannot hold this, because it could not be read back: Expected text that UTF-8 has" in called.err
