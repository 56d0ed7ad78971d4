"""A CUDA device: memory, streams, kernels from source, launches, graphs. The only file that knows CuPy.

In: source, sizes, addresses. Out: what CuPy, NVRTC and the driver make of them. Nothing here copies to the host or
waits for the device.
"""

import operator
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

import numpy

from tapegrad.compile.cuda import language
from tapegrad.compile.cuda.blas import Blas
from tapegrad.errors import MissingPackageError

# Arithmetic is IEEE's, but a product and a sum may be one instruction, and a quotient of two floats is right to two
# units in the last place: exact ones take as long as everything else in a softmax.
OPTIONS = ("--std=c++17", "--prec-div=false")
EXACT = ("--std=c++17", "--fmad=false")
Memory: TypeAlias = Any


class Device:
    """One CUDA device through CuPy."""

    words = language.WORDS

    def __init__(self, number: int):
        import cupy

        self.xp = cupy
        self.number = number
        self.name = f"cuda:{number}"
        self.processors = cupy.cuda.Device(number).attributes["MultiProcessorCount"]
        # Blocks that may share a row through each other's memory: eight from compute capability 9 on.
        self.most_cluster = 8 if int(cupy.cuda.Device(number).compute_capability) >= 90 else 1
        self._launch = cupy.cuda.driver.launchKernel
        self._current = cupy.cuda.get_current_stream
        self._modules: dict[str, Any] = {}
        self._capturing: dict[int, Any] = {}
        self._blas: Blas | None = None

    # ---- arrays

    # Where an array's numbers are; the same with the number of its device. Getters in C, since microseconds count.
    pointer = staticmethod(operator.attrgetter("data.ptr"))
    place = staticmethod(operator.attrgetter("data.ptr", "data.device_id"))

    def alloc(self, nbytes: int) -> Memory:
        """Memory from CuPy's pool, which takes it back in the order of the stream."""
        return self.xp.cuda.alloc(nbytes)

    def address(self, memory: Memory) -> int:
        """Where memory starts."""
        return memory.ptr  # type: ignore[no-any-return]

    def array(self, memory: Memory, offset: int, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array in memory."""
        return self.xp.ndarray(shape, dtype, memory + offset)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A new array."""
        return self.xp.empty(shape, dtype)

    def flags(self, count: int) -> tuple[Any, int]:
        """Numbers that the device can write and the host can read without waiting, and where they are."""
        memory = self.xp.cuda.alloc_pinned_memory(max(count, 1) * 4)
        flags = numpy.frombuffer(memory, numpy.int32, max(count, 1))
        flags[:] = 0
        return flags, flags.ctypes.data

    def synchronize(self) -> None:
        """Waits until nothing is left to do."""
        self.xp.cuda.Device(self.number).synchronize()

    # ---- kernels

    def functions(self, text: str, names: Sequence[str], exact: bool = False) -> list[int]:
        """Kernels of a source, compiled by NVRTC once in a process; CuPy keeps what was compiled on disk.

        exact: whether each operation is rounded by itself."""
        source = self.words + language.COMMON + text
        if source not in self._modules:
            self._modules[source] = self.xp.RawModule(code=source, options=EXACT if exact else OPTIONS)
        module = self._modules[source]
        return [module.get_function(name).kernel.ptr for name in names]

    def is_current(self) -> bool:
        """Whether CuPy uses this device now."""
        return self.xp.cuda.runtime.getDevice() == self.number  # type: ignore[no-any-return]

    def stream(self) -> int:
        """CuPy's current stream."""
        return self._current().ptr  # type: ignore[no-any-return]

    def launch(self, function: int, blocks: int, threads: int, stream: int, parameters: int) -> None:
        """Queues a kernel; parameters: where the addresses of what it is given are."""
        self._launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, 0)

    @property
    def blas(self) -> Blas:
        """cuBLAS on this device."""
        if self._blas is None:
            self._blas = Blas(self.xp)
        return self._blas

    # ---- graphs

    def captured(self, queue: Callable[[int], None]) -> Callable[[], None]:
        """What is queued on a stream, as a graph that is launched on the current one."""
        current = self.stream()
        if current not in self._capturing:  # one for each: graphs in two streams may run at the same time
            self._capturing[current] = self.xp.cuda.Stream(non_blocking=True)
        stream = self._capturing[current]
        self.blas.prepare(stream.ptr)
        with stream:
            stream.begin_capture()
            try:
                queue(stream.ptr)
            finally:
                graph = stream.end_capture()
        return graph.launch  # type: ignore[no-any-return]

    @contextmanager
    def chosen(self) -> Iterator[None]:
        """A context in which CuPy uses this device."""
        with self.xp.cuda.Device(self.number):
            yield


@cache
def device(number: int) -> Device:
    """A device by its number."""
    return Device(number)


def device_of(array: Any) -> Device:
    """The device that a CuPy array is on."""
    return device(array.device.id)


def usual() -> Device:
    """The current device; an error that says what is missing if there is none."""
    try:
        import cupy
    except ImportError as error:
        raise MissingPackageError(
            "expected CuPy, which computes on a CUDA device, got none; install it with: pip install cupy-cuda13x "
            "(cupy-cuda12x for CUDA 12)"
        ) from error
    try:
        return device(cupy.cuda.Device().id)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise MissingPackageError(f"expected a CUDA device, got none: {error}; use NumPy's arrays here") from error


def tf32_wanted() -> bool:
    """Whether the environment asks for TF32 in products of float32: TAPEGRAD_TF32=1."""
    return os.environ.get("TAPEGRAD_TF32", "") not in ("", "0")
