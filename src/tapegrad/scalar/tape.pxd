cimport cython
from tapegrad.scalar.operations cimport Operations

@cython.final
cdef class Tape(Operations):
    pass
