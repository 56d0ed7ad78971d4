"""`gradmark doctor`: findings on machines made by hand, and its estimate of noise on known data."""

import os
import shutil
import sys

import pytest

from gradmark.commands import doctor
from gradmark.commands.doctor import aa_error, machine, noise, tools
from gradmark.measure import environment, process
from gradmark.measure.job import Result
from gradmark.records import Phase, Sample


def test_equal_floors_have_no_error():
    assert aa_error([100.0] * 10) == 0.0


def test_one_slow_process_is_not_seen_because_floors_are_compared():
    assert aa_error([100.0] * 9 + [900.0]) == 0.0


def test_two_levels_are_seen():
    # An arm without any of the two fast ones is drawn often, so the 95th percentile is the whole difference.
    assert aa_error([100.0] * 2 + [150.0] * 10) == pytest.approx(0.5)


def test_the_error_is_the_same_each_time():
    floors = [100.0 + k for k in range(12)]
    assert aa_error(floors) == aa_error(floors) > 0


def finding(found, what):
    return next(f for f in found if f.what.startswith(what))


def test_tools_that_are_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "memray", None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = list(tools())
    assert [(f.good, f.what) for f in found] == [(False, "memray: not installed"), (False, "valgrind: not installed")]
    assert all(f.advice for f in found)


def test_tools_that_are_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "memray", sys)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert [f.good for f in tools()] == [True, True]


def test_a_machine_that_is_not_fit(monkeypatch):
    monkeypatch.setattr(environment, "cores", lambda: 1)
    monkeypatch.setattr(environment, "governor", lambda: "powersave")
    monkeypatch.setattr(environment, "virtualisation", lambda: "QEMU")
    monkeypatch.setattr(os, "getloadavg", lambda: (3.0, 0.0, 0.0))
    monkeypatch.setattr(doctor, "_free_bytes", lambda: 1 << 30)
    found = list(machine())
    for what in (
        "cores: 1",
        "load: 3.00",
        "free memory: 1.00 GiB",
        "CPU frequency governor: powersave",
        "virtualisation: QEMU",
    ):
        assert not finding(found, what).good
        assert finding(found, what).advice


def test_a_machine_that_is_fit(monkeypatch):
    monkeypatch.setattr(environment, "cores", lambda: 8)
    monkeypatch.setattr(environment, "governor", lambda: "performance")
    monkeypatch.setattr(environment, "virtualisation", lambda: None)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.1, 0.0, 0.0))
    monkeypatch.setattr(doctor, "_free_bytes", lambda: 8 << 30)
    found = [f for f in machine() if not f.what.startswith("clock")]
    assert [(f.good, f.advice) for f in found] == [(True, "")] * 5


def test_noise_that_cannot_be_measured(monkeypatch):
    monkeypatch.setattr(process, "run", lambda job: Result(status="crash", message="no luck"))
    (found,) = noise(10.0)
    assert (found.good, found.what) == (False, "noise: could not be measured: no luck")


def test_noise_with_too_few_processes(monkeypatch):
    phase = Phase(how="measured", iterations=1, block_ns=[100.0])
    sample = Sample(process=0, phases={"primal": phase}, once_ns={}, harness_ns=1.0, clock_ns=1.0)
    monkeypatch.setattr(process, "run", lambda job: Result(sample=sample))
    ticks = iter([0.0, 0.0, 0.0, 0.5, 2.0])
    monkeypatch.setattr("time.monotonic", lambda: next(ticks))
    (found,) = noise(1.0)
    assert (found.good, found.what) == (False, "noise: only 2 processes in 1 s")
    assert found.advice == "give it more with --seconds"


def test_without_the_noise(gradmark):
    called = gradmark("doctor", "--seconds", "0")
    assert (called.code, called.err) == (0, "")
    marks = [line[:4].strip() for line in called.out.splitlines()]
    assert set(marks) <= {"ok", "look", ""}
    assert "noise" not in called.out
    assert "clock: steps of" in called.out


def test_a_log_has_lines(monkeypatch, capsys):
    """Seen: `measuring noise: 1 processesmeasuring noise: 2 processes`, with control characters between."""
    phase = Phase(how="measured", iterations=1, block_ns=[100.0])
    sample = Sample(process=0, phases={"primal": phase}, once_ns={}, harness_ns=1.0, clock_ns=1.0)
    monkeypatch.setattr(process, "run", lambda job: Result(sample=sample))
    noise(0.01)
    assert capsys.readouterr() == ("", "measuring noise for 0.01 s\n")


def test_lines_fit_into_80_columns(gradmark, monkeypatch):
    long = doctor.Check(False, "word " * 40, "advice " * 40)
    monkeypatch.setattr(doctor, "machine", lambda: [long])
    lines = gradmark("doctor", "--seconds", "0").out.splitlines()
    assert lines[0].startswith("look  word word")
    assert all(line.startswith("      ") for line in lines[1:6])
    assert max(map(len, lines)) <= 80
