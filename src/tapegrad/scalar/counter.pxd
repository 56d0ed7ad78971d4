# The shared counter as Cython sees it.
cdef extern from "counter.h":
    Py_ssize_t take(Py_ssize_t *counter, Py_ssize_t count) noexcept nogil
