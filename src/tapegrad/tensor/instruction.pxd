# The C layout of the classes of instruction.py.
cimport cython

@cython.final
cdef class Primitive:
    cdef public object name, forward, vjp, jvp
    cdef public bint fresh, shapes

@cython.final
cdef class Leaf:
    cdef public object grad, shape, dtype
    cdef public long long level

@cython.final
@cython.freelist(256)
cdef class Instruction:
    cdef public Primitive primitive
    cdef public object xp, settings, saved, snapshots, scratch, shape, dtype
    cdef public tuple needs
    cdef public list parents, shapes
    cdef public long long level, number
    cdef public bint releasing, tracing

@cython.final
cdef class Piece:
    cdef public object index, values
    cdef public bint once

@cython.final
cdef class Tangent:
    cdef public object array
    cdef public long long level

@cython.final
cdef class Batch:
    cdef public long long level, size
