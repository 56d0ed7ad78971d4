cimport cython
from tapegrad.scalar.freezing cimport Frozen
from tapegrad.scalar.native cimport Native, Scratch
from tapegrad.scalar.replaying cimport Broken, Workspace

# Of BLOCK numbers at once, with vector maths; for tapegrad/special.pyx.
cdef void erf_of_block(double *out, const double *numbers) noexcept nogil

@cython.final
cdef class Batch:
    cdef Frozen frozen
    cdef Native native  # machine code of blocks; None where they are interpreted
    cdef list rooms  # workspaces, each used by one thread at a time
    cdef object points
    cdef object values
    cdef object gradients
    cdef double *x
    cdef double *v
    cdef double *g
    cdef Py_ssize_t count, step, next, threads
    cdef Broken broken
    cdef list failures

    cdef int run_all(self) except -1
    cdef Broken take_turns(self, Workspace room, Scratch scratch, bint listens) noexcept nogil
    cdef bint interrupted(self) noexcept nogil

cdef object batched(
    Frozen frozen, list rooms, bint one_input, bint one_output, object x, object threads, bint gradients, Native native
)
