"""The profiler, on bindings of CUPTI that are made up: what is counted is what they say, or why they say nothing."""

import sys
from enum import IntEnum
from types import ModuleType, SimpleNamespace

import pytest

from gradmark.engines.protocol import DeviceCounts
from gradmark.measure.worker.device.profiler import Profiler


class Kind(IntEnum):
    MEMCPY = 1
    MEMSET = 2
    CONCURRENT_KERNEL = 10


class FakeCupti(ModuleType):
    """Records what is launched while it is enabled."""

    ActivityKind = Kind

    class cuptiError(Exception):  # noqa: N801  as the bindings call it
        pass

    def __init__(self):
        super().__init__("cupti.cupti")
        self.enabled, self.pending = set(), []

    def activity_register_callbacks(self, asked, given):
        assert asked()[0] > 0
        self.given = given

    def activity_enable(self, kind):
        self.enabled.add(kind)

    def activity_disable(self, kind):
        self.enabled.discard(kind)

    def activity_flush_all(self, flag):
        assert flag == 1
        self.given(self.pending)
        self.pending = []

    def ran(self, kind, start, end, size=0):
        if kind in self.enabled:
            self.pending.append(SimpleNamespace(kind=int(kind), start=start, end=end, bytes=size))


@pytest.fixture
def cupti(monkeypatch):
    fake, package = FakeCupti(), ModuleType("cupti")
    package.cupti = fake
    monkeypatch.setitem(sys.modules, "cupti", package)
    monkeypatch.setitem(sys.modules, "cupti.cupti", fake)
    return fake


def test_kernels_copies_and_fills(cupti):
    def work():
        cupti.ran(Kind.CONCURRENT_KERNEL, 100, 110)
        cupti.ran(Kind.CONCURRENT_KERNEL, 105, 125)  # beside the first
        cupti.ran(Kind.MEMCPY, 130, 140, 4096)
        cupti.ran(Kind.MEMSET, 150, 151, 64)

    profiler = Profiler()
    cupti.ran(Kind.CONCURRENT_KERNEL, 0, 1)  # before: nobody asked
    for _ in range(2):  # each time only what ran meanwhile
        assert profiler.count(work, lambda: None) == DeviceCounts(2, 30.0, 1, 4096, 36.0)
    assert cupti.enabled == set()


def test_without_bindings_there_is_a_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupti", None)
    said = Profiler().count(lambda: None, lambda: None)
    assert said.startswith("CUPTI's bindings are not installed (")
    assert said.endswith("): pip install cupti-python")


def test_a_profiler_that_is_refused_says_so(cupti):
    def refuse(kind):
        raise cupti.cuptiError("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")

    cupti.activity_enable = refuse
    profiler = Profiler()
    for _ in range(2):
        assert profiler.count(lambda: None, lambda: None) == "CUPTI fails: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
