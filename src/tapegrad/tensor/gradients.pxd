# The C types of gradients.py.
from tapegrad.tensor.arguments cimport gradient, leaf, lowered
from tapegrad.tensor.backward cimport propagate
from tapegrad.tensor.namespaces cimport namespace
from tapegrad.tensor.nesting.levels cimport closed, depth, opened
from tapegrad.tensor.tensor cimport Tensor
from tapegrad.tensor.trees cimport flat, rebuilt

cpdef one_number(result)
