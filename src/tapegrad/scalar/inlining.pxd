# Programs put on a tape, for the other compiled modules of this folder.
from tapegrad.scalar.freezing cimport Frozen
from tapegrad.scalar.recording cimport Recording, Store

# The backward pass of a tape that holds operations of derivatives.
cdef void backward_any(Store *store, double *adjoints, Py_ssize_t end) noexcept
# A Var whose value is a constant, but has a place on the tape.
cdef object placed(Recording tape, double number)
# Computes a program at these Vars and numbers, each instruction recorded on the tape; the outputs as Vars.
cdef list inlined(Frozen frozen, Recording tape, list inputs)
