"""CUDA as it is timed: events, flushes and counters through the driver itself, the same for every engine.

In: the number of a device. Out: a `DeviceTimer` whose marks are events on the legacy default stream. That one waits for
the streams of PyTorch, CuPy and Numba, and they for it; not for those that were made non-blocking, as XLA's are: such
an engine gives its session a `queue`.
"""

import ctypes
import glob
import os
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from gradmark.engines.protocol import DeviceCounts
from gradmark.errors import GradmarkError
from gradmark.measure.worker.device.profiler import Profiler
from gradmark.measure.worker.device_clock import device_clock
from gradmark.records.quantities import RoofKind

# From cuda.h. The legacy default stream has this handle where a null one may mean that of the thread.
LEGACY_STREAM = 1
NOT_READY, L2_CACHE_SIZE = 600, 38
# More than the last cache holds, and long enough to hide a launch: triton's `do_bench` writes as much.
FLUSHED_CACHES, LEAST_FLUSHED_BYTES = 4, 256 << 20
# A copy reads and writes as much; larger ones are no faster on an H200 (4.8 TB/s).
COPIED_BYTES, ROOF_REPEATS = 512 << 20, 5
# Of a product as a roof: large enough for every processor of the device, and a few milliseconds in double precision.
PRODUCT_SIZE = 4096
# From library_types.h and cublas_api.h: the type of the numbers, and how they are multiplied and added.
PRODUCTS = {"float32": (0, 68, 4), "float64": (1, 70, 8)}


class NoDriverError(GradmarkError):
    """There is no CUDA on this machine."""


class Event:
    """An event of the driver, which goes with this object."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.handle = ctypes.c_void_p()
        driver.checked("cuEventCreate", ctypes.byref(self.handle), 0)
        driver.checked("cuEventRecord", self.handle, ctypes.c_void_p(LEGACY_STREAM))

    def __del__(self) -> None:
        self.driver.library.cuEventDestroy_v2(self.handle)


class Driver:
    """The driver's library, and the context that all engines of this process share."""

    def __init__(self, number: int) -> None:
        name = "libcuda.so.1" if os.name != "nt" else "nvcuda.dll"
        try:
            self.library: Any = ctypes.CDLL(name)
        except OSError as error:
            raise NoDriverError(f"CUDA's driver cannot be loaded: {error}") from error
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.checked("cuInit", 0)
        self.checked("cuDeviceGet", ctypes.byref(device), number)
        self.checked("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.checked("cuCtxSetCurrent", self.context)
        cache_bytes = ctypes.c_int()
        self.checked("cuDeviceGetAttribute", ctypes.byref(cache_bytes), L2_CACHE_SIZE, device)
        self.cache_bytes = cache_bytes.value

    def checked(self, function: str, *arguments: Any) -> None:
        """Calls a function of the driver; raises if it fails."""
        code = getattr(self.library, function)(*arguments)
        if code:
            said = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(said))
            text = said.value.decode() if said.value else "an unknown error"
            raise GradmarkError(f"CUDA: {function} failed: {text} ({code})")

    def memory(self, count: int) -> ctypes.c_uint64:
        """So many bytes of the device."""
        pointer = ctypes.c_uint64()
        self.checked("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(count))
        return pointer

    def free(self, *pointers: ctypes.c_uint64) -> None:
        """Gives them back."""
        for pointer in pointers:
            self.checked("cuMemFree_v2", pointer)


class CudaTimer:
    """A `DeviceTimer` of one CUDA device."""

    def __init__(self, number: int = 0) -> None:
        self.driver = Driver(number)
        self.profiler = Profiler()
        self.flushed_bytes = max(FLUSHED_CACHES * self.driver.cache_bytes, LEAST_FLUSHED_BYTES)
        self._clock = device_clock(f"cuda:{number}")
        self._roofs: dict[str, Mapping[RoofKind, float]] = {}

    host_ns = staticmethod(time.perf_counter_ns)

    @cached_property
    def _buffer(self) -> ctypes.c_uint64:
        return self.driver.memory(self.flushed_bytes)

    def mark(self) -> Event:
        """An event."""
        return Event(self.driver)

    def reached(self, mark: Event) -> bool:
        """Whether it has happened."""
        code = self.driver.library.cuEventQuery(mark.handle)
        if code not in (0, NOT_READY):
            self.driver.checked("cuEventQuery", mark.handle)
        return bool(code == 0)

    def elapsed_ns(self, first: Event, second: Event) -> float:
        """CUDA promises steps of half a microsecond; an H200 counts in steps of 32 ns."""
        milliseconds = ctypes.c_float()
        for mark in (first, second):
            self.driver.checked("cuEventSynchronize", mark.handle)
        self.driver.checked("cuEventElapsedTime", ctypes.byref(milliseconds), first.handle, second.handle)
        return 1e6 * milliseconds.value

    def flush(self) -> None:
        """Writes over all that the last cache may hold."""
        words = ctypes.c_size_t(self.flushed_bytes // 4)
        self.driver.checked("cuMemsetD32Async", self._buffer, ctypes.c_uint(0), words, ctypes.c_void_p(LEGACY_STREAM))

    def synchronize(self) -> None:
        """All streams of the context."""
        self.driver.checked("cuCtxSynchronize")

    def clock_ns(self) -> float | None:
        """Of NVML."""
        return self._clock() if self._clock is not None else None

    def count(self, call: Callable[[], Any]) -> DeviceCounts | str:
        """Through CUPTI, for every engine alike."""
        return self.profiler.count(call, self.synchronize)

    def roofs(self, dtype: str) -> Mapping[RoofKind, float]:
        """Once for each dtype in this process."""
        if dtype not in self._roofs:
            reached: dict[RoofKind, float] = {}
            for kind, rate in (("bytes", self._copy()), ("flops", self._product(dtype))):
                if rate is not None:
                    reached[kind] = rate
            self._roofs[dtype] = reached
        return self._roofs[dtype]

    def _fastest_ns(self, call: Callable[[], Any]) -> float:
        taken = []
        for _ in range(ROOF_REPEATS):
            begin = self.mark()
            call()
            taken.append(self.elapsed_ns(begin, self.mark()))
        return min(taken)

    def _copy(self) -> float | None:
        """Bytes per second, read and written; None where it cannot be measured, as where the engine has the memory."""
        held: list[ctypes.c_uint64] = []
        size, stream = ctypes.c_size_t(COPIED_BYTES), ctypes.c_void_p(LEGACY_STREAM)
        try:
            for _ in range(2):
                held.append(self.driver.memory(COPIED_BYTES))
            taken_ns = self._fastest_ns(lambda: self.driver.checked("cuMemcpyDtoDAsync_v2", *held, size, stream))
            return 1e9 * 2 * COPIED_BYTES / taken_ns
        except GradmarkError:
            return None
        finally:
            self.driver.free(*held)

    def _product(self, dtype: str) -> float | None:
        """Operations per second of cuBLAS, with all digits of the dtype; None where it is not installed, or where it
        cannot be measured."""
        cublas, handle = _cublas(), ctypes.c_void_p()
        if cublas is None or dtype not in PRODUCTS or cublas.cublasCreate_v2(ctypes.byref(handle)):
            return None
        held: list[ctypes.c_uint64] = []
        try:
            return self._multiplied(cublas, handle, dtype, held)
        except GradmarkError:
            return None
        finally:
            cublas.cublasDestroy_v2(handle)
            self.driver.free(*held)

    def _multiplied(self, cublas: Any, handle: ctypes.c_void_p, dtype: str, held: list[ctypes.c_uint64]) -> float:
        """The same; adds the memory that it takes to `held`."""
        import numpy as np

        kind, compute, size = PRODUCTS[dtype]
        n = PRODUCT_SIZE
        for _ in range(3):
            held.append(self.driver.memory(size * n * n))
        numbers = np.random.default_rng(0).standard_normal((n, n)).astype(dtype)  # zeros would take less power
        for array in held:
            self.driver.checked(
                "cuMemcpyHtoD_v2", array, numbers.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(numbers.nbytes)
            )
        scalar = ctypes.c_float if dtype == "float32" else ctypes.c_double
        one, zero = scalar(1.0), scalar(0.0)
        a, b, c = (ctypes.c_void_p(array.value) for array in held)

        def multiply() -> None:
            if cublas.cublasGemmEx(
                handle, 0, 0, n, n, n, ctypes.byref(one), a, kind, n, b, kind, n, ctypes.byref(zero), c, kind, n,
                compute, -1,
            ):  # fmt: skip
                raise GradmarkError("cuBLAS cannot multiply")

        cublas.cublasSetStream_v2(handle, ctypes.c_void_p(LEGACY_STREAM))
        return 1e9 * 2 * n**3 / self._fastest_ns(multiply)


def _cublas() -> Any:
    """cuBLAS, as the system has it or as PyTorch, JAX or CuPy brought it; None where nobody did."""
    import sys

    names = ["libcublas.so.13", "libcublas.so.12"]
    for folder in sys.path:
        names += sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcublas.so.1?")))
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None
