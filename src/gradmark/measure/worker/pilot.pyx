"""The pilots: short fixed work, compiled, that says how fast the machine is at the moment.

In: nothing. Out: nanoseconds. `records/pilots.py` says what becomes of them.
"""

from time import perf_counter_ns

from libc.stdlib cimport calloc, free

cdef extern from "pilot.h":
    void core_work(int passes) nogil
    void flush_work(const char *bytes, size_t count) nogil
    void memory_work(const char *bytes, size_t count) nogil

# About 6 µs at 3.7 GHz: the clock tells 0.2 % of it apart.
cdef int PASSES = 400
# Untimed, to bring code and data back into the first cache after whatever ran before.
cdef int WARM_PASSES = 100
# 10 to 20 µs, as much again for flushing it.
cdef size_t BYTES = 256 << 10


def core():
    """The pilot of the core: the faster of two in a row, because the first takes 1 to 3 % longer after large arrays."""
    core_work(WARM_PASSES)
    start = perf_counter_ns()
    core_work(PASSES)
    middle = perf_counter_ns()
    core_work(PASSES)
    return min(middle - start, perf_counter_ns() - middle)


cdef class Memory:
    """The pilot of the memory: reads a buffer that is in no cache."""

    cdef char *bytes

    def __cinit__(self):
        self.bytes = <char *> calloc(BYTES + 256, 1)
        if self.bytes is NULL:
            raise MemoryError("256 KiB for the memory pilot")
        for k in range(0, BYTES, 64):
            self.bytes[k] = 1

    def __dealloc__(self):
        free(self.bytes)

    def __call__(self):
        """Flushes, then reads."""
        flush_work(self.bytes, BYTES)
        start = perf_counter_ns()
        memory_work(self.bytes, BYTES)
        return perf_counter_ns() - start
