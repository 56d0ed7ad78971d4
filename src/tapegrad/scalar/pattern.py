# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""Patterns and colours: which derivatives can differ from zero, and which of them can be computed together.

In: the instructions of a program. Out: for each output the inputs that it depends on, smoothly; and for each input (or
output) a colour, such that those of one colour do not get into each other's way.
"""

import cython
import numpy
from cython.cimports.libc.stdint import int32_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.tapegrad.scalar.freezing import Frozen
from cython.cimports.tapegrad.scalar.graph import SHARES
from cython.cimports.tapegrad.scalar.opcodes import BASES, LHS_VALUE, OPERANDS, RHS_VALUE, SELECT, THIRD_VALUE, WHERE
from cython.cimports.tapegrad.scalar.recording import enlarged


@cython.final
@cython.cclass
class Walk:
    """Goes from each output back to the inputs that it depends on."""

    frozen: Frozen
    seen: cython.pointer(int32_t)  # per value: the last output that reached it, counted from 1
    stack: cython.pointer(int32_t)
    depth: cython.Py_ssize_t
    columns: cython.pointer(int32_t)  # the inputs found
    size: cython.Py_ssize_t
    capacity: cython.Py_ssize_t

    def __cinit__(self, frozen: Frozen):
        self.frozen = frozen
        count: cython.size_t = frozen.size + 1
        self.seen = cython.cast(cython.pointer(int32_t), calloc(count, 4))
        self.stack = cython.cast(cython.pointer(int32_t), malloc(count * 4))
        if self.seen is cython.NULL or self.stack is cython.NULL:
            raise MemoryError(f"no memory for the pattern of a program with {frozen.size} values")

    def __dealloc__(self):
        free(self.seen)
        free(self.stack)
        free(self.columns)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def visit(self, value: int32_t, stamp: int32_t) -> cython.void:
        if self.seen[value] != stamp:
            self.seen[value] = stamp
            self.stack[self.depth] = value
            self.depth += 1

    @cython.cfunc
    @cython.exceptval(-1)
    def found(self, column: int32_t) -> cython.int:
        if self.size == self.capacity:
            self.capacity = max(2 * self.capacity, 1024)
            self.columns = cython.cast(
                cython.pointer(int32_t), enlarged(self.columns, self.capacity, 4, "entries of a pattern")
            )
        self.columns[self.size] = column
        self.size += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def walk(self, start: int32_t, stamp: int32_t) -> cython.int:
        """Adds the inputs that a value depends on. A comparison and what only chooses hand nothing on."""
        frozen: Frozen = self.frozen
        self.visit(start, stamp)
        while self.depth > 0:
            self.depth -= 1
            value: int32_t = self.stack[self.depth]
            if value < frozen.inputs_size:
                self.found(value)
                continue
            kinds: cython.int = OPERANDS[frozen.ops[value]]
            base: cython.int = BASES[frozen.ops[value]]
            if base == WHERE:
                base = SELECT
            if kinds & LHS_VALUE and SHARES[base][0].count:
                self.visit(frozen.lhs[value], stamp)
            if kinds & RHS_VALUE and SHARES[base][1].count:
                self.visit(frozen.rhs[value], stamp)
            if kinds & THIRD_VALUE and SHARES[base][2].count:
                self.visit(frozen.third[value], stamp)
        return 0


def pattern_of(program):
    """Where the columns of each row start, and the columns, rows after one another, in order."""
    frozen: Frozen = program.instructions()
    walk: Walk = Walk(frozen)
    starts = numpy.zeros(frozen.outputs_size + 1, dtype=numpy.int32)
    m: cython.Py_ssize_t
    for m in range(frozen.outputs_size):
        if frozen.outputs[m] >= 0:
            walk.walk(frozen.outputs[m], cython.cast(int32_t, m + 1))
        starts[m + 1] = walk.size
    columns = numpy.empty(walk.size, dtype=numpy.int32)
    into: int32_t[:] = columns
    for m in range(walk.size):
        into[m] = walk.columns[m]
    for m in range(frozen.outputs_size):
        columns[starts[m] : starts[m + 1]].sort()
    return starts, columns


def coloured_columns(
    starts: int32_t[::1], columns: int32_t[::1], order: int32_t[::1], rows: int32_t[::1], places: int32_t[::1]
):
    """A colour for each column: the first that no column has with which it shares a row.

    starts, columns: the columns of each row. places, rows: the rows of each column, likewise.
    """
    count: cython.Py_ssize_t = order.shape[0]
    colours = numpy.full(count, -1, dtype=numpy.int32)
    colour: int32_t[::1] = colours
    taken = numpy.full(count + 1, -1, dtype=numpy.int32)  # per colour: the last column that could not have it
    by: int32_t[::1] = taken
    k: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    for k in range(count):
        column: int32_t = order[k]
        for p in range(places[column], places[column + 1]):
            for q in range(starts[rows[p]], starts[rows[p] + 1]):
                if colour[columns[q]] >= 0:
                    by[colour[columns[q]]] = column
        free_one: int32_t = 0
        while by[free_one] == column:
            free_one += 1
        colour[column] = free_one
    return colours


def coloured_stars(starts: int32_t[::1], neighbours: int32_t[::1], order: int32_t[::1]):
    """A colour for each row of a symmetric pattern: neighbours differ, and every path of four has three colours.

    Then of each pair of neighbours one is the only one of its colour beside the other, so a column for each colour
    gives all entries. The greedy algorithm of Gebremedhin, Manne and Pothen, "What color is your Jacobian?", 2005.
    """
    count: cython.Py_ssize_t = order.shape[0]
    colours = numpy.full(count, -1, dtype=numpy.int32)
    colour: int32_t[::1] = colours
    taken = numpy.full(count + 1, -1, dtype=numpy.int32)
    by: int32_t[::1] = taken
    k: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    s: cython.Py_ssize_t
    for k in range(count):
        v: int32_t = order[k]
        for p in range(starts[v], starts[v + 1]):
            w: int32_t = neighbours[p]
            if w == v:
                continue
            if colour[w] >= 0:
                by[colour[w]] = v
            for q in range(starts[w], starts[w + 1]):
                x: int32_t = neighbours[q]
                if x in (v, w) or colour[x] < 0 or by[colour[x]] == v:
                    continue
                if colour[w] < 0:
                    by[colour[x]] = v
                    continue
                for s in range(starts[x], starts[x + 1]):
                    y: int32_t = neighbours[s]
                    if y != w and y != x and colour[y] == colour[w]:
                        by[colour[x]] = v
                        break
        free_one: int32_t = 0
        while by[free_one] == v:
            free_one += 1
        colour[v] = free_one
    return colours
