cimport cython

# Inputs, first outputs, the other outputs, room for numbers, and how many vectors of points: 1 where a guard is broken.
ctypedef int (*Run)(const double *x, double *v, double *g, double *w, Py_ssize_t vectors) noexcept nogil

@cython.final
cdef class Native:
    cdef Run run
    cdef object code  # whose function this is
    cdef Py_ssize_t inputs, values, slopes  # numbers of x, v and g
    cdef Py_ssize_t weights  # the last of the inputs: weights of outputs; 0 where there is nothing to weigh
    cdef Py_ssize_t slots  # numbers of w
    cdef Py_ssize_t lanes, points  # of a vector, and of a block of them

@cython.final
cdef class Scratch:
    cdef void *memory
    cdef double *x
    cdef double *v
    cdef double *g
    cdef double *w

cdef bint native_block(
    Native native, Scratch scratch, const double *x, double *v, double *g, Py_ssize_t first, Py_ssize_t count
) noexcept nogil
