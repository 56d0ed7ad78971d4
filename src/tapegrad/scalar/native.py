# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""Machine code as the package calls it: a function and the numbers that it reads and writes.

In: the address of a function that tapegrad.compile made, and points. Out: values and gradients,
unless a guard is broken.
"""

import cython
from cython.cimports.libc.stdint import uintptr_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcpy


@cython.final
@cython.cclass
class Native:
    """A function of machine code, with the object that keeps it in memory."""

    def __cinit__(
        self,
        address: uintptr_t,
        code,
        inputs: cython.Py_ssize_t,
        values: cython.Py_ssize_t,
        slopes: cython.Py_ssize_t,
        weights: cython.Py_ssize_t,
        slots: cython.Py_ssize_t,
        lanes: cython.Py_ssize_t,
        points: cython.Py_ssize_t,
    ):
        self.run = cython.cast(Run, address)
        self.code = code
        self.inputs = inputs
        self.values = values
        self.slopes = slopes
        self.weights = weights
        self.slots = slots
        self.lanes = lanes
        self.points = points


@cython.final
@cython.cclass
class Scratch:
    """Memory for one thread that runs it, aligned to 64 bytes, a cache line."""

    def __cinit__(self, native: Native):
        inputs: cython.size_t = native.inputs * native.points
        values: cython.size_t = native.values * native.points
        slopes: cython.size_t = native.slopes * native.points
        self.memory = malloc((inputs + values + slopes + native.slots + 32) * 8)
        if self.memory is cython.NULL:
            raise MemoryError(f"no memory for machine code with {native.slots} numbers to keep")
        self.x = aligned(self.memory)
        self.v = aligned(self.x + inputs)
        self.g = aligned(self.v + values)
        self.w = aligned(self.g + slopes)

    def __dealloc__(self):
        free(self.memory)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def aligned(start: cython.p_void) -> cython.p_double:
    place: uintptr_t = (cython.cast(uintptr_t, start) + 63) & ~cython.cast(uintptr_t, 63)
    return cython.cast(cython.p_double, place)


def native_block(
    native: Native,
    scratch: Scratch,
    x: cython.pointer(cython.const[cython.double]),
    v: cython.p_double,
    g: cython.p_double,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.bint:
    """Points first … first+count-1, at most a block: x in; v and, unless it is NULL, g out. False where one of them
    breaks a guard. A short vector repeats the last point."""
    block: cython.Py_ssize_t = native.points
    n: cython.Py_ssize_t = native.inputs - native.weights
    outputs: cython.Py_ssize_t = native.values
    vectors: cython.Py_ssize_t = (count + native.lanes - 1) // native.lanes
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t
    if n == 1 and outputs == 1 and native.weights == 0 and count == vectors * native.lanes:
        slopes: cython.p_double = cython.NULL if g is cython.NULL else g + first
        return native.run(x + first, v + first, slopes, scratch.w, vectors) == 0
    for k in range(vectors * native.lanes):
        for i in range(n):
            scratch.x[i * block + k] = x[(first + min(k, count - 1)) * n + i]
    for m in range(native.weights if native.weights else 1):
        for i in range(native.weights):
            for k in range(vectors * native.lanes):
                scratch.x[(n + i) * block + k] = 1.0 if i == m else 0.0
        if native.run(scratch.x, scratch.v, scratch.g, scratch.w, vectors):
            return False
        if g is cython.NULL:
            continue
        # of several outputs each run gives the slopes of one
        rows: cython.Py_ssize_t = native.weights if native.weights else 1
        for k in range(count):
            for i in range(n):
                g[((first + k) * rows + m) * n + i] = scratch.g[i * block + k]
    for m in range(outputs):
        for k in range(count):
            v[(first + k) * outputs + m] = scratch.v[m * block + k]
    return True
