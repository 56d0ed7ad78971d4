"""CUDA's timer on a driver that is made up: what it is asked, and what becomes of the answers."""

import ctypes
from types import SimpleNamespace

import pytest

from gradmark.errors import GradmarkError
from gradmark.measure.worker.device import cuda, timers
from gradmark.measure.worker.device.cuda import CudaTimer, Driver, NoDriverError
from gradmark.measure.worker.device.stopwatch import Stopwatch

L2_BYTES = 50 << 20
# As cuda.h declares them.
ARGUMENTS = {
    "cuInit": 1, "cuDeviceGet": 2, "cuDevicePrimaryCtxRetain": 2, "cuCtxSetCurrent": 1, "cuDeviceGetAttribute": 3,
    "cuEventCreate": 2, "cuEventRecord": 2, "cuEventQuery": 1, "cuEventSynchronize": 1, "cuEventElapsedTime": 3,
    "cuEventDestroy_v2": 1, "cuMemAlloc_v2": 2, "cuMemFree_v2": 1, "cuMemsetD32Async": 4, "cuMemcpyDtoDAsync_v2": 4,
    "cuMemcpyHtoD_v2": 3,
    "cuCtxSynchronize": 0, "cuGetErrorString": 2,
}  # fmt: skip


class FakeDriver:
    """A device that works at 1 TB/s and knows what time it is; the host takes no time."""

    def __init__(self):
        self.now_ms, self.marks, self.handles, self.alive = 0.0, {}, 0, {}
        self.fails, self.room = {}, 100  # arrays that fit in memory

    def __getattr__(self, name):
        if name not in ARGUMENTS:
            raise AttributeError(name)

        def call(*arguments):
            assert len(arguments) == ARGUMENTS[name], name
            if name in self.fails:
                return self.fails[name]
            return getattr(self, f"on_{name}", lambda *_: 0)(*arguments) or 0

        return call

    def on_cuDeviceGetAttribute(self, value, attribute, _device):  # noqa: N802
        assert attribute == 38
        value._obj.value = L2_BYTES

    def on_cuEventCreate(self, handle, _flags):  # noqa: N802
        self.handles += 1
        handle._obj.value = self.handles

    def on_cuEventRecord(self, handle, stream):  # noqa: N802
        assert stream.value == 1  # the legacy default stream
        self.marks[handle.value] = self.now_ms

    def on_cuEventElapsedTime(self, value, first, second):  # noqa: N802
        value._obj.value = self.marks[second.value] - self.marks[first.value]

    def on_cuMemAlloc_v2(self, pointer, size):  # noqa: N802
        if len(self.alive) == self.room:
            return 2
        pointer._obj.value = 4096 + len(self.alive)
        self.alive[pointer._obj.value] = size.value
        return 0

    def on_cuMemFree_v2(self, pointer):  # noqa: N802
        del self.alive[pointer.value]

    def on_cuMemsetD32Async(self, _pointer, number, words, _stream):  # noqa: N802
        assert number.value == 0
        self.now_ms += 4 * words.value / 1e9

    def on_cuMemcpyDtoDAsync_v2(self, _target, _source, size, _stream):  # noqa: N802
        self.now_ms += 2 * size.value / 1e9

    def on_cuGetErrorString(self, _code, said):  # noqa: N802
        said._obj.value = b"out of memory"


@pytest.fixture
def driver(monkeypatch):
    fake = FakeDriver()
    monkeypatch.setattr(cuda.ctypes, "CDLL", lambda _name: fake)
    monkeypatch.setattr(cuda, "_cublas", lambda: None)
    monkeypatch.setattr(cuda, "device_clock", lambda _name: None)
    return fake


def test_a_flush_writes_more_than_the_last_cache(driver):
    timer = CudaTimer()
    begin = timer.mark()
    timer.flush()
    assert timer.flushed_bytes == 256 << 20 >= 4 * L2_BYTES
    assert timer.elapsed_ns(begin, timer.mark()) == pytest.approx(timer.flushed_bytes / 1e3, rel=1e-6)  # at 1 TB/s


def test_calls_between_marks_are_what_the_device_took(driver):
    def work():
        driver.now_ms += 0.25

    watch = Stopwatch(CudaTimer())
    cold = watch.cold((work,), lambda: None, 4, 8, 0.0)
    assert cold.device_ns == pytest.approx([250e3] * len(cold.device_ns), rel=1e-6)
    assert all(before == pytest.approx(268_435.456) == after for before, after in cold.clock_ns)  # the flush itself


def test_roofs_are_measured_once_and_give_their_memory_back(driver):
    timer = CudaTimer()
    assert timer.roofs("float32") == {"bytes": pytest.approx(1e12, rel=1e-6)}
    after = driver.now_ms
    assert timer.roofs("float32") == timer.roofs("float32")
    assert (driver.now_ms, driver.alive) == (after, {})


def test_a_device_without_room_has_no_roof(driver):
    timer = CudaTimer()
    driver.fails["cuMemAlloc_v2"] = 2
    assert timer.roofs("float32") == {}
    with pytest.raises(GradmarkError, match=r"CUDA: cuMemAlloc_v2 failed: out of memory \(2\)"):
        timer.flush()


class FakeCublas:
    """A library that multiplies at 10 TFLOP/s, and counts the handles that are not destroyed."""

    def __init__(self, driver):
        self.driver, self.handles, self.fails = driver, 0, 0

    def cublasCreate_v2(self, handle):  # noqa: N802
        self.handles += 1
        handle._obj.value = self.handles
        return 0

    def cublasSetStream_v2(self, _handle, stream):  # noqa: N802
        assert stream.value == 1
        return 0

    def cublasGemmEx(self, _handle, *arguments):  # noqa: N802
        self.driver.now_ms += 2 * 4096**3 / 10e12 * 1e3
        assert len(arguments) == 18
        return self.fails

    def cublasDestroy_v2(self, _handle):  # noqa: N802
        self.handles -= 1
        return 0


@pytest.mark.parametrize("room", [0, 1, 2, 3])
def test_a_product_needs_room_for_three_arrays(driver, monkeypatch, room):
    blas = FakeCublas(driver)
    monkeypatch.setattr(cuda, "_cublas", lambda: blas)
    timer = CudaTimer()
    monkeypatch.setattr(timer, "_copy", lambda: None)
    driver.room = room
    assert timer.roofs("float32") == ({"flops": pytest.approx(10e12, rel=1e-3)} if room == 3 else {})
    assert (driver.alive, blas.handles) == ({}, 0)


def test_a_copy_needs_room_for_two_arrays(driver):
    driver.room = 1
    assert CudaTimer().roofs("float32") == {}
    assert driver.alive == {}


@pytest.mark.parametrize("function", ["cuMemcpyDtoDAsync_v2", "cuMemcpyHtoD_v2", "cuEventElapsedTime", "gemm"])
def test_a_roof_that_fails_gives_everything_back(driver, monkeypatch, function):
    blas = FakeCublas(driver)
    monkeypatch.setattr(cuda, "_cublas", lambda: blas)
    if function == "gemm":
        blas.fails = 13
    else:
        driver.fails[function] = 700
    kinds = {"cuMemcpyDtoDAsync_v2": ["flops"], "cuMemcpyHtoD_v2": ["bytes"], "gemm": ["bytes"]}
    assert list(CudaTimer().roofs("float64")) == kinds.get(function, [])
    assert (driver.alive, blas.handles) == ({}, 0)


def test_a_mark_that_is_not_reached(driver):
    timer = CudaTimer()
    mark = timer.mark()
    assert timer.reached(mark)
    driver.fails["cuEventQuery"] = 600
    assert not timer.reached(mark)
    driver.fails["cuEventQuery"] = 700
    with pytest.raises(GradmarkError, match="cuEventQuery failed"):
        timer.reached(mark)


def test_without_the_driver_the_hosts_clock_must_do(monkeypatch):
    def missing(_name):
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(NoDriverError, match="CUDA's driver cannot be loaded: libcuda"):
        Driver(0)
    prepared = SimpleNamespace(
        session=SimpleNamespace(device_name="cuda", timer=None), cell=SimpleNamespace(device="cuda", engine="e")
    )
    timers._of_cuda.cache_clear()
    assert timers.timer_of(prepared) is None
    monkeypatch.undo()
    assert timers._of_cuda.cache_info().currsize == 0  # where there is a device, the next row of this process has it
