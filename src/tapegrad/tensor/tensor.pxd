# The C layout of the classes of tensor.py, and the C types of its functions.
cimport cython
from tapegrad.tensor.backward cimport propagate
from tapegrad.tensor.instruction cimport Instruction, Primitive
from tapegrad.tensor.namespaces cimport namespace

@cython.final
@cython.freelist(256)
cdef class Tensor:
    cdef object __weakref__
    cdef public object _array, _node

@cython.final
cdef class Clock:
    cdef public long long now

@cython.final
cdef class Switches:
    cdef public long long off

cdef Clock _clock
cdef Switches switches

@cython.locals(count=cython.Py_ssize_t, k=cython.Py_ssize_t, arrays=list, parents=list, raw=list, recorded=bint,
               tensor=Tensor, instruction=Instruction, made=Tensor, clock=Clock)
cpdef Tensor apply(Primitive primitive, tuple operands, settings=*)
