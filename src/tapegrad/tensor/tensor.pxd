# The C layout of the classes of tensor.py, and the C types of its functions.
cimport cython
from tapegrad.tensor.backward cimport propagate
from tapegrad.tensor.instruction cimport Instruction, Leaf, Primitive
from tapegrad.tensor.namespaces cimport namespace, staged
from tapegrad.tensor.nesting.levels cimport Switches, floor
from tapegrad.tensor.nesting.traced cimport Traced

@cython.final
@cython.freelist(256)
cdef class Tensor:
    cdef object __weakref__
    cdef public object _array, _node

@cython.final
cdef class Clock:
    cdef public long long now

cdef Clock _clock
cdef Switches switches

@cython.locals(count=cython.Py_ssize_t, k=cython.Py_ssize_t, arrays=list, parents=list, raw=list, recorded=bint, tracing=bint,
               tensor=Tensor, instruction=Instruction, output=Tensor, clock=Clock, level=cython.longlong)
cpdef Tensor apply(Primitive primitive, tuple operands, settings=*)

@cython.locals(level=cython.longlong, own=cython.longlong, k=cython.Py_ssize_t, instruction=Instruction, leaf=Leaf)
cdef long long level_of(list parents, list arrays)

@cython.locals(tensor=Tensor)
cpdef Tensor wrapped(array)
