"""Calibrations: fixed work before a run times anything, kept in its file."""

import msgspec
import pytest

from gradmark.errors import GradmarkError
from gradmark.measure import calibrating
from gradmark.measure.worker import calibration as worker
from gradmark.records import Phase, Settings
from gradmark.records.calibration import KINDS, Calibration, levels_of, speed


@pytest.mark.slow
def test_each_kind_of_work_is_timed_between_pilots(monkeypatch):
    monkeypatch.setenv("GRADMARK_CALIBRATION_S", "0.01")
    calibration = calibrating.calibrate(Settings())
    assert list(calibration.work) == [kind for kind in KINDS if kind != "copy"]
    assert all(phase.watched and phase.block_ns for phase in calibration.work.values())
    assert msgspec.json.decode(msgspec.json.encode(calibration), type=Calibration) == calibration


def test_none_is_wanted(monkeypatch):
    monkeypatch.setenv("GRADMARK_CALIBRATION_S", "0")
    assert calibrating.calibrate(Settings()) is None


@pytest.mark.parametrize("text", ["long", "-1", "nan", "1e9"])
def test_a_length_that_makes_no_sense(monkeypatch, text):
    monkeypatch.setenv("GRADMARK_CALIBRATION_S", text)
    with pytest.raises(GradmarkError, match="expected seconds from 0 to 60"):
        calibrating.seconds()


def test_a_process_that_gives_none_is_no_error(monkeypatch):
    monkeypatch.setenv("GRADMARK_CALIBRATION_S", "0.01")
    monkeypatch.setattr(calibrating, "COMMAND", ["false"])
    assert calibrating.calibrate(Settings()) is None


def test_kinds_take_turns_and_the_time_is_of_a_thousand_steps():
    asked = []

    def work(steps):
        asked.append(steps)
        return 10 * steps

    work_done = worker.measured({"integer": work, "floating": work}, 0.0)
    assert asked[:2] == [worker.FIRST] * 2
    assert asked[2:] == [worker.BLOCK_NS / 10] * 2
    assert [phase.block_ns for phase in work_done.values()] == [[10_000.0], [10_000.0]]


def test_without_a_driver_nothing_is_copied(monkeypatch):
    def refuse(name):
        raise OSError(name)

    monkeypatch.setattr(worker.ctypes, "CDLL", refuse)
    assert worker.copied(0.1) is None


def of(**blocks):
    work = {kind: Phase(iterations=1, block_ns=[ns]) for kind, ns in blocks.items()}
    return Calibration(started="2026-01-01T00:00:00+00:00", work=work)


def test_the_fastest_of_several_calibrations_counts():
    assert levels_of([of(integer=5.0, memory=9.0), of(integer=7.0, memory=8.0)]) == {"integer": 5.0, "memory": 8.0}
    assert levels_of([]) == {}


def test_speed_is_the_middle_kind_of_those_that_both_know():
    assert speed({"integer": 12.0, "memory": 90.0, "copy": 1.0}, {"integer": 10.0, "memory": 10.0, "floating": 1.0}) > 3
    assert speed({"integer": 12.0}, {"memory": 10.0}) is None
