"""Products by cuBLAS, called directly: CuPy refuses to call it while a graph is captured.

In: addresses, sizes and how the matrices lie. Out: a product that is queued on a stream. The library is the one that
CuPy has loaded. Its memory to work in is ours, one piece for each stream, so that a graph may hold it.
"""

import ctypes
import threading
from typing import Any

import numpy

# What cuBLAS is recommended to have on a Hopper device; less elsewhere does no harm.
WORKSPACE_BYTES = 32 << 20
# From cublas_api.h and library_types.h
OPERATION = {"N": 0, "T": 1}
REAL = {"float32": 0, "float64": 1}
COMPUTE_FLOAT32, COMPUTE_TF32, COMPUTE_FLOAT64, DEFAULT_ALGORITHM = 68, 77, 70, -1


def library(xp: Any) -> ctypes.CDLL:
    """The cuBLAS that this process has loaded, or the one of CuPy's version of CUDA."""
    xp.cuda.device.get_cublas_handle()  # CuPy loads it now, if it has not yet
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split()[-1] for line in maps if "libcublas.so" in line}
    except OSError:
        paths = set()
    major = xp.cuda.runtime.runtimeGetVersion() // 1000
    for name in (*sorted(paths), f"libcublas.so.{major}", f"cublas64_{major}.dll"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError(f"cuBLAS of CUDA {major} was not found")


class Blas:
    """cuBLAS on one device."""

    def __init__(self, xp: Any):
        self._xp = xp
        self._library = library(xp)
        handle = ctypes.c_void_p()
        self._check(self._library.cublasCreate_v2(ctypes.byref(handle)))
        self._handle = handle
        self._workspaces: dict[int, Any] = {}
        self._stream: int | None = None
        self._lock = threading.Lock()  # a handle has one stream at a time, and calls of it let other threads run
        self._factors: dict[str, tuple[Any, int, int]] = {}
        for dtype in REAL:
            numbers = numpy.array([1.0, 0.0], dtype)
            self._factors[dtype] = numbers, numbers.ctypes.data, numbers.ctypes.data + numbers.itemsize
        product = self._library.cublasGemmStridedBatchedEx
        number, place, long = ctypes.c_int, ctypes.c_void_p, ctypes.c_longlong
        product.argtypes = [
            *(place, number, number, number, number, number, place),
            *(place, number, number, long, place, number, number, long),
            *(place, place, number, number, long, number, number, number),
        ]
        self._library.cublasSetStream_v2.argtypes = [place, place]
        self._library.cublasSetWorkspace_v2.argtypes = [place, place, ctypes.c_size_t]
        self._product = product

    def _check(self, status: int) -> None:
        if status:
            raise RuntimeError(f"cuBLAS failed with status {status}")

    def prepare(self, stream: int) -> None:
        """Memory to work in for a stream: there before anything is captured."""
        if stream not in self._workspaces:
            self._workspaces[stream] = self._xp.cuda.alloc(WORKSPACE_BYTES)

    def _use(self, stream: int) -> None:
        if stream == self._stream:
            return
        self.prepare(stream)
        self._check(self._library.cublasSetStream_v2(self._handle, stream))
        self._check(self._library.cublasSetWorkspace_v2(self._handle, self._workspaces[stream].ptr, WORKSPACE_BYTES))
        self._stream = stream

    def product(self, stream: int, form: "Form", left: int, right: int, result: int) -> None:
        """Queues products of matrices that lie evenly; addresses of the first of each."""
        with self._lock:
            self._use(stream)
            self._queue(form, left, right, result)

    def _queue(self, form: "Form", left: int, right: int, result: int) -> None:
        kind = REAL[form.dtype]
        _, one, zero = self._factors[form.dtype]
        compute = COMPUTE_FLOAT64 if form.dtype == "float64" else COMPUTE_TF32 if form.tf32 else COMPUTE_FLOAT32
        self._check(
            # columns first, as cuBLAS counts: the transposed product of the transposed matrices
            self._product(
                *(self._handle, OPERATION[form.right], OPERATION[form.left], form.n, form.m, form.k, one),
                *(right, kind, form.right_line, form.right_step, left, kind, form.left_line, form.left_step),
                *(zero, result, kind, form.n, form.m * form.n, form.count, compute, DEFAULT_ALGORITHM),
            )
        )


class Form:
    """Sizes of products, how each matrix lies ("N" or "T"), how far its lines are apart, and how many there are."""

    __slots__ = ("count", "dtype", "k", "left", "left_line", "left_step", "m", "n", "right", "right_line", "right_step",
                 "tf32")  # fmt: skip

    def __init__(
        self,
        sizes: tuple[int, int, int],
        lying: tuple[tuple[str, int], tuple[str, int]],
        stack: tuple[int, int, int],
        dtype: str,
        tf32: bool,
    ):
        self.m, self.k, self.n = sizes
        (self.left, self.left_line), (self.right, self.right_line) = lying
        self.count, self.left_step, self.right_step = stack
        self.dtype, self.tf32 = dtype, tf32
