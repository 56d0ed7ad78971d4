# cython: c_api_binop_methods=True, binding=False, embedsignature=True, embedsignature.format=clinic, auto_pickle=False
"""Conditions: what comparisons of variables give, and the guards that branching on them leaves in the recording.

In: two operands of a comparison. Out: a `Condition`; guards, which a frozen program checks.
"""

import cython
import numpy
from cython.cimports.libc.stdint import int32_t, uint8_t
from cython.cimports.tapegrad.scalar.kernels import evaluate
from cython.cimports.tapegrad.scalar.opcodes import CV, VC
from cython.cimports.tapegrad.scalar.recording import Guard, Operand, Recording, Store, enlarged

from tapegrad.errors import OperandError, StaleVarError, TapeMismatchError


@cython.no_gc  # it points to a tape, and nothing points to it
@cython.freelist(64)  # more than are alive in any expression
@cython.cclass
class Condition:
    """What a comparison of `Var`s gives: true or false by value, and known to the tape.

    Branching on it (`if x > 0:`) makes it a guard of the recording; `where(x > 0, a, b)` records the choice instead.
    """

    def __bool__(self):
        guard(self)
        return self.outcome

    def __and__(left, right):
        return bool(left) & bool(right) if isinstance(left, TRUTHS) and isinstance(right, TRUTHS) else NotImplemented

    def __or__(left, right):
        return bool(left) | bool(right) if isinstance(left, TRUTHS) and isinstance(right, TRUTHS) else NotImplemented

    def __eq__(self, other):
        return bool(self) == other

    def __repr__(self):
        return f"Condition({bool(self.outcome)})"


TRUTHS = (Condition, bool, numpy.bool_)


def condition(store: cython.pointer(Store), op: cython.int, a: Operand, b: Operand) -> object:
    """The comparison op of a and b: a bool among constants, else a Condition."""
    outcome: cython.bint = evaluate(op, a.value, b.value) != 0.0
    if a.index < 0 and b.index < 0:
        return outcome
    comparison: Condition = Condition.__new__(Condition)
    comparison.tape = cython.cast(Recording, store.owner)
    comparison.generation = store.generation
    comparison.outcome = outcome
    comparison.op = op if a.index >= 0 and b.index >= 0 else op + VC if a.index >= 0 else op + CV
    comparison.constant = b.value if b.index < 0 else a.value
    comparison.lhs = a.index
    comparison.rhs = b.index
    return comparison


def check_condition(x: Condition) -> cython.int:
    """Raises unless x was made on its tape's present recording."""
    if x.tape is None:
        raise OperandError("a Condition is made by comparing Vars, not by Condition()")
    if x.generation != x.tape.store.generation:
        raise StaleVarError("this comparison was made before tape.reset(); compare again after the reset")
    return 0


def check_condition_owner(store: cython.pointer(Store), x: object) -> cython.int:
    """Raises if x is a Condition of another tape."""
    if type(x) is Condition:
        comparison: Condition = cython.cast(Condition, x)
        check_condition(comparison)
        if cython.address(comparison.tape.store) is not store:
            raise TapeMismatchError("this comparison was made on another tape; compare Vars of this tape")
    return 0


@cython.cfunc
@cython.exceptval(-1)
def guard(x: Condition) -> cython.int:
    """Notes that the recorded function branched on x, once per comparison."""
    check_condition(x)
    if x.guarded:
        return 0
    entry: Guard
    entry.constant = x.constant
    entry.lhs = x.lhs
    entry.rhs = x.rhs
    entry.op = cython.cast(uint8_t, x.op)
    entry.outcome = x.outcome
    keep_guard(cython.address(x.tape.store), entry)
    x.guarded = True
    return 0


def keep_guard(store: cython.pointer(Store), entry: Guard) -> cython.int:
    """Adds a guard to a recording, and numbers it."""
    index: cython.Py_ssize_t = store.guards_size
    if index == store.guards_capacity:
        count: cython.Py_ssize_t = index * 2 if index else 16
        store.guards = cython.cast(cython.pointer(Guard), enlarged(store.guards, count, cython.sizeof(Guard), "guards"))
        store.guards_capacity = count
    entry.number = cython.cast(int32_t, index)
    store.guards[index] = entry
    store.guards_size = index + 1
    return 0
