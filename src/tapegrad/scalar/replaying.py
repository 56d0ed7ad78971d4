# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""Replaying: what one point and a batch have in common: workspaces, and guards that a point breaks.

In: a frozen recording and values. Out: the first broken guard, as a struct and as an error. Instructions of tapes and
programs as they are printed.
"""

import cython
import numpy
from cython.cimports.cpython.buffer import PyBUF_C_CONTIGUOUS, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.libc.stdint import uintptr_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.tapegrad.scalar.freezing import Frozen
from cython.cimports.tapegrad.scalar.kernels import BLOCK, code, evaluate
from cython.cimports.tapegrad.scalar.opcodes import (
    BASES,
    INPUT,
    LHS_VALUE,
    LT,
    OPERANDS,
    RHS_VALUE,
    THIRD_VALUE,
    WHERE,
)
from cython.cimports.tapegrad.scalar.recording import Guard, Store
from cython.cimports.tapegrad.scalar.variables import as_number

from tapegrad.errors import GuardError, InputError

ARRAY = numpy.ndarray
DOUBLE = numpy.dtype(numpy.float64)
COMPARISONS = ("<", "<=", "==", "!=")  # in the order of the opcodes LT, LE, EQ, NE


@cython.cclass
class Workspace:
    """Values and adjoints of a program, for one point or for a block of them, aligned to 64 bytes, a cache line."""

    def __cinit__(self, frozen: Frozen, block: cython.bint):
        self.frozen = frozen
        self.points = BLOCK if block else 1
        # one point has an adjoint for each value; in a block, values that are not needed at once share rooms
        count: cython.size_t = frozen.size + (frozen.rooms if block else frozen.size)
        self.memory = malloc((count * self.points + 8) * 8)
        if self.memory is cython.NULL:
            raise MemoryError(f"no memory for {self.points} points of a program with {frozen.size} values")
        start: uintptr_t = (cython.cast(uintptr_t, self.memory) + 63) & ~cython.cast(uintptr_t, 63)
        self.values = cython.cast(cython.p_double, start)
        self.adjoints = self.values + frozen.size * self.points
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for i in range(frozen.inputs_size, frozen.first):
            for k in range(self.points):
                self.values[i * self.points + k] = frozen.constants[frozen.lhs[i]]

    def __dealloc__(self):
        free(self.memory)


def pointer_of(array: object) -> cython.p_double:
    """Where a contiguous array keeps its numbers; by the buffer protocol: `array.ctypes` takes a microsecond."""
    view: Py_buffer
    PyObject_GetBuffer(array, cython.address(view), PyBUF_C_CONTIGUOUS)
    start: cython.p_double = cython.cast(cython.p_double, view.buf)
    PyBuffer_Release(cython.address(view))  # the caller holds the array, so its memory stays
    return start


def numbers_of(x: object, one_input: cython.bint, inputs: cython.Py_ssize_t) -> object:
    """The inputs of one point: a list of floats, or the array of doubles that was given."""
    if one_input:
        return [as_number(x)]
    if type(x) is ARRAY and x.dtype is DOUBLE and x.shape == (inputs,):
        layout: object = x.flags
        if layout.c_contiguous and layout.aligned:
            return x
    try:
        items: list = list(x)
    except TypeError:
        raise InputError(f"expected a sequence of {inputs} numbers, got {x!r:.60}") from None
    if len(items) != inputs:
        raise InputError(f"expected {inputs} inputs, as many as the program was frozen with, got {len(items)}")
    return [as_number(number) for number in items]


def nothing_broken() -> Broken:
    broken: Broken
    broken.guard = broken.point = -1
    broken.op = broken.outcome = 0
    broken.a = broken.b = 0.0
    return broken


def first_broken(frozen: Frozen, values: cython.p_double, points: cython.Py_ssize_t, k: cython.Py_ssize_t) -> Broken:
    """The first guard that point k of a block breaks."""
    broken: Broken = nothing_broken()
    i: cython.Py_ssize_t
    for i in range(frozen.guards_size):
        guard: cython.pointer(Guard) = frozen.guards + i
        a: cython.double = guard.constant if guard.lhs < 0 else values[guard.lhs * points + k]
        b: cython.double = guard.constant if guard.rhs < 0 else values[guard.rhs * points + k]
        if (evaluate(guard.op, a, b) != 0.0) != guard.outcome:
            broken.guard = guard.number
            broken.point = k
            broken.op = guard.op
            broken.outcome = guard.outcome
            broken.a = a
            broken.b = b
            break
    return broken


def raise_broken(broken: Broken, where: str) -> cython.int:
    raise GuardError(
        f"{where} takes another branch than the recording did: there, comparison {broken.guard} "
        f"(a {COMPARISONS[(broken.op - LT) // 3]} b) was {bool(broken.outcome)}, "
        f"here a = {broken.a!r} and b = {broken.b!r}; "
        "record and freeze again at a point of this branch, or write the branch with tapegrad.where"
    )


def code_of(store: cython.pointer(Store)) -> code:
    """A recording as the sweeps take it."""
    recorded: code
    recorded.ops = store.ops
    recorded.lhs = store.lhs
    recorded.rhs = store.rhs
    recorded.third = store.third
    recorded.constants = store.constants
    recorded.room = recorded.lhs_room = recorded.rhs_room = recorded.third_room = cython.NULL
    recorded.fresh = cython.NULL
    return recorded


def operands_at(program: cython.pointer(code), i: cython.Py_ssize_t) -> list:
    """For print: the operands of instruction i, an index or a float for a constant."""
    op: cython.int = program.ops[i]
    kinds: cython.int = OPERANDS[op]
    operands: list = []
    if op != INPUT:
        operands.append(program.lhs[i] if kinds & LHS_VALUE else program.constants[program.lhs[i]])
    if OPERANDS[BASES[op]] & RHS_VALUE:
        operands.append(program.rhs[i] if kinds & RHS_VALUE else program.constants[program.rhs[i]])
    if BASES[op] == WHERE:
        operands.append(i - 1)
    elif kinds & THIRD_VALUE:
        operands.append(program.third[i])
    return operands
