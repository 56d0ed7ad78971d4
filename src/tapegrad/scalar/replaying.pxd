cimport cython
from tapegrad.scalar.freezing cimport Frozen
from tapegrad.scalar.kernels cimport code
from tapegrad.scalar.recording cimport Store

@cython.final
cdef class Workspace:
    cdef Frozen frozen  # whose values and adjoints it has room for
    cdef Py_ssize_t points
    cdef void *memory
    cdef double *values
    cdef double *adjoints

# A guard that a point breaks, with what it compared there; guard is -1 if none does.
cdef struct Broken:
    Py_ssize_t guard
    Py_ssize_t point
    int op
    int outcome
    double a
    double b

cdef double *pointer_of(object array) except? NULL
cdef Broken nothing_broken() noexcept nogil
cdef Broken first_broken(Frozen frozen, double *values, Py_ssize_t points, Py_ssize_t k) noexcept nogil
cdef int raise_broken(Broken broken, str where) except -1

cdef code code_of(Store *store) noexcept
cdef list operands_at(code *program, Py_ssize_t i)
