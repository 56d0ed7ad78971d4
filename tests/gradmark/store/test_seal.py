"""The seal: this user's key makes it, and nobody else's."""

import os
import stat

import msgspec
import pytest

from gradmark.records import Cell, Environment, Run, Settings
from gradmark.store import journal, runs, seal


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_seal_holds_for_its_text_and_its_key(state, monkeypatch, tmp_path):
    sealed = seal.seal(b"text")
    assert seal.holds(b"text", sealed)
    assert not seal.holds(b"texts", sealed)
    assert not seal.holds(b"text", "")
    assert not seal.holds(b"text", "ü")
    assert seal.seal(b"text") == sealed
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "stranger"))
    assert not seal.holds(b"text", sealed)
    assert seal.seal(b"text") != sealed


def test_the_key_is_for_its_owner_alone(state):
    seal.seal(b"")
    assert seal.key_file() == state / "gradmark" / "key"
    assert stat.S_IMODE(seal.key_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(seal.key_file().parent.stat().st_mode) == 0o700
    assert os.listdir(seal.key_file().parent) == ["key"]


def test_looking_makes_no_key(state):
    assert not seal.holds(b"text", "x" * 64)
    assert not state.exists()


def test_where_no_key_can_be_kept_nothing_is_sealed(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert seal.seal(b"text") == ""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "gradmark").mkdir()
    (tmp_path / "gradmark" / "key").write_bytes(b"")  # cut short
    assert seal.seal(b"text") == ""
    assert not seal.holds(b"text", "")


@pytest.fixture
def path(state, tmp_path):
    here = Environment(cpu="c", cores=1, memory_bytes=1, os="o", python="p", packages={})
    run = Run(
        id="r",
        started="2026-11-16T14:08:14+00:00",
        environment=here,
        settings=Settings(),
        measurements=[],
        arguments=["mine.py"],
        planned=[Cell(engine="null", workload="f", suite="s", file="/mine.py")],
    )
    with journal.Journal.begin(run, tmp_path) as keep:
        return keep.path


def test_a_run_file_is_sealed_when_it_is_begun(path):
    assert journal.begun_here(path)
    with journal.Journal.resume(path):
        assert journal.begun_here(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"mine.py"', b'"evil.py"'),
        (b'"/mine.py"', b'"/evil.py"'),
        (b'"engine":"null"', b'"engine":"os:x"'),
        (b'"verb":"run"', b'"verb":"check"'),
    ],
)
def test_a_change_of_what_is_run_breaks_the_seal(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    runs.load(path)  # it still opens
    assert not journal.begun_here(path)


def test_files_without_a_seal(path, tmp_path):
    document = tmp_path / "x.json"
    runs.save(runs.load(path), document)
    assert not journal.begun_here(document)
    first, second, *_ = path.read_bytes().split(b"\n")
    plain = msgspec.json.decode(second)
    del plain["seal"]
    path.write_bytes(first + b"\n" + msgspec.json.encode(plain) + b"\n")
    runs.load(path)
    assert not journal.begun_here(path)
