# The C layout of the classes of instruction.py.
cimport cython

@cython.final
cdef class Primitive:
    cdef public object name, forward, vjp
    cdef public bint fresh, shapes

@cython.final
cdef class Leaf:
    cdef public object grad, shape, dtype

@cython.final
@cython.freelist(256)
cdef class Instruction:
    cdef public Primitive primitive
    cdef public object xp, settings, saved, snapshots, scratch, shape, dtype
    cdef public tuple needs
    cdef public list parents, shapes
    cdef public long long number
    cdef public bint releasing

@cython.final
cdef class Piece:
    cdef public object index, values
    cdef public bint once
