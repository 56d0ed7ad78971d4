# From a graph to instructions, for deriving.py.
from libc.stdint cimport int32_t
from tapegrad.scalar.freezing cimport Frozen
from tapegrad.scalar.graph cimport Graph

cdef Frozen emitted(Graph graph, int32_t *outputs, Py_ssize_t count, Frozen primal, int32_t *values)
