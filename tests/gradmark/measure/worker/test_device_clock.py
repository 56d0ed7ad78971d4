"""The clock of a GPU, on an NVML that says what it is told to."""

import sys
from types import SimpleNamespace

import pytest

from gradmark.measure.worker.device_clock import device_clock


@pytest.fixture
def nvml(monkeypatch):
    asked = []

    def clock_info(handle, clock):
        asked.append((handle, clock))
        return 1980

    fake = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: f"gpu {index}",
        nvmlDeviceGetClockInfo=clock_info,
        NVML_CLOCK_SM="sm",
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake, asked


def test_a_pilot_is_as_long_as_so_many_cycles(nvml):
    clock = device_clock("cuda")
    assert clock() == pytest.approx(20_000 / 1.98)
    assert nvml[1][-1] == ("gpu 0", "sm")


def test_the_second_gpu(nvml):
    device_clock("cuda:1")()
    assert nvml[1][-1] == ("gpu 1", "sm")


def test_a_cpu_has_none(nvml):
    assert device_clock("cpu") is None
    assert nvml[1] == []


def test_without_the_package_or_the_driver_there_is_none(nvml, monkeypatch):
    def no_driver():
        raise RuntimeError("driver not loaded")

    nvml[0].nvmlInit = no_driver
    assert device_clock("cuda") is None
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert device_clock("cuda") is None
