# The C-level layout of a recording, for the other compiled modules of this folder.
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint8_t, uint64_t

# One comparison that the recorded function branched on. A negative index stands for the constant.
cdef struct Guard:
    double constant
    int32_t lhs
    int32_t rhs
    int32_t number  # of the comparison, in the order in which the recording made them
    uint8_t op
    uint8_t outcome

# What a tape holds. A C struct, so that recording an operation touches no reference counts but the new Var's.
cdef struct Store:
    PyObject *owner  # the Recording, borrowed; must stay first (pool.h)
    uint64_t generation
    # instructions, a structure of arrays: opcode, two operands, value. Inputs are instructions with opcode INPUT.
    Py_ssize_t size
    Py_ssize_t capacity
    uint8_t *ops
    int32_t *lhs
    int32_t *rhs
    double *values
    Py_ssize_t inputs
    # third operands, of derivatives that were put on the tape (inlining.py); NULL before the first of them
    int32_t *third
    bint has_derivatives
    # immediates, in the order of their use
    double *constants
    Py_ssize_t constants_size
    Py_ssize_t constants_capacity
    # guards, in the order of the comparisons
    Guard *guards
    Py_ssize_t guards_size
    Py_ssize_t guards_capacity
    # adjoints 0 … adjoints_size-1 hold gradients; the rest is zero by definition and not yet written
    double *adjoints  # somewhere in adjoints_memory: see place_adjoints
    void *adjoints_memory
    Py_ssize_t adjoints_size
    Py_ssize_t adjoints_capacity
    double *scratch
    Py_ssize_t scratch_capacity

cdef struct Operand:
    double value
    int32_t index  # -1 for a constant

cdef class Recording:
    cdef Store store

cdef void *enlarged(void *array, Py_ssize_t count, size_t item_bytes, str what) except NULL
cdef int grow(Store *store) except -1
cdef int grow_third(Store *store) except -1
cdef int grow_constants(Store *store) except -1

# Writes an instruction where there is room; the answer is its index.
cdef inline int32_t put(Store *store, int op, int32_t lhs, int32_t rhs, double value) noexcept:
    cdef Py_ssize_t index = store.size
    store.ops[index] = <uint8_t>op
    store.lhs[index] = lhs
    store.rhs[index] = rhs
    store.values[index] = value
    store.size = index + 1
    return <int32_t>index

# Keeps a constant operand where there is room; the answer is its index.
cdef inline int32_t keep(Store *store, double value) noexcept:
    cdef Py_ssize_t index = store.constants_size
    store.constants[index] = value
    store.constants_size = index + 1
    return <int32_t>index
