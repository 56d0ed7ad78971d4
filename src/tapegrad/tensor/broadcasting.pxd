# The C types of broadcasting.py.
cimport cython

cdef dict _kept
cpdef ones(xp, shape, dtype)
cpdef starts(xp, Py_ssize_t rows, Py_ssize_t length)
cpdef keep(key, array)

@cython.locals(repeated=tuple, added=cython.Py_ssize_t)
cpdef unbroadcast(cotangent, tuple shape)
