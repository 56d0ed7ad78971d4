from tapegrad.scalar.recording cimport Recording

cdef class Operations(Recording):
    pass
