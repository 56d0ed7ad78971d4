# The graph of a derivative, for the other compiled modules of this folder.
cimport cython
from libc.stdint cimport int32_t, uint8_t, uint64_t

cdef extern from "shares.h" nogil:
    struct step:
        uint8_t op
        uint8_t x
        uint8_t y
        uint8_t z
    struct span:
        int start
        int count
    const step STEPS[]
    const double STEP_NUMBERS[]
    const span SHARES[][3]

cdef extern from "hashing.h" nogil:
    uint64_t bits_of(double number)
    uint64_t hash_of(int op, int32_t x, int32_t y, int32_t z, double number)

@cython.final
cdef class Graph:
    # nodes, a structure of arrays: operation, up to three operands (nodes before it; -1 for none), number of a constant
    cdef uint8_t *ops
    cdef int32_t *x
    cdef int32_t *y
    cdef int32_t *z
    cdef double *numbers
    cdef Py_ssize_t size, capacity, inputs
    # open addressing: nodes by what they are, -1 where there is none
    cdef int32_t *table
    cdef Py_ssize_t table_size

    cdef int grow(self) except -1
    cdef Py_ssize_t place(self, int op, int32_t x, int32_t y, int32_t z, double number) noexcept
    cdef int32_t put(self, int op, int32_t x, int32_t y, int32_t z, double number) except -1
    cdef int32_t append(self, int op, int32_t x, int32_t y, int32_t z, double number) noexcept
    cdef bint is_number(self, int32_t node, double number) noexcept
    cdef int32_t negated(self, int32_t node) except -1
    cdef int32_t sum(self, int op, int32_t x, int32_t y) except -1
    cdef int32_t product(self, int op, int32_t x, int32_t y) except -1
    cdef int32_t quotient(self, int op, int32_t x, int32_t y) except -1
    cdef int32_t input(self) except -1
    cdef int32_t constant(self, double number) except -1
    cdef int32_t apply(self, int op, int32_t x, int32_t y, int32_t z) except -1
    cdef int32_t share(self, int op, int operand, int32_t *slots) except -2
    cdef int32_t total(self, int32_t sum, int32_t more) except -2
