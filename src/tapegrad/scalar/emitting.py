# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""Emitting: from a graph to the instructions of a program, without those that nothing needs.

In: a graph, and the nodes that are outputs. Out: a `Frozen`. A product that only one sum needs is part of its
instruction.
"""

import cython
from cython.cimports.libc.stdint import int32_t, int64_t, uint8_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.tapegrad.scalar.freezing import Frozen
from cython.cimports.tapegrad.scalar.graph import Graph
from cython.cimports.tapegrad.scalar.opcodes import (
    ADD,
    BOTH,
    BOTH_ADD,
    BOTH_SUB,
    CC,
    CONSTANT,
    CV,
    INPUT,
    LIVE_ADD,
    LIVE_MUL,
    LIVE_SUB,
    MUL,
    MUL_ADD,
    MUL_SUB,
    OPERANDS,
    RHS_VALUE,
    SUB,
    THIRD_VALUE,
    VC,
    VV,
)
from cython.cimports.tapegrad.scalar.recording import Guard

SEVERAL = cython.declare(cython.int, 2)
# Instructions that stand together because each needs the one before. A sweep over one point keeps the last value in a
# register, and a value that comes from memory takes twice as long to go on with. Runs so short that the processor sees
# the next one before this one is done are computed side by side: the tangent of Horner's rule takes 1.4 times as long
# as its value, 2.3 times with value and tangent in turn, 2.0 times in runs of 32 (benchmarks/derivatives.py).
RUN = cython.declare(cython.int, 4)


@cython.final
@cython.cclass
class Emitter:
    """Copies the nodes that are needed into a Frozen. Lives only while that is made."""

    graph: Graph
    frozen: Frozen
    uses: cython.pointer(int32_t)  # per node: how many need it; 0 for none, negative where a sum has taken it over
    places: cython.pointer(int32_t)  # its place in the program; -1 where it has none yet
    starts: cython.pointer(int32_t)  # where its users begin
    users: cython.pointer(int32_t)  # the nodes whose instructions need it, in their order
    heights: cython.pointer(int32_t)  # how many instructions wait for it, one for the other, until the last

    def __cinit__(self, graph: Graph, frozen: Frozen):
        self.graph = graph
        self.frozen = frozen
        count: cython.size_t = graph.size + 1
        self.uses = cython.cast(cython.pointer(int32_t), calloc(count, 4))
        self.places = cython.cast(cython.pointer(int32_t), calloc(count, 4))
        self.starts = cython.cast(cython.pointer(int32_t), calloc(count + 1, 4))
        self.users = cython.cast(cython.pointer(int32_t), calloc(3 * count, 4))
        self.heights = cython.cast(cython.pointer(int32_t), calloc(count, 4))
        if (
            self.uses is cython.NULL
            or self.places is cython.NULL
            or self.starts is cython.NULL
            or self.users is cython.NULL
            or self.heights is cython.NULL
        ):
            raise MemoryError(f"no memory for a derivative of {graph.size} operations")

    def __dealloc__(self):
        free(self.uses)
        free(self.places)
        free(self.starts)
        free(self.users)
        free(self.heights)

    @cython.cfunc
    @cython.exceptval(check=False)
    def need(self, node: int32_t, times: cython.int) -> cython.void:
        if node >= 0:
            self.uses[node] += times

    @cython.cfunc
    @cython.exceptval(check=False)
    def count_uses(self) -> cython.void:
        """How often each node is used. The caller has marked what is needed outside."""
        graph: Graph = self.graph
        k: cython.Py_ssize_t
        for k in range(graph.size - 1, -1, -1):
            if self.uses[k]:
                self.need(graph.x[k], 1)
                self.need(graph.y[k], 1)
                self.need(graph.z[k], 1)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def can_be_taken(self, node: int32_t, other: int32_t) -> cython.bint:
        """Whether a sum with another node may compute this product itself."""
        op: cython.int = self.graph.ops[node]
        return node != other and self.uses[node] == 1 and op in (MUL, LIVE_MUL, BOTH)

    @cython.cfunc
    @cython.exceptval(check=False)
    def take_over(self) -> cython.void:
        """Marks the products that a sum computes itself: the second operand if it can, else the first."""
        graph: Graph = self.graph
        k: cython.Py_ssize_t
        for k in range(graph.size):
            if not self.uses[k] or (graph.ops[k] != ADD and graph.ops[k] != SUB):
                continue
            if self.can_be_taken(graph.y[k], graph.x[k]):
                self.uses[graph.y[k]] = -1
            elif graph.ops[k] == ADD and self.can_be_taken(graph.x[k], graph.y[k]):
                self.uses[graph.x[k]] = -1

    @cython.cfunc
    @cython.exceptval(check=False)
    def immediate(self, number: cython.double) -> int32_t:
        frozen: Frozen = self.frozen
        frozen.constants[frozen.constants_size] = number
        frozen.constants_size += 1
        return cython.cast(int32_t, frozen.constants_size - 1)

    @cython.cfunc
    @cython.exceptval(check=False)
    def operand(self, node: int32_t) -> int32_t:
        """The place of a value, or the index of a constant."""
        if self.graph.ops[node] == CONSTANT:
            return self.immediate(self.graph.numbers[node])
        return self.places[node]

    @cython.cfunc
    @cython.exceptval(check=False)
    def put(self, op: cython.int, lhs: int32_t, rhs: int32_t, third: int32_t) -> int32_t:
        frozen: Frozen = self.frozen
        index: cython.Py_ssize_t = frozen.size
        frozen.ops[index] = cython.cast(uint8_t, op)
        frozen.lhs[index] = lhs
        frozen.rhs[index] = rhs
        frozen.third[index] = third
        frozen.size = index + 1
        return cython.cast(int32_t, index)

    @cython.cfunc
    @cython.exceptval(check=False)
    def third_of(self, node: int32_t) -> int32_t:
        """The operand of a node that will be the third of its instruction; -1 if it has none."""
        graph: Graph = self.graph
        op: cython.int = graph.ops[node]
        if op in (ADD, SUB):
            if self.uses[graph.y[node]] < 0:
                return graph.x[node]
            return graph.y[node] if self.uses[graph.x[node]] < 0 else -1
        return graph.z[node]

    @cython.cfunc
    @cython.exceptval(check=False)
    def put_constants(self) -> cython.void:
        """Third operands must be values. Those that are constants stand behind the inputs, where nothing runs."""
        graph: Graph = self.graph
        k: cython.Py_ssize_t
        for k in range(graph.size):
            third: int32_t = self.third_of(cython.cast(int32_t, k)) if self.uses[k] > 0 else -1
            if third >= 0 and graph.ops[third] == CONSTANT and self.places[third] < 0:
                self.places[third] = self.put(CONSTANT, self.immediate(graph.numbers[third]), 0, 0)

    @cython.cfunc
    @cython.exceptval(check=False)
    def emit(self, op: cython.int, x: int32_t, y: int32_t, z: int32_t) -> int32_t:
        """An instruction; its place."""
        graph: Graph = self.graph
        third: int32_t = self.places[z] if OPERANDS[op] & THIRD_VALUE else 0
        if not OPERANDS[op] & RHS_VALUE:
            return self.put(op, self.places[x], 0, third)
        left: cython.bint = graph.ops[x] != CONSTANT
        right: cython.bint = graph.ops[y] != CONSTANT
        form: cython.int = VV if left and right else VC if left else CV if right else CC
        return self.put(op + form, self.operand(x), self.operand(y), third)

    @cython.cfunc
    @cython.exceptval(check=False)
    def emit_sum(self, node: int32_t) -> int32_t:
        """A sum, with the product that it has taken over."""
        graph: Graph = self.graph
        adds: cython.bint = graph.ops[node] == ADD
        other: int32_t = self.third_of(node)
        if other < 0:
            return self.emit(graph.ops[node], graph.x[node], graph.y[node], -1)
        taken: int32_t = graph.x[node] if other == graph.y[node] else graph.y[node]
        op: cython.int = graph.ops[taken]
        if op == MUL:
            op = MUL_ADD if adds else MUL_SUB
        elif op == LIVE_MUL:
            op = LIVE_ADD if adds else LIVE_SUB
        else:
            op = BOTH_ADD if adds else BOTH_SUB
        return self.emit(op, graph.x[taken], graph.y[taken], other)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def is_instruction(self, node: int32_t) -> cython.bint:
        op: cython.int = self.graph.ops[node]
        return self.uses[node] > 0 and op != INPUT and op != CONSTANT

    @cython.cfunc
    @cython.exceptval(check=False)
    def operands_of(self, node: int32_t, operands: cython.pointer(int32_t)) -> cython.void:
        """The nodes that the instruction of a node needs; -1 in place of one that it does not have."""
        graph: Graph = self.graph
        taken: int32_t = node
        operands[2] = self.third_of(node)
        if graph.ops[node] in (ADD, SUB) and operands[2] >= 0:
            taken = graph.x[node] if operands[2] == graph.y[node] else graph.y[node]
        operands[0] = graph.x[taken]
        operands[1] = graph.y[taken]

    @cython.cfunc
    @cython.exceptval(check=False)
    def link_users(self) -> cython.void:
        """Who needs whom, of instructions: from the last to the first, so that each part is filled from behind."""
        operands: int32_t[3]
        k: cython.Py_ssize_t
        j: cython.int
        for k in range(self.graph.size):
            if self.is_instruction(cython.cast(int32_t, k)):
                self.operands_of(cython.cast(int32_t, k), operands)
                for j in range(3):
                    if operands[j] >= 0 and self.is_instruction(operands[j]):
                        self.starts[operands[j]] += 1
        for k in range(1, self.graph.size + 1):
            self.starts[k] += self.starts[k - 1]
        for k in range(self.graph.size - 1, -1, -1):
            if self.is_instruction(cython.cast(int32_t, k)):
                self.operands_of(cython.cast(int32_t, k), operands)
                for j in range(3):
                    if operands[j] >= 0 and self.is_instruction(operands[j]):
                        self.starts[operands[j]] -= 1
                        self.users[self.starts[operands[j]]] = cython.cast(int32_t, k)
                        self.heights[operands[j]] = max(self.heights[operands[j]], self.heights[k] + 1)

    @cython.cfunc
    @cython.exceptval(check=False)
    def is_ready(self, node: int32_t) -> cython.bint:
        """Whether the instruction of a node can come next."""
        operands: int32_t[3]
        j: cython.int
        if self.places[node] >= 0:
            return False
        self.operands_of(node, operands)
        for j in range(3):
            if operands[j] >= 0 and self.places[operands[j]] < 0 and self.graph.ops[operands[j]] != CONSTANT:
                return False
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def following(self, node: int32_t) -> int32_t:
        """Of the nodes that need this one and can come next, the one for which most is waiting; -1 for none.

        Of several for which as much is waiting, the one that more need: it is on its way to all of the others.
        """
        best: int32_t = -1
        k: cython.Py_ssize_t
        for k in range(self.starts[node], self.starts[node + 1]):
            user: int32_t = self.users[k]
            if self.is_ready(user) and (best < 0 or self.waiting(user) > self.waiting(best)):
                best = user
        return best

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def waiting(self, node: int32_t) -> int64_t:
        """How much waits for a node, as one number: the height, then how many need it."""
        return (cython.cast(int64_t, self.heights[node]) << 32) + self.starts[node + 1] - self.starts[node]

    @cython.cfunc
    @cython.exceptval(check=False)
    def emit_node(self, node: int32_t) -> cython.void:
        graph: Graph = self.graph
        if graph.ops[node] in (ADD, SUB):
            self.places[node] = self.emit_sum(node)
        else:
            self.places[node] = self.emit(graph.ops[node], graph.x[node], graph.y[node], graph.z[node])

    @cython.cfunc
    @cython.exceptval(check=False)
    def emit_all(self) -> cython.void:
        """In the order of the graph, but in short runs in which each needs the one before."""
        graph: Graph = self.graph
        k: cython.Py_ssize_t
        for k in range(graph.size):
            self.places[k] = self.put(INPUT, 0, 0, 0) if graph.ops[k] == INPUT else -1
        self.put_constants()
        self.link_users()
        for k in range(graph.size):
            node: int32_t = cython.cast(int32_t, k)
            if self.places[k] >= 0 or not self.is_instruction(node):
                continue
            length: cython.int = 0
            while node >= 0 and length < RUN:
                self.emit_node(node)
                node = self.following(node)
                length += 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def guard(self, entry: Guard, values: cython.pointer(int32_t)) -> cython.void:
        """Keeps a guard of the primal."""
        frozen: Frozen = self.frozen
        graph: Graph = self.graph
        lhs: int32_t = values[entry.lhs] if entry.lhs >= 0 else -1
        rhs: int32_t = values[entry.rhs] if entry.rhs >= 0 else -1
        if lhs >= 0 and graph.ops[lhs] == CONSTANT:
            entry.constant = graph.numbers[lhs]
            lhs = -1
        if rhs >= 0 and graph.ops[rhs] == CONSTANT:
            entry.constant = graph.numbers[rhs]
            rhs = -1
        if lhs < 0 and rhs < 0:
            return
        entry.lhs = self.places[lhs] if lhs >= 0 else -1
        entry.rhs = self.places[rhs] if rhs >= 0 else -1
        frozen.guards[frozen.guards_size] = entry
        frozen.guards_size += 1


def emitted(
    graph: Graph,
    outputs: cython.pointer(int32_t),
    count: cython.Py_ssize_t,
    primal: Frozen,
    values: cython.pointer(int32_t),
) -> Frozen:
    """The program of these outputs, with the guards of the primal, whose values are these nodes."""
    frozen: Frozen = Frozen.__new__(Frozen)
    frozen.allocate(graph.size, 2 * graph.size + 2, primal.guards_size, graph.inputs, count)
    frozen.allocate_third()
    emitter: Emitter = Emitter(graph, frozen)
    k: cython.Py_ssize_t
    for k in range(count):
        emitter.need(outputs[k], SEVERAL)
    for k in range(primal.guards_size):
        if primal.guards[k].lhs >= 0:
            emitter.need(values[primal.guards[k].lhs], SEVERAL)
        if primal.guards[k].rhs >= 0:
            emitter.need(values[primal.guards[k].rhs], SEVERAL)
    emitter.count_uses()
    emitter.take_over()
    emitter.emit_all()
    for k in range(primal.guards_size):
        emitter.guard(primal.guards[k], values)
    for k in range(count):
        if graph.ops[outputs[k]] == CONSTANT:
            frozen.outputs[k] = -1 - emitter.immediate(graph.numbers[outputs[k]])
        else:
            frozen.outputs[k] = emitter.places[outputs[k]]
    frozen.removed = graph.size - frozen.size
    frozen.finish()
    return frozen
