# The C layout of traced arrays: whether there is one is asked at every primitive.
cimport cython

@cython.final
cdef class Traced:
    cdef public object tensor

cpdef plain(value)
cpdef settled(array)
