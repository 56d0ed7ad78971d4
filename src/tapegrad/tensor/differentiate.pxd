# The C types of differentiate.py.
cimport cython
from tapegrad.tensor.instruction cimport Leaf
from tapegrad.tensor.tensor cimport Tensor

@cython.locals(made=Tensor, node=Leaf)
cpdef Tensor leaf(value)

cpdef bint is_array(value)
cpdef bint holds_array(tree)
cpdef list flat(tree)
cpdef collect(tree, list found)

@cython.locals(made=list)
cpdef rebuilt(tree, items)

cpdef gradient(value, Tensor tensor)
