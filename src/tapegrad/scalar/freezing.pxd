cimport cython
from libc.stdint cimport int32_t, uint8_t
from tapegrad.scalar.kernels cimport code as Code
from tapegrad.scalar.recording cimport Guard, Recording

@cython.final
cdef class Frozen:
    cdef uint8_t *ops
    cdef int32_t *lhs
    cdef int32_t *rhs
    cdef int32_t *third
    cdef double *constants
    cdef Guard *guards
    cdef int32_t *room
    cdef int32_t *lhs_room
    cdef int32_t *rhs_room
    cdef int32_t *third_room
    cdef uint8_t *fresh
    cdef Code code  # the arrays above, as the sweeps take them
    cdef int32_t *outputs  # the value that is the output, or -1 - i for constant i
    cdef Py_ssize_t size, inputs_size, outputs_size, constants_size, guards_size, removed, rooms
    cdef Py_ssize_t first  # the first instruction to run; between inputs and this are constants that stay
    cdef Py_ssize_t most, most_guards  # values and guards that there is room for

    cdef int allocate(
        self, Py_ssize_t most, Py_ssize_t most_constants, Py_ssize_t most_guards, Py_ssize_t inputs, Py_ssize_t outputs
    ) except -1
    cdef int allocate_third(self) except -1
    cdef int finish(self) except -1


# The program between inputs and outputs, whatever these are on the tape; `outside` gets the other values that it needs.
cdef Frozen segment(Recording tape, Py_ssize_t start, list inputs, list outputs, list outside)
