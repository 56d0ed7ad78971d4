# Derivatives of programs by the first `active` of their inputs, for program.py.
from libc.stdint cimport int32_t
from tapegrad.scalar.freezing cimport Frozen

# The instructions of the tangent: inputs, then a direction, in; derivatives in that direction out.
cdef Frozen tangent_of(Frozen primal, Py_ssize_t active, bint with_values)
# The instructions of the gradient: inputs, and a weight for each output where there are several, in.
cdef Frozen gradient_of(Frozen primal, Py_ssize_t active, bint weighted, bint with_values)
# The instructions of entries of the Jacobian: inputs in, entries out; None if they would be too many to be worth it.
cdef Frozen entries_of(Frozen primal, int32_t[::1] colours, Py_ssize_t count, bint reverse, int32_t[::1] order, int32_t[::1] colour_of, int32_t[::1] slope_of)
