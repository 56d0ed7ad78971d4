"""The pilots: short fixed work, compiled, that says how fast the machine is at the moment.

In: nothing. Out: nanoseconds. `records/pilots.py` says what becomes of them.
"""

from time import perf_counter_ns

from libc.stdlib cimport calloc, free

cdef extern from "pilot.h":
    void core_work(int passes) nogil
    size_t second_cache_bytes() nogil
    void memory_work(const char *bytes, size_t count) nogil
    void integer_work(int passes) nogil
    void floating_work(int passes) nogil
    void allocation_work(int passes) nogil

# About 6 µs at 3.7 GHz: the clock tells 0.2 % of it apart.
cdef int PASSES = 400
# Untimed, to bring code and data back into the first cache after whatever ran before.
cdef int WARM_PASSES = 100
# Bytes of the second cache: 15 to 60 µs.
CACHE_BYTES = second_cache_bytes()


def core():
    """The pilot of the core: the faster of two in a row, because the first takes 1 to 3 % longer after large arrays."""
    core_work(WARM_PASSES)
    start = perf_counter_ns()
    core_work(PASSES)
    middle = perf_counter_ns()
    core_work(PASSES)
    return min(middle - start, perf_counter_ns() - middle)


cdef class Memory:
    """The pilot of the memory: reads one half of a buffer, then the other, each as large as the second cache."""

    cdef char *bytes
    cdef size_t half
    cdef int turn

    def __cinit__(self):
        self.half = second_cache_bytes()
        self.turn = 0
        self.bytes = <char *> calloc(2 * self.half + 256, 1)
        if self.bytes is NULL:
            raise MemoryError(f"{2 * self.half} bytes for the memory pilot")
        for k in range(0, 2 * self.half, 64):
            self.bytes[k] = 1

    def __dealloc__(self):
        free(self.bytes)

    def __call__(self):
        """Reads the half whose turn it is."""
        cdef const char *part = self.bytes + self.turn * self.half
        self.turn = 1 - self.turn
        start = perf_counter_ns()
        memory_work(part, self.half)
        return perf_counter_ns() - start


def integer(int passes):
    """So many steps of integer arithmetic, in nanoseconds."""
    start = perf_counter_ns()
    integer_work(passes)
    return perf_counter_ns() - start


def floating(int passes):
    """So many steps of floating-point arithmetic."""
    start = perf_counter_ns()
    floating_work(passes)
    return perf_counter_ns() - start


def allocation(int passes):
    """So many blocks of memory taken from the C library and given back."""
    start = perf_counter_ns()
    allocation_work(passes)
    return perf_counter_ns() - start


def read(const unsigned char[::1] buffer, size_t begin, size_t count):
    """Reads so many bytes of a buffer, in order, from a place in it on."""
    if begin + count > <size_t> buffer.shape[0]:
        raise ValueError(f"{begin} + {count} bytes of {buffer.shape[0]}")
    start = perf_counter_ns()
    memory_work(<const char *> &buffer[begin], count)
    return perf_counter_ns() - start
