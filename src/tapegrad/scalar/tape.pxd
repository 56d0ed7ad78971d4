cimport cython
from tapegrad.scalar.recording cimport Recording

@cython.final
cdef class Tape(Recording):
    pass
