# cython: cdivision=True, boundscheck=False, wraparound=False
# cython: binding=False, embedsignature=True, embedsignature.format=clinic, auto_pickle=False
"""The tape: a reusable recording of operations on numbers, and the backward pass over it.

In: numbers, as `var` and `const`. Out: values and gradients, or a frozen `Program`.
"""

import cython
from cython.cimports.cpython.float import PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cython.cimports.libc.stdint import uintptr_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tapegrad.scalar.conditions import check_condition_owner
from cython.cimports.tapegrad.scalar.inlining import backward_any
from cython.cimports.tapegrad.scalar.kernels import backward_1, code
from cython.cimports.tapegrad.scalar.operations import Operations
from cython.cimports.tapegrad.scalar.recording import Guard, Store, enlarged
from cython.cimports.tapegrad.scalar.replaying import code_of, operands_at
from cython.cimports.tapegrad.scalar.variables import (
    Var,
    as_number,
    check_owner,
    choose,
    constant,
    on_tape,
    variable,
)

from tapegrad.errors import ConstantError, OperandError
from tapegrad.scalar.showing import shown_tape
from tapegrad.scalar.stats import Stats


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def place_adjoints(store: cython.pointer(Store)) -> cython.void:
    """Puts the adjoints half a page away from the values, modulo a page.

    The sweep reads values[i] and writes adjoints[i] at the same time. Where their addresses agree in the last twelve
    bits, which malloc makes likely, the processor takes a load for one that must wait for the store.
    """
    start: uintptr_t = cython.cast(uintptr_t, store.adjoints_memory)
    apart: uintptr_t = (cython.cast(uintptr_t, store.values) + 2048 - start) & 4088
    store.adjoints = cython.cast(cython.p_double, start + apart)


@cython.cfunc
@cython.exceptval(-1)
def make_room(store: cython.pointer(Store), count: cython.Py_ssize_t) -> cython.int:
    """Room for count adjoints, at least twice as much as before, so that it grows as seldom as the tape does."""
    room: cython.Py_ssize_t = max(count, 2 * store.adjoints_capacity, 64)
    moved: cython.p_void = malloc(cython.cast(cython.size_t, room) * 8 + 4096)
    if moved is cython.NULL:
        raise MemoryError(f"no memory for {room} adjoints")
    if store.adjoints_size > 0:
        memcpy(moved, store.adjoints, store.adjoints_size * 8)
    free(store.adjoints_memory)
    store.adjoints_memory = moved
    store.adjoints = cython.cast(cython.p_double, moved)
    store.adjoints_capacity = room
    return 0


@cython.cfunc
@cython.exceptval(-1)
def make_scratch(store: cython.pointer(Store), count: cython.Py_ssize_t) -> cython.int:
    """Likewise for the sweep of a further backward call."""
    room: cython.Py_ssize_t = max(count, 2 * store.scratch_capacity, 64)
    store.scratch = cython.cast(
        cython.p_double, enlarged(store.scratch, room, 8, "adjoints of a further backward call")
    )
    store.scratch_capacity = room
    return 0


@cython.cclass
class Tape(Operations):
    """A reusable recording of scalar operations.

    >>> import tapegrad
    >>> tape = tapegrad.Tape()
    >>> x = tape.var(3.0)
    >>> y = x * x + tapegrad.sin(x)
    >>> tape.backward(y)
    >>> x.grad
    5.010007503399555
    >>> tape.reset()
    """

    def __init__(self):  # without it, any arguments would be ignored
        pass

    def var(self, value):
        """A new input with this value."""
        if PyFloat_CheckExact(value):
            return variable(cython.address(self.store), PyFloat_AS_DOUBLE(value))
        return variable(cython.address(self.store), as_number(value))

    def const(self, value):
        """A constant: operations on constants alone are not recorded. It stays usable after `reset`."""
        return constant(cython.address(self.store), as_number(value))

    def where(self, condition, x, y):
        """x where the condition holds, else y; see `tapegrad.where`."""
        check_owner(cython.address(self.store), condition)
        check_condition_owner(cython.address(self.store), condition)
        check_owner(cython.address(self.store), x)
        check_owner(cython.address(self.store), y)
        return on_tape(cython.address(self.store), choose(condition, x, y))

    def backward(self, y, seed: cython.double = 1.0):
        """Adds seed * dy/dv to the adjoint of every value v that y depends on.

        Repeated calls add up, for one output or several, until `zero_grad` or `reset`.
        """
        if type(y) is not Var:
            raise ConstantError(f"expected the Var to differentiate, got {type(y).__name__}: {y!r:.60}; {ADVICE}")
        store: cython.pointer(Store) = cython.address(self.store)
        if cython.cast(Var, y).store is not store or cython.cast(Var, y).generation != store.generation:
            check_owner(store, y)
        end: cython.Py_ssize_t = cython.cast(Var, y).index + 1
        if end == 0:
            raise ConstantError(f"{y!r} depends on no variable of this tape, so it has no gradient; {ADVICE}")
        again: cython.bint = store.adjoints_size > 0
        if store.adjoints_capacity < end:
            make_room(store, end)
        if not again:
            place_adjoints(store)
        elif store.scratch_capacity < end:
            make_scratch(store, end)
        # A further call must not propagate what an earlier one left in the adjoints, so it sweeps apart and is added.
        swept: cython.p_double = store.scratch if again else store.adjoints
        memset(swept, 0, end * 8)
        swept[end - 1] = seed
        program: code
        program.ops = store.ops
        program.lhs = store.lhs
        program.rhs = store.rhs
        program.constants = store.constants
        # The GIL is kept: another thread must not grow the tape meanwhile, and letting go takes 20 ns.
        if store.has_derivatives:
            backward_any(store, swept, end)
        else:
            backward_1(cython.address(program), store.values, swept, end)
        if not again:
            store.adjoints_size = end
            return
        if end > store.adjoints_size:
            memset(store.adjoints + store.adjoints_size, 0, (end - store.adjoints_size) * 8)
            store.adjoints_size = end
        i: cython.Py_ssize_t
        for i in range(end):
            store.adjoints[i] += swept[i]

    def zero_grad(self):
        """Forgets all gradients; the recording stays."""
        self.store.adjoints_size = 0

    def reset(self):
        """Forgets recording and gradients, keeps the memory for the next recording. Earlier `Var`s become stale."""
        self.store.size = 0
        self.store.has_derivatives = False
        self.store.inputs = 0
        self.store.constants_size = 0
        self.store.guards_size = 0
        self.store.adjoints_size = 0
        self.store.generation += 1

    def value(self, x):
        """The number of x, a Var of this tape or a plain number, as a float."""
        check_owner(cython.address(self.store), x)
        return x.value if type(x) is Var else as_number(x)

    def grad(self, x):
        """The gradient gathered at x since the last `zero_grad`; 0.0 for a constant."""
        if type(x) is not Var:
            raise OperandError(f"expected a Var of this tape, got {type(x).__name__}: {x!r:.60}")
        check_owner(cython.address(self.store), x)
        return x.grad

    def stats(self):
        """Exact counts of what the tape holds, as `Stats`."""
        nbytes: cython.Py_ssize_t = (
            self.store.size * (1 + 4 + 4 + 8 + (4 if self.store.has_derivatives else 0))
            + self.store.constants_size * 8
            + self.store.guards_size * cython.sizeof(Guard)
        )
        return Stats(
            self.store.size,
            self.store.adjoints_size,
            self.store.size - self.store.inputs,
            self.store.constants_size,
            nbytes,
        )

    def freeze(self, inputs, outputs):
        """The recorded function as a `Program` that replays without Python: dead code removed, constants folded.

        inputs: the `Var`s made by `var` that become arguments; other variables become constants.
        outputs: one Var, or a sequence of them.
        """
        from tapegrad.scalar.program import Program

        return Program(self, inputs, outputs)

    def __str__(self):
        """Every instruction with its value and adjoint; of long tapes the first and the last."""
        return shown_tape(self)

    def __repr__(self):
        return f"Tape({self.store.size - self.store.inputs} instructions, {self.store.inputs} variables)"


ADVICE = "differentiate something computed from tape.var(...)"


def instruction(tape: Operations, i: cython.Py_ssize_t):
    """For print: the opcode of a value, its operands (an index, or a float for a constant), number and adjoint."""
    store: cython.pointer(Store) = cython.address(tape.store)
    if not 0 <= i < store.size:
        raise IndexError(i)
    recorded: code = code_of(store)
    operands: list = operands_at(cython.address(recorded), i)
    return store.ops[i], operands, store.values[i], store.adjoints[i] if i < store.adjoints_size else 0.0
