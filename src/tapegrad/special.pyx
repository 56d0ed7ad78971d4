# cython: binding=False
"""Special functions that NumPy does not have, of its arrays, compiled.

In: an array of real numbers. Out: a new one, as a ufunc of NumPy would give it. SciPy has them too, and is no faster; but
importing it took 140 to 410 ms, in whatever call of the engine came first.
"""

import numpy
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from tapegrad.scalar.batching cimport erf_of_block

cdef extern from "special.h":
    ctypedef void (*loop)(const void *, void *, ptrdiff_t) noexcept nogil
    struct loops:
        pass
    const loops SIGMOIDS
    const loops ERFS
    loop loop_of(const loops *, const char *) noexcept
    void (*vector_erf)(double *, const double *) noexcept nogil

vector_erf = erf_of_block
cdef object ARRAY = numpy.ndarray
cdef object EMPTY = numpy.empty


cdef object mapped(const loops *function, object x):
    """The function of each number."""
    cdef Py_buffer source, target
    cdef loop run
    array = x if type(x) is ARRAY else numpy.asarray(x)
    if not array.flags.c_contiguous:
        array = array.copy("C")
    PyObject_GetBuffer(array, &source, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    try:
        run = loop_of(function, source.format)
        if run is NULL:
            return converted(function, array)
        result = EMPTY(array.shape, array.dtype)
        PyObject_GetBuffer(result, &target, PyBUF_C_CONTIGUOUS)
        with nogil:
            run(source.buf, target.buf, source.len // source.itemsize)
        PyBuffer_Release(&target)
    finally:
        PyBuffer_Release(&source)
    return result if source.ndim else result[()]


cdef object converted(const loops *function, object array):
    """Of numbers with which C does not compute: halves become single precision for a while, all else doubles."""
    letter = array.dtype.char
    result = mapped(function, array.astype("f" if letter == "e" else letter if letter in "fdg" else "d"))
    return result.astype("e") if letter == "e" else result


def expit(x):
    """1/(1 + e^-x)."""
    return mapped(&SIGMOIDS, x)


def erf(x):
    """The error function."""
    return mapped(&ERFS, x)
