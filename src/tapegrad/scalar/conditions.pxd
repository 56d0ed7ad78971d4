# Conditions, for the other compiled modules of this folder.
cimport cython
from libc.stdint cimport int32_t, uint64_t
from tapegrad.scalar.recording cimport Guard, Operand, Recording, Store

@cython.final
cdef class Condition:
    cdef Recording tape
    cdef double constant
    cdef uint64_t generation
    cdef int32_t lhs
    cdef int32_t rhs
    cdef int op
    cdef bint outcome
    cdef bint guarded

cdef object condition(Store *store, int op, Operand a, Operand b)
cdef int check_condition(Condition x) except -1
cdef int keep_guard(Store *store, Guard entry) except -1
cdef int check_condition_owner(Store *store, object x) except -1
