# Derivatives of programs by the first `active` of their inputs, for program.py.
from tapegrad.scalar.freezing cimport Frozen

# The instructions of the tangent: inputs, then a direction, in; derivatives in that direction out.
cdef Frozen tangent_of(Frozen primal, Py_ssize_t active, bint with_values)
# The instructions of the gradient: inputs, and a weight for each output where there are several, in.
cdef Frozen gradient_of(Frozen primal, Py_ssize_t active, bint weighted, bint with_values)
