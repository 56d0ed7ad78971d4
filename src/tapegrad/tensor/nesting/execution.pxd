# The C types of execution.py.
cimport cython
from tapegrad.tensor.instruction cimport Batch, Instruction, Leaf, Primitive, Tangent
from tapegrad.tensor.namespaces cimport namespace, staged
from tapegrad.tensor.nesting.levels cimport Switches, floor
from tapegrad.tensor.nesting.traced cimport Traced, settled
from tapegrad.tensor.tensor cimport Tensor, apply, wrapped

cdef Switches switches

cdef long long level_of(node)

@cython.locals(tensor=Tensor, values=list, level=cython.longlong, own=cython.longlong, lowest=cython.longlong)
cpdef apply_nested(Primitive primitive, tuple operands, settings)

@cython.locals(tensor=Tensor)
cdef outside(value, long long level)

@cython.locals(tensor=Tensor)
cdef at_level(value, long long level)

@cython.locals(i=Instruction, traced=bint)
cdef Instruction prepared(Primitive primitive, list arrays, settings, tuple needs)

@cython.locals(i=Instruction)
cdef Tensor recorded(Primitive primitive, list values, settings, long long level)

@cython.locals(i=Instruction)
cdef Tensor forwards(Primitive primitive, list values, settings, long long level)

cdef pushed(Instruction i, list arrays, list tangents, result)

@cython.locals(tensor=Tensor, node=Tangent)
cpdef Tensor carrying(array, tangent, long long level)
