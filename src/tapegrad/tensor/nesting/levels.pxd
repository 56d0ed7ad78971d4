# The C layout of the switches: `apply` asks them at every primitive.
cimport cython

@cython.final
cdef class Switches:
    cdef public long long off, open, opened, staging, bodies

cdef Switches _switches
cpdef long long opened()
cpdef closed()
cpdef long long floor()
cpdef long long depth()
