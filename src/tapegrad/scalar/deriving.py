# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""Deriving: from the instructions of a program to those of its tangent or its gradient.

In: a `Frozen`. Out: another one. The rules of the operations (shares.h, made of src/tapegrad/rules) say what a value
hands on to its operands; forward and reverse are two orders in which that is asked.
"""

import cython
from cython.cimports.libc.stdint import int32_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.tapegrad.scalar.emitting import emitted
from cython.cimports.tapegrad.scalar.freezing import Frozen
from cython.cimports.tapegrad.scalar.graph import Graph
from cython.cimports.tapegrad.scalar.opcodes import (
    BASES,
    CONSTANT,
    LHS_VALUE,
    LIVE_MUL,
    OPERANDS,
    RHS_VALUE,
    SELECT,
    THIRD_VALUE,
    WHERE,
)

# Where a share finds what it is made of (shares.py); its steps go to the slots behind.
VALUE = cython.declare(cython.int, 3)
COTANGENT = cython.declare(cython.int, 4)
# A program of more operations than this no longer fits into the processor's caches, and takes minutes to make.
MOST_OPERATIONS: cython.Py_ssize_t = 4_000_000


@cython.final
@cython.cclass
class Derivation:
    """A program being derived: the graph of what is computed, and where each value and its derivative are in it."""

    primal: Frozen
    graph: Graph
    values: cython.pointer(int32_t)  # per value of the primal: its node
    slopes: cython.pointer(int32_t)  # and that of its tangent or adjoint; -1 for none
    slots: int32_t[64]
    active: cython.Py_ssize_t  # inputs that it is differentiated by; those behind are held fixed
    scale: int32_t  # forward, of a single input: its tangent, by which all slopes are multiplied in the end; else -1

    def __cinit__(self, primal: Frozen, active: cython.Py_ssize_t):
        self.primal = primal
        self.active = active
        self.scale = -1
        self.graph = Graph()
        count: cython.size_t = primal.size + 1
        self.values = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        self.slopes = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        if self.values is cython.NULL or self.slopes is cython.NULL:
            raise MemoryError(f"no memory to derive a program of {primal.size} values")
        i: cython.Py_ssize_t
        for i in range(primal.size):
            self.slopes[i] = -1
        for i in range(primal.inputs_size):
            self.values[i] = self.graph.input()

    def __dealloc__(self):
        free(self.values)
        free(self.slopes)

    @cython.cfunc
    @cython.exceptval(-1)
    def operand(self, is_value: cython.bint, index: int32_t) -> int32_t:
        return self.values[index] if is_value else self.graph.constant(self.primal.constants[index])

    @cython.cfunc
    @cython.exceptval(-1)
    def load(self, i: cython.Py_ssize_t) -> cython.int:
        """Puts the operands of an instruction where shares find them; the answer is its operation."""
        primal: Frozen = self.primal
        op: cython.int = primal.ops[i]
        base: cython.int = BASES[op]
        self.slots[0] = self.operand(OPERANDS[op] & LHS_VALUE, primal.lhs[i])
        if OPERANDS[base] & RHS_VALUE:
            self.slots[1] = self.operand(OPERANDS[op] & RHS_VALUE, primal.rhs[i])
        if OPERANDS[base] & THIRD_VALUE:
            self.slots[2] = self.values[primal.third[i]]
        if base == WHERE:
            self.slots[2] = self.values[i - 1]
            return SELECT
        return base

    @cython.cfunc
    @cython.exceptval(-1)
    def compute(self, i: cython.Py_ssize_t) -> cython.int:
        """Instruction i itself; the answer is its operation."""
        op: cython.int = self.load(i)
        if op == CONSTANT:
            self.values[i] = self.slots[0]
        else:
            self.values[i] = self.graph.apply(op, self.slots[0], self.slots[1], self.slots[2])
        self.slots[VALUE] = self.values[i]
        return op

    @cython.cfunc
    @cython.exceptval(-2)
    def handed_on(self, op: cython.int, operand: cython.int, slope: int32_t) -> int32_t:
        """The share of an operand of the instruction that is loaded."""
        self.slots[COTANGENT] = slope
        return self.graph.share(op, operand, self.slots)

    @cython.cfunc
    @cython.exceptval(-1)
    def forward(self) -> cython.int:
        """Values and tangents, one instruction after the other. The tangents of the inputs are inputs too.

        With a single one, all tangents are multiples of it: it is 1 until the end, which saves a product in each step.
        """
        primal: Frozen = self.primal
        graph: Graph = self.graph
        slopes: cython.pointer(int32_t) = self.slopes
        i: cython.Py_ssize_t
        for i in range(self.active):
            slopes[i] = graph.input()
        if self.active == 1:
            self.scale = slopes[0]
            slopes[0] = graph.constant(1.0)
        for i in range(primal.inputs_size, primal.size):
            self.advance(i, self.compute(i))
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def advance(self, i: cython.Py_ssize_t, op: cython.int) -> cython.int:
        """The tangent of instruction i, which is loaded."""
        primal: Frozen = self.primal
        graph: Graph = self.graph
        slopes: cython.pointer(int32_t) = self.slopes
        are_values: cython.int = OPERANDS[primal.ops[i]]
        if are_values & LHS_VALUE and slopes[primal.lhs[i]] >= 0:
            slopes[i] = self.handed_on(op, 0, slopes[primal.lhs[i]])
        if are_values & RHS_VALUE and slopes[primal.rhs[i]] >= 0:
            slopes[i] = graph.total(slopes[i], self.handed_on(op, 1, slopes[primal.rhs[i]]))
        if are_values & THIRD_VALUE and slopes[primal.third[i]] >= 0:
            slopes[i] = graph.total(slopes[i], self.handed_on(op, 2, slopes[primal.third[i]]))
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def has_tangent(self, i: cython.Py_ssize_t) -> cython.bint:
        """Whether an operand of instruction i has one."""
        primal: Frozen = self.primal
        are_values: cython.int = OPERANDS[primal.ops[i]]
        return (
            (are_values & LHS_VALUE and self.slopes[primal.lhs[i]] >= 0)
            or (are_values & RHS_VALUE and self.slopes[primal.rhs[i]] >= 0)
            or (are_values & THIRD_VALUE and self.slopes[primal.third[i]] >= 0)
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def sweep(self, colours: int32_t[::1], colour: int32_t, reverse: cython.bint) -> cython.int:
        """The slopes where all inputs (in reverse: outputs) of a colour have slope one, the values being there."""
        primal: Frozen = self.primal
        graph: Graph = self.graph
        slopes: cython.pointer(int32_t) = self.slopes
        one: int32_t = graph.constant(1.0)
        i: cython.Py_ssize_t
        for i in range(primal.size):
            slopes[i] = -1
        for i in range(colours.shape[0]):
            if colours[i] == colour:
                place: int32_t = primal.outputs[i] if reverse else cython.cast(int32_t, i)
                if place >= 0:
                    slopes[place] = graph.total(slopes[place], one) if reverse else one
        if reverse:
            self.retreat()
            return 0
        for i in range(primal.inputs_size, primal.size):
            if self.has_tangent(i):
                op: cython.int = self.load(i)
                self.slots[VALUE] = self.values[i]
                self.advance(i, op)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def reverse(self, weighted: cython.bint) -> cython.int:
        """All values, then the adjoints from the last to the first. The weights of the outputs are inputs too."""
        primal: Frozen = self.primal
        graph: Graph = self.graph
        slopes: cython.pointer(int32_t) = self.slopes
        i: cython.Py_ssize_t
        place: int32_t
        first: int32_t = cython.cast(int32_t, primal.inputs_size)
        if weighted:
            for _ in range(primal.outputs_size):
                graph.input()
        for i in range(primal.inputs_size, primal.size):
            self.compute(i)
        for i in range(primal.outputs_size):
            place = primal.outputs[i]
            if place >= 0:
                seed: int32_t = first + cython.cast(int32_t, i) if weighted else graph.constant(1.0)
                slopes[place] = graph.total(slopes[place], seed)
        self.retreat()
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def retreat(self) -> cython.int:
        """The adjoints from the last to the first, those of the outputs being there."""
        primal: Frozen = self.primal
        graph: Graph = self.graph
        slopes: cython.pointer(int32_t) = self.slopes
        i: cython.Py_ssize_t
        place: int32_t
        for i in range(primal.size - 1, primal.inputs_size - 1, -1):
            if slopes[i] < 0:
                continue
            op: cython.int = self.load(i)
            self.slots[VALUE] = self.values[i]
            are_values: cython.int = OPERANDS[primal.ops[i]]
            if are_values & LHS_VALUE:
                place = primal.lhs[i]
                slopes[place] = graph.total(slopes[place], self.handed_on(op, 0, slopes[i]))
            if are_values & RHS_VALUE:
                place = primal.rhs[i]
                slopes[place] = graph.total(slopes[place], self.handed_on(op, 1, slopes[i]))
            if are_values & THIRD_VALUE:
                place = primal.third[i]
                slopes[place] = graph.total(slopes[place], self.handed_on(op, 2, slopes[i]))
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def node_of_output(self, m: cython.Py_ssize_t) -> int32_t:
        place: int32_t = self.primal.outputs[m]
        return self.values[place] if place >= 0 else self.graph.constant(self.primal.constants[-1 - place])

    @cython.cfunc
    @cython.exceptval(-1)
    def node_of_slope(self, place: int32_t) -> int32_t:
        if place < 0 or self.slopes[place] < 0:
            return self.graph.constant(0.0)
        if self.scale < 0:
            return self.slopes[place]
        return self.graph.apply(LIVE_MUL, self.scale, self.slopes[place], -1)

    @cython.cfunc
    def finished(self, of_inputs: cython.bint, with_values: cython.bint) -> Frozen:
        """The program: values, if they are wanted, then the slopes of the inputs or of the outputs."""
        primal: Frozen = self.primal
        values: cython.Py_ssize_t = primal.outputs_size if with_values else 0
        slopes: cython.Py_ssize_t = self.active if of_inputs else primal.outputs_size
        outputs: cython.pointer(int32_t) = cython.cast(
            cython.pointer(int32_t), malloc(cython.cast(cython.size_t, values + slopes + 1) * 4)
        )
        if outputs is cython.NULL:
            raise MemoryError(f"no memory for a derivative with {values + slopes} outputs")
        try:
            k: cython.Py_ssize_t
            for k in range(values):
                outputs[k] = self.node_of_output(k)
            for k in range(slopes):
                outputs[values + k] = self.node_of_slope(cython.cast(int32_t, k) if of_inputs else primal.outputs[k])
            return emitted(self.graph, outputs, values + slopes, primal, self.values)
        finally:
            free(outputs)


def tangent_of(primal: Frozen, active: cython.Py_ssize_t, with_values: cython.bint) -> Frozen:
    derivation: Derivation = Derivation(primal, active)
    derivation.forward()
    return derivation.finished(False, with_values)


def gradient_of(primal: Frozen, active: cython.Py_ssize_t, weighted: cython.bint, with_values: cython.bint) -> Frozen:
    derivation: Derivation = Derivation(primal, active)
    derivation.reverse(weighted)
    return derivation.finished(True, with_values)


def entries_of(
    primal: Frozen,
    colours: int32_t[::1],
    count: cython.Py_ssize_t,
    reverse: cython.bint,
    order: int32_t[::1],
    colour_of: int32_t[::1],
    slope_of: int32_t[::1],
) -> Frozen:
    """The instructions of entries of the Jacobian, each from the sweep of its colour.

    order: the entries, those of the first colour first. colour_of: the colour of each. slope_of: the output whose
    tangent it is, or the input whose adjoint. All sweeps share what they have in common, and what no entry needs is
    not computed: seeds are ones, and most of what they are multiplied by falls away.
    """
    derivation: Derivation = Derivation(primal, primal.inputs_size)
    entries: cython.Py_ssize_t = order.shape[0]
    i: cython.Py_ssize_t
    for i in range(primal.inputs_size, primal.size):
        derivation.compute(i)
    outputs: cython.pointer(int32_t) = cython.cast(
        cython.pointer(int32_t), malloc(cython.cast(cython.size_t, entries + 1) * 4)
    )
    if outputs is cython.NULL:
        raise MemoryError(f"no memory for a sparse derivative of {entries} entries")
    try:
        place: cython.Py_ssize_t = 0
        colour: int32_t
        for colour in range(cython.cast(int32_t, count)):
            derivation.sweep(colours, colour, reverse)
            if derivation.graph.size > MOST_OPERATIONS:
                return None
            while place < entries and colour_of[order[place]] == colour:
                slope: int32_t = slope_of[order[place]]
                outputs[order[place]] = derivation.node_of_slope(slope if reverse else primal.outputs[slope])
                place += 1
        return emitted(derivation.graph, outputs, entries, primal, derivation.values)
    finally:
        free(outputs)
