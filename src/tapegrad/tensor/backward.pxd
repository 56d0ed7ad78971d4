# The C types of backward.py.
cimport cython
from tapegrad.tensor.instruction cimport Instruction, Leaf, Piece, Primitive
from tapegrad.tensor.namespaces cimport namespace
from tapegrad.tensor.nesting.traced cimport Traced

@cython.final
cdef class Cotangents:
    cdef public dict arrays
    cdef public set owned
    @cython.locals(instruction=Instruction, leaf=Leaf)
    cpdef add(self, node, cotangent, bint fresh)

@cython.locals(reached=set, waiting=list, instructions=list, leaves=list, last=cython.longlong, ordered=bint,
               instruction=Instruction)
cpdef list reachable(root)

@cython.locals(cotangents=Cotangents, arrays=dict, owned=set, i=Instruction, primitive=Primitive, k=cython.Py_ssize_t)
cpdef propagate(root, seed, bint retain)

cdef _deliver(Leaf leaf, g, bint owned)
