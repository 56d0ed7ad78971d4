# The C types of differentiate.py.
cimport cython
from tapegrad.tensor.instruction cimport Leaf
from tapegrad.tensor.tensor cimport Tensor

@cython.locals(made=Tensor)
cpdef Tensor leaf(value)
