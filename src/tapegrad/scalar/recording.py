# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""The recording: the arrays that hold a tape's instructions, values, constants, guards and adjoints, and how they grow.

In: instructions, from variables.py. Out: the arrays that the sweeps of kernels.h run over. What is inlined into every
operation, `put` and `keep`, stands in recording.pxd.
"""

import cython
from cython.cimports.cpython.object import PyObject
from cython.cimports.libc.stdint import int32_t, uint8_t
from cython.cimports.libc.stdlib import free, realloc

from tapegrad.errors import TapeFullError

# Values are named by 32-bit indices.
MOST_VALUES: cython.Py_ssize_t = 2**31 - 1


def enlarged(array: cython.p_void, count: cython.Py_ssize_t, item_bytes: cython.size_t, what: str) -> cython.p_void:
    """The array with room for count items; where there is none, the old one stays as it was."""
    moved: cython.p_void = realloc(array, cython.cast(cython.size_t, count) * item_bytes)
    if moved is cython.NULL:
        raise MemoryError(f"no memory for {count} {what}; call tape.reset() between evaluations")
    return moved


@cython.cclass
class Recording:
    """A growable list of instructions with their values; the state of a tape."""

    def __cinit__(self):
        self.store.owner = cython.cast(cython.pointer(PyObject), self)

    def __dealloc__(self):
        free(self.store.ops)
        free(self.store.lhs)
        free(self.store.rhs)
        free(self.store.third)
        free(self.store.values)
        free(self.store.constants)
        free(self.store.guards)
        free(self.store.adjoints_memory)
        free(self.store.scratch)


def grow(store: cython.pointer(Store)) -> cython.int:
    """Doubles the room for instructions. Each array is stored as soon as it has moved, so an error loses nothing."""
    count: cython.Py_ssize_t = store.capacity * 2 if store.capacity else 64
    if count > MOST_VALUES:
        count = MOST_VALUES
    if store.capacity == count:
        raise TapeFullError(
            f"a tape holds at most {MOST_VALUES} values and this one is full; "
            "call tape.reset() between evaluations, or split the computation"
        )
    store.ops = cython.cast(cython.pointer(uint8_t), enlarged(store.ops, count, 1, "opcodes"))
    store.lhs = cython.cast(cython.pointer(int32_t), enlarged(store.lhs, count, 4, "operands"))
    store.rhs = cython.cast(cython.pointer(int32_t), enlarged(store.rhs, count, 4, "operands"))
    store.values = cython.cast(cython.p_double, enlarged(store.values, count, 8, "values"))
    if store.third is not cython.NULL:
        store.third = cython.cast(cython.pointer(int32_t), enlarged(store.third, count, 4, "operands"))
    store.capacity = count
    return 0


def grow_third(store: cython.pointer(Store)) -> cython.int:
    """Room for third operands, from now on."""
    if store.third is cython.NULL:
        store.third = cython.cast(cython.pointer(int32_t), enlarged(store.third, store.capacity, 4, "operands"))
    store.has_derivatives = True
    return 0


def grow_constants(store: cython.pointer(Store)) -> cython.int:
    count: cython.Py_ssize_t = store.constants_capacity * 2 if store.constants_capacity else 64
    if count > MOST_VALUES:
        raise TapeFullError(f"a tape holds at most {MOST_VALUES} constants; call tape.reset() between evaluations")
    store.constants = cython.cast(cython.p_double, enlarged(store.constants, count, 8, "constants"))
    store.constants_capacity = count
    return 0
