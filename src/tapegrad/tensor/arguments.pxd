# The C types of arguments.py.
cimport cython
from tapegrad.tensor.instruction cimport Leaf
from tapegrad.tensor.namespaces cimport namespace
from tapegrad.tensor.nesting.traced cimport Traced, settled
from tapegrad.tensor.tensor cimport Tensor, wrapped
from tapegrad.tensor.trees cimport is_array

@cython.locals(tensor=Tensor, node=Leaf)
cpdef Tensor leaf(value, long long level)

cpdef argument(value)
cpdef lowered(array, bint number, bint inside)
cpdef gradient(value, Tensor tensor, bint inside)
