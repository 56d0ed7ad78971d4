"""What a machine says of itself."""

import hashlib

import msgspec

from gradmark.fleet import carrying, machine
from gradmark.fleet.machine import CODE, MACHINE, PYTHON, differences
from gradmark.measure import fitness
from gradmark.measure.fitness import Check
from gradmark.records.decoding import decoded


def test_a_machine_describes_itself(monkeypatch):
    monkeypatch.setenv("GRADMARK_MACHINE", '{"instance": "here", "cpu": "Zen 3"}')
    said = decoded(MACHINE, carrying.described())
    assert (said.id, said.environment.cpu, said.measuring) == ("here", "Zen 3", "")
    assert {CODE, PYTHON, "numpy", "msgspec", "gradmark"} <= set(said.versions)
    assert (said.environment.commit, said.environment.dirty) == (None, None)
    assert {condition.what.partition(":")[0] for condition in said.conditions} >= {"clock", "cores", "memray"}


def test_a_machine_that_does_not_know_who_it_is_has_its_address(machine_of):
    assert machine_of("unknown", address="tcp://x:1").id == "unknown at tcp://x:1"
    assert machine_of("", address="tcp://x:1").id == "unknown at tcp://x:1"


def test_the_code_has_a_digest_of_its_own(tmp_path, monkeypatch):
    for package in ("gradmark", "tapegrad"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("x = 1")
    monkeypatch.setattr(machine.gradmark, "__file__", str(tmp_path / "gradmark" / "__init__.py"))
    first = machine._code()
    (tmp_path / "tapegrad" / "compiled.so").write_bytes(b"what is compiled of it may differ")
    assert machine._code() == first
    (tmp_path / "tapegrad" / "__init__.py").write_text("x = 2")
    assert machine._code() != first


def test_modules_are_found_as_workers_find_them(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("x = 1")
    monkeypatch.syspath_prepend(tmp_path)
    digest = hashlib.sha256(b"x = 1").hexdigest()[:12]
    assert machine.modules(["mine", "absent"]) == {"the module mine": digest, "the module absent": "none"}


def test_what_is_equal_is_not_told():
    assert differences([("a", {"x": "1"}), ("b", {"x": "1"})]) == []
    assert differences([("a", {"x": "1"}), ("b", {"x": "2"})]) == ["x: 1 on a, 2 on b"]


def test_only_what_is_needed_makes_a_machine_unfit(monkeypatch):
    checks = [Check(False, "virtualisation: KVM"), Check(False, "free memory: 1 GiB", needed=True)]
    monkeypatch.setattr(fitness, "machine", lambda: checks)
    monkeypatch.setattr(fitness, "tools", list)
    monkeypatch.setattr(fitness, "idle", lambda: Check(False, "busy: 90 %", needed=True))
    assert machine.failing(machine.conditions()) == ["free memory: 1 GiB"]
    assert machine.failing(machine.conditions(at_rest=True)) == ["free memory: 1 GiB", "busy: 90 %"]


def test_a_description_that_makes_no_sense_is_refused():
    import pytest

    from gradmark.records.decoding import UndecodableError

    with pytest.raises(UndecodableError):
        decoded(MACHINE, msgspec.json.encode({"environment": 3}))
