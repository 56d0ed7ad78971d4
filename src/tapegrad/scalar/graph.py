# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""The graph: what a derivative program is built as, before it is a list of instructions.

In: operations on nodes, one after the other. Out: nodes, of which no two are the same: constants are folded, common
subexpressions are one node, and what multiplies by one or negates twice is left out. All that is left out would have
given the same bits.
"""

import cython
from cython.cimports.libc.math import isfinite
from cython.cimports.libc.stdint import int32_t, uint8_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.tapegrad.scalar.kernels import evaluate_any
from cython.cimports.tapegrad.scalar.opcodes import (
    ADD,
    BOTH,
    CONSTANT,
    DIV,
    INPUT,
    LIVE_DIV,
    LIVE_MUL,
    MUL,
    NEG,
    OPERANDS,
    RHS_VALUE,
    SELECT,
    SUB,
    THIRD_VALUE,
)
from cython.cimports.tapegrad.scalar.recording import enlarged

# Slots of a share's steps: five of its own, and one for each step.
SLOTS = cython.declare(cython.int, 5)
MOST_NODES: cython.Py_ssize_t = 2**31 - 1


@cython.final
@cython.cclass
class Graph:
    """Operations on numbers, each different from all others."""

    def __dealloc__(self):
        free(self.ops)
        free(self.x)
        free(self.y)
        free(self.z)
        free(self.numbers)
        free(self.table)

    # ---- nodes -----------------------------------------------------------------------------------------------

    def grow(self) -> cython.int:
        """Doubles the room, and finds a place in the larger table for each node."""
        count: cython.Py_ssize_t = self.capacity * 2 if self.capacity else 256
        if count > MOST_NODES:
            raise MemoryError(f"a derivative of more than {MOST_NODES} operations does not fit into a program")
        self.ops = cython.cast(cython.pointer(uint8_t), enlarged(self.ops, count, 1, "operations of a derivative"))
        self.x = cython.cast(cython.pointer(int32_t), enlarged(self.x, count, 4, "operands of a derivative"))
        self.y = cython.cast(cython.pointer(int32_t), enlarged(self.y, count, 4, "operands of a derivative"))
        self.z = cython.cast(cython.pointer(int32_t), enlarged(self.z, count, 4, "operands of a derivative"))
        self.numbers = cython.cast(cython.p_double, enlarged(self.numbers, count, 8, "constants of a derivative"))
        table: cython.pointer(int32_t) = cython.cast(
            cython.pointer(int32_t), malloc(cython.cast(cython.size_t, 2 * count) * 4)
        )
        if table is cython.NULL:
            raise MemoryError(f"no memory for a derivative of {count} operations")
        free(self.table)
        self.table = table
        self.table_size = 2 * count
        self.capacity = count
        k: cython.Py_ssize_t
        for k in range(self.table_size):
            table[k] = -1
        for k in range(self.size):
            if self.ops[k] != INPUT:
                table[self.place(self.ops[k], self.x[k], self.y[k], self.z[k], self.numbers[k])] = cython.cast(
                    int32_t, k
                )
        return 0

    def place(self, op: cython.int, x: int32_t, y: int32_t, z: int32_t, number: cython.double) -> cython.Py_ssize_t:
        """Where in the table such a node is, or would be."""
        last: uint64_t = cython.cast(uint64_t, self.table_size - 1)
        at: uint64_t = hash_of(op, x, y, z, number) & last
        other: int32_t = self.table[at]
        while other >= 0 and not (
            self.ops[other] == op
            and self.x[other] == x
            and self.y[other] == y
            and self.z[other] == z
            and bits_of(self.numbers[other]) == bits_of(number)  # 0.0 and -0.0 are two
        ):
            at = (at + 1) & last
            other = self.table[at]
        return cython.cast(cython.Py_ssize_t, at)

    def put(self, op: cython.int, x: int32_t, y: int32_t, z: int32_t, number: cython.double) -> int32_t:
        """The node that is this, which may have been there."""
        if self.size == self.capacity:
            self.grow()
        at: cython.Py_ssize_t = self.place(op, x, y, z, number)
        if self.table[at] < 0:
            self.table[at] = self.append(op, x, y, z, number)
        return self.table[at]

    def append(self, op: cython.int, x: int32_t, y: int32_t, z: int32_t, number: cython.double) -> int32_t:
        node: cython.Py_ssize_t = self.size
        self.ops[node] = cython.cast(uint8_t, op)
        self.x[node] = x
        self.y[node] = y
        self.z[node] = z
        self.numbers[node] = number
        self.size = node + 1
        return cython.cast(int32_t, node)

    def input(self) -> int32_t:
        """A new input; all come before anything else."""
        if self.size == self.capacity:
            self.grow()
        self.inputs += 1
        return self.append(INPUT, -1, -1, -1, 0.0)

    def constant(self, number: cython.double) -> int32_t:
        return self.put(CONSTANT, -1, -1, -1, number)

    def is_number(self, node: int32_t, number: cython.double) -> cython.bint:
        return node >= 0 and self.ops[node] == CONSTANT and self.numbers[node] == number

    # ---- operations ------------------------------------------------------------------------------------------

    def apply(self, op: cython.int, x: int32_t, y: int32_t, z: int32_t) -> int32_t:
        """An operation on nodes; operands that it does not have are ignored."""
        if not OPERANDS[op] & RHS_VALUE:
            y = -1
        if not OPERANDS[op] & THIRD_VALUE:
            z = -1
        if self.ops[x] == CONSTANT and (y < 0 or self.ops[y] == CONSTANT) and (z < 0 or self.ops[z] == CONSTANT):
            second: cython.double = self.numbers[y] if y >= 0 else 0.0
            third: cython.double = self.numbers[z] if z >= 0 else 0.0
            return self.constant(evaluate_any(op, self.numbers[x], second, third))
        if op == NEG:
            return self.x[x] if self.ops[x] == NEG else self.put(NEG, x, -1, -1, 0.0)
        if op in (ADD, SUB):
            return self.sum(op, x, y)
        if op in (MUL, LIVE_MUL, BOTH):
            return self.product(op, x, y)
        if op in (DIV, LIVE_DIV):
            return self.quotient(op, x, y)
        if op == SELECT:
            if self.ops[z] == CONSTANT:
                return x if self.numbers[z] != 0.0 else y
            if x == y:
                return x
        return self.put(op, x, y, z, 0.0)

    def negated(self, node: int32_t) -> int32_t:
        return self.apply(NEG, node, -1, -1)

    def sum(self, op: cython.int, x: int32_t, y: int32_t) -> int32_t:
        if self.ops[y] == NEG:
            op = SUB if op == ADD else ADD
            y = self.x[y]
        if op == ADD:
            if self.ops[x] == NEG:
                return self.sum(SUB, y, self.x[x])
            if x > y:
                x, y = y, x
            if self.ops[x] == SELECT and self.ops[y] == SELECT and self.z[x] == self.z[y]:
                # what a choice hands on to one operand, and to the other
                if self.is_number(self.y[x], 0.0) and self.is_number(self.x[y], 0.0):
                    return self.apply(SELECT, self.x[x], self.y[y], self.z[x])
                if self.is_number(self.x[x], 0.0) and self.is_number(self.y[y], 0.0):
                    return self.apply(SELECT, self.x[y], self.y[x], self.z[x])
        return self.put(op, x, y, -1, 0.0)

    def product(self, op: cython.int, x: int32_t, y: int32_t) -> int32_t:
        """A product, which is an ordinary one where one factor is a number for which it makes no difference."""
        if op != MUL and (self.is_number(x, 0.0) or (op == BOTH and self.is_number(y, 0.0))):
            return self.constant(0.0)
        if self.is_number(x, 1.0):
            return y
        if self.is_number(y, 1.0):
            return x
        if self.is_number(x, -1.0):
            return self.negated(y)
        if self.is_number(y, -1.0):
            return self.negated(x)
        if self.ops[x] == NEG:
            return self.negated(self.product(op, self.x[x], y))
        if self.ops[y] == NEG:
            return self.negated(self.product(op, x, self.x[y]))
        if op != MUL:
            first: cython.bint = self.ops[x] == CONSTANT and (op == LIVE_MUL or isfinite(self.numbers[x]))
            if first or (self.ops[y] == CONSTANT and isfinite(self.numbers[y])):
                op = MUL
        if op != LIVE_MUL and x > y:
            x, y = y, x
        return self.put(op, x, y, -1, 0.0)

    def quotient(self, op: cython.int, x: int32_t, y: int32_t) -> int32_t:
        if op == LIVE_DIV and self.is_number(x, 0.0):
            return self.constant(0.0)
        if self.is_number(y, 1.0):
            return x
        if self.ops[x] == NEG:
            return self.negated(self.quotient(op, self.x[x], y))
        if self.ops[y] == NEG:
            return self.negated(self.quotient(op, x, self.x[y]))
        if op == LIVE_DIV and (
            self.ops[x] == CONSTANT
            or (self.ops[y] == CONSTANT and isfinite(self.numbers[y]) and self.numbers[y] != 0.0)
        ):
            op = DIV
        return self.put(op, x, y, -1, 0.0)

    # ---- derivatives -----------------------------------------------------------------------------------------

    def share(self, op: cython.int, operand: cython.int, slots: cython.pointer(int32_t)) -> int32_t:
        """What an operand gets, by its rule; -1 for nothing. slots: operands, value, cotangent, and room for steps."""
        rule: span = SHARES[op][operand]
        if rule.count == 0:
            return -1
        node: int32_t = -1
        k: cython.int
        for k in range(rule.count):
            what: step = STEPS[rule.start + k]
            if what.op == CONSTANT:
                node = self.constant(STEP_NUMBERS[what.x])
            elif what.op == INPUT:
                node = slots[what.x]
            else:
                node = self.apply(what.op, slots[what.x], slots[what.y], slots[what.z])
            slots[SLOTS + k] = node
        return -1 if self.is_number(node, 0.0) else node

    def total(self, sum: int32_t, more: int32_t) -> int32_t:
        """The sum of two nodes, either of which may be nothing, -1."""
        if sum < 0:
            return more
        return sum if more < 0 else self.apply(ADD, sum, more, -1)
