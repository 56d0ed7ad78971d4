# The pool of Var objects as Cython sees it.
from cpython.object cimport PyTypeObject
from libc.stdint cimport int32_t

cdef extern from "pool.h":
    int pool_any() noexcept
    object pool_pop(void *store, int32_t index, double number)
    object pool_take(PyTypeObject *type, void *store, int32_t index, double number)
    int pool_install(PyTypeObject *type) except -1
