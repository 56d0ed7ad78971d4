# Variables and the operations on them, for the other compiled modules of this folder.
cimport cython
from libc.stdint cimport int32_t, uint64_t
from tapegrad.scalar.recording cimport Store

@cython.final
cdef class Var:
    cdef Store *store  # keeps a reference to its owner; must stay first (pool.h)
    cdef double number
    cdef uint64_t generation
    cdef int32_t index  # -1 for a constant

cdef int check(Var x) except -1
cdef int check_owner(Store *store, object x) except -1
cdef object constant(Store *store, double value)
cdef object variable(Store *store, double value)
cdef object recorded(Store *store, int32_t index)
cdef double as_number(object x) except? -1.0
cdef object unary(int op, object x)
cdef object binary(int op, object left, object right)
cdef object unary_here(Store *store, int op, object x)
cdef object binary_here(Store *store, int op, object x, object y)
cdef object on_tape(Store *store, object result)
cdef object choose(object chosen, object first, object second)
