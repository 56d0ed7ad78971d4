# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""Inlining: from the instructions of a program to the same on a tape, as if its function had been called there.

In: a `Frozen`, and a Var or number for each input. Out: a Var for each output. So derivatives can be differentiated:
the program of a derivative is put on the tape of the function around it.
"""

import cython
from cython.cimports.libc.stdint import int32_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.tapegrad.scalar.conditions import keep_guard
from cython.cimports.tapegrad.scalar.freezing import Frozen
from cython.cimports.tapegrad.scalar.kernels import backward_1, code, forward_1
from cython.cimports.tapegrad.scalar.opcodes import BASES, CONSTANT, LHS_VALUE, OPERANDS, RHS_VALUE, THIRD_VALUE
from cython.cimports.tapegrad.scalar.recording import (
    Guard,
    Recording,
    Store,
    grow,
    grow_constants,
    grow_third,
    keep,
    put,
)
from cython.cimports.tapegrad.scalar.replaying import Broken, code_of, first_broken, raise_broken
from cython.cimports.tapegrad.scalar.variables import Var, as_number, check_owner, constant, recorded


def backward_any(store: cython.pointer(Store), adjoints: cython.p_double, end: cython.Py_ssize_t) -> cython.void:
    program: code = code_of(store)
    backward_1(cython.address(program), store.values, adjoints, end)


def placed(tape: Recording, number: cython.double) -> object:
    """A constant with a place on the tape: something can be derived by it, or need it as a third operand."""
    store: cython.pointer(Store) = cython.address(tape.store)
    if store.size == store.capacity:
        grow(store)
    grow_third(store)
    if store.constants_size == store.constants_capacity:
        grow_constants(store)
    return recorded(store, put(store, CONSTANT, keep(store, number), 0, number))


@cython.final
@cython.cclass
class Inlining:
    """A program being put on a tape."""

    frozen: Frozen
    tape: Recording
    store: cython.pointer(Store)
    values: cython.p_double
    places: cython.pointer(int32_t)  # per value of the program: where it is on the tape

    def __cinit__(self, frozen: Frozen, tape: Recording):
        self.frozen = frozen
        self.tape = tape
        self.store = cython.address(tape.store)
        count: cython.size_t = frozen.size + 1
        self.values = cython.cast(cython.p_double, malloc(count * 8))
        self.places = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        if self.values is cython.NULL or self.places is cython.NULL:
            raise MemoryError(f"no memory to put a program of {frozen.size} values on a tape")

    def __dealloc__(self):
        free(self.values)
        free(self.places)

    @cython.cfunc
    @cython.exceptval(-1)
    def load(self, inputs: list) -> cython.int:
        """Makes a value on the tape of each input."""
        store: cython.pointer(Store) = self.store
        k: cython.Py_ssize_t
        x: Var
        for k in range(self.frozen.inputs_size):
            item: object = inputs[k]
            if type(item) is not Var or cython.cast(Var, item).index < 0:
                item = placed(self.tape, item.value if type(item) is Var else as_number(item))
            check_owner(store, item)
            x = item
            self.values[k] = x.number
            self.places[k] = x.index
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def record(self, i: cython.Py_ssize_t) -> cython.int:
        """Puts instruction i on the tape."""
        frozen: Frozen = self.frozen
        store: cython.pointer(Store) = self.store
        op: cython.int = frozen.ops[i]
        kinds: cython.int = OPERANDS[op]
        lhs: int32_t = self.places[frozen.lhs[i]] if kinds & LHS_VALUE else self.immediate(frozen.lhs[i])
        rhs: int32_t = 0
        if OPERANDS[BASES[op]] & RHS_VALUE:
            rhs = self.places[frozen.rhs[i]] if kinds & RHS_VALUE else self.immediate(frozen.rhs[i])
        if store.size == store.capacity:
            grow(store)
        place: int32_t = put(store, op, lhs, rhs, self.values[i])
        if kinds & THIRD_VALUE:
            store.third[place] = self.places[frozen.third[i]]
        self.places[i] = place
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def immediate(self, index: int32_t) -> int32_t:
        store: cython.pointer(Store) = self.store
        if store.constants_size == store.constants_capacity:
            grow_constants(store)
        return keep(store, self.frozen.constants[index])

    @cython.cfunc
    def run(self, inputs: list) -> list:
        frozen: Frozen = self.frozen
        store: cython.pointer(Store) = self.store
        self.load(inputs)
        if frozen.third is not cython.NULL:
            if store.capacity == 0:
                grow(store)
            grow_third(store)
        forward_1(cython.address(frozen.code), self.values, frozen.inputs_size, frozen.size)
        broken: Broken = first_broken(frozen, self.values, 1, 0)
        if broken.guard >= 0:
            raise_broken(broken, "this point")
        i: cython.Py_ssize_t
        for i in range(frozen.inputs_size, frozen.size):
            self.record(i)
        for i in range(frozen.guards_size):
            self.guard(frozen.guards[i])
        outputs: list = []
        for i in range(frozen.outputs_size):
            place: int32_t = frozen.outputs[i]
            if place < 0:
                outputs.append(constant(store, frozen.constants[-1 - place]))
            else:
                outputs.append(recorded(store, self.places[place]))
        return outputs

    @cython.cfunc
    @cython.exceptval(-1)
    def guard(self, entry: Guard) -> cython.int:
        if entry.lhs >= 0:
            entry.lhs = self.places[entry.lhs]
        if entry.rhs >= 0:
            entry.rhs = self.places[entry.rhs]
        return keep_guard(self.store, entry)


def inlined(frozen: Frozen, tape: Recording, inputs: list) -> list:
    return Inlining(frozen, tape).run(inputs)
