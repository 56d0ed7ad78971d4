# cython: cdivision=True, boundscheck=False, wraparound=False
# cython: binding=False, embedsignature=True, embedsignature.format=clinic, auto_pickle=False
"""The program: a recorded function that is replayed at other points, without Python in the loop.

In: a frozen recording and points. Out: values and gradients, at one point or at many.
"""

import threading

import cython
import numpy
from cython.cimports.libc.stdint import int32_t, uintptr_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.tapegrad.scalar.freezing import Frozen
from cython.cimports.tapegrad.scalar.kernels import (
    BLOCK,
    INPUT,
    LT,
    backward_1,
    backward_block,
    code,
    evaluate,
    forward_1,
    forward_block,
    vector_maths,
)
from cython.cimports.tapegrad.scalar.recording import Guard, Recording, Var, as_number, check_owner

from tapegrad.errors import GuardError, InputError
from tapegrad.scalar.stats import ProgramStats

COMPARISONS = ("<", "<=", "==", "!=")  # in the order of the opcodes LT, LE, EQ, NE


def vector_library():
    """Which vector maths `Program.batch` uses on this machine."""
    return vector_maths().decode()


@cython.final
@cython.cclass
class Workspace:
    """Values and adjoints of a program for some points at a time, aligned to 64 bytes, a cache line."""

    memory: cython.p_void
    values: cython.p_double
    adjoints: cython.p_double

    def __cinit__(self, values: cython.Py_ssize_t, adjoints: cython.Py_ssize_t, points: cython.Py_ssize_t):
        count: cython.size_t = (values + adjoints) * points + 8
        self.memory = malloc(count * 8)
        if self.memory is cython.NULL:
            raise MemoryError(f"no memory for {points} points of a program with {values} values")
        start: uintptr_t = (cython.cast(uintptr_t, self.memory) + 63) & ~cython.cast(uintptr_t, 63)
        self.values = cython.cast(cython.p_double, start)
        self.adjoints = self.values + values * points

    def __dealloc__(self):
        free(self.memory)


@cython.cfunc
def listed(what: str, given: object, tape: Recording) -> list:
    """The Vars given as inputs or outputs, checked to be of this tape."""
    found: list = [given] if type(given) is Var else list(given)
    if not found:
        raise InputError(f"expected at least one Var as {what}, got none")
    for x in found:
        if type(x) is not Var:
            raise InputError(f"expected Vars of this tape as {what}, got {type(x).__name__}: {x!r:.60}")
        check_owner(cython.address(tape.store), x)
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def broken_guard(
    frozen: Frozen, values: cython.p_double, points: cython.Py_ssize_t, k: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The first guard that point k of a block breaks; -1 if none does."""
    i: cython.Py_ssize_t
    for i in range(frozen.guards_size):
        guard: cython.pointer(Guard) = frozen.guards + i
        a: cython.double = guard.constant if guard.lhs < 0 else values[guard.lhs * points + k]
        b: cython.double = guard.constant if guard.rhs < 0 else values[guard.rhs * points + k]
        if (evaluate(guard.op, a, b) != 0.0) != guard.outcome:
            return i
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def block(
    frozen: Frozen,
    program: cython.pointer(code),
    room: Workspace,
    x: cython.p_double,
    v: cython.p_double,
    g: cython.p_double,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Points first … first+count-1, at most BLOCK: x in; v and g out; the first point that breaks a guard, or -1.

    A short block repeats its last point, so that all loops over points have a fixed length.
    """
    n: cython.Py_ssize_t = frozen.inputs_size
    outputs: cython.Py_ssize_t = frozen.outputs_size
    values: cython.p_double = room.values
    adjoints: cython.p_double = room.adjoints
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t
    for k in range(BLOCK):
        for i in range(n):
            values[i * BLOCK + k] = x[(first + min(k, count - 1)) * n + i]
    forward_block(program, values, n, frozen.size)
    if frozen.guards_size:
        for k in range(count):
            if broken_guard(frozen, values, BLOCK, k) >= 0:
                return first + k
    for m in range(outputs):
        place: int32_t = frozen.outputs[m]
        memset(adjoints, 0, (n if outputs == 1 else max(place + 1, n)) * BLOCK * 8)
        if place < 0:
            for k in range(count):
                v[(first + k) * outputs + m] = frozen.constants[-1 - place]
        else:
            for k in range(count):
                v[(first + k) * outputs + m] = values[place * BLOCK + k]
            for k in range(BLOCK):
                adjoints[frozen.room[place] * BLOCK + k] = 1.0
            backward_block(program, values, adjoints, place + 1)
        for k in range(count):
            for i in range(n):
                g[((first + k) * outputs + m) * n + i] = adjoints[i * BLOCK + k]
    return -1


@cython.final
@cython.cclass
class Program:
    """A frozen recording: `Tape.freeze(inputs, outputs)`.

    Inputs and outputs keep the form they were given in: one Var is one number, a sequence is an array.

    >>> import tapegrad
    >>> tape = tapegrad.Tape()
    >>> x, y = tape.var(1.0), tape.var(2.0)
    >>> program = tape.freeze([x, y], x * y + tapegrad.sin(x))
    >>> program([2.0, 3.0])
    6.909297426825682
    >>> value, gradient = program.value_and_grad([2.0, 3.0])
    >>> gradient
    array([2.58385316, 2.        ])
    """

    frozen: Frozen
    code: code
    point: Workspace
    blocks: list  # workspaces for batches, each used by one thread at a time
    one_input: cython.bint
    one_output: cython.bint

    def __cinit__(self, tape: Recording, inputs, outputs):
        self.one_input = type(inputs) is Var
        self.one_output = type(outputs) is Var
        arguments: list = listed("inputs", inputs, tape)
        results: list = listed("outputs", outputs, tape)
        x: Var
        seen: set = set()
        for x in arguments:
            if x.index < 0 or tape.store.ops[x.index] != INPUT:
                raise InputError(f"an input must come from tape.var(...); {x!r} is a constant or a result")
            if x.index in seen:
                raise InputError(f"{x!r} is given twice among the inputs; give each variable once")
            seen.add(x.index)
        self.frozen = Frozen(tape, arguments, results)
        self.code.ops = self.frozen.ops
        self.code.lhs = self.frozen.lhs
        self.code.rhs = self.frozen.rhs
        self.code.constants = self.frozen.constants
        self.code.room = self.frozen.room
        self.code.lhs_room = self.frozen.lhs_room
        self.code.rhs_room = self.frozen.rhs_room
        self.code.fresh = self.frozen.fresh
        self.point = Workspace(self.frozen.size, self.frozen.size, 1)
        self.blocks = []

    # ---- one point -------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(-1)
    def load(self, x: object, name: str) -> cython.int:
        """Puts one point into the workspace, runs forward and checks the guards; errors call the point by this name."""
        values: cython.p_double = self.point.values
        count: cython.Py_ssize_t = self.frozen.inputs_size
        k: cython.Py_ssize_t
        if self.one_input:
            values[0] = as_number(x)
        else:
            if type(x) is not list and type(x) is not tuple:
                x = x.tolist() if isinstance(x, numpy.ndarray) else list(x)
                if not isinstance(x, list):
                    raise InputError(f"expected {count} inputs, got an array without dimensions: {x!r}")
            if len(x) != count:
                raise InputError(f"expected {count} inputs, as many as the program was frozen with, got {len(x)}")
            for k in range(count):
                values[k] = as_number(x[k])
        forward_1(cython.address(self.code), values, count, self.frozen.size)
        if self.frozen.guards_size:
            broken: cython.Py_ssize_t = broken_guard(self.frozen, values, 1, 0)
            if broken >= 0:
                self.raise_guard(broken, values, name)
        return 0

    @cython.cfunc
    def output(self, m: cython.Py_ssize_t) -> cython.double:
        place: int32_t = self.frozen.outputs[m]
        return self.point.values[place] if place >= 0 else self.frozen.constants[-1 - place]

    @cython.cfunc
    def results(self) -> object:
        if self.one_output:
            return self.output(0)
        return numpy.array([self.output(m) for m in range(self.frozen.outputs_size)])

    def __call__(self, x):
        """The value of the outputs at x."""
        self.load(x, "this point")
        return self.results()

    def value_and_grad(self, x):
        """Value and gradient at x; with several outputs, values and the Jacobian (a row for each output)."""
        frozen: Frozen = self.frozen
        adjoints: cython.p_double = self.point.adjoints
        self.load(x, "this point")
        m: cython.Py_ssize_t
        rows: list = []
        for m in range(frozen.outputs_size):
            place: int32_t = frozen.outputs[m]
            memset(adjoints, 0, max(place + 1, frozen.inputs_size) * 8)
            if place >= 0:
                adjoints[place] = 1.0
                backward_1(cython.address(self.code), self.point.values, adjoints, place + 1)
            if self.one_input:
                rows.append(adjoints[0])
            else:
                rows.append([adjoints[k] for k in range(frozen.inputs_size)])
        gradient = rows[0] if self.one_output else rows
        if self.one_input and self.one_output:
            return self.results(), gradient
        return self.results(), numpy.array(gradient)

    # ---- many points -----------------------------------------------------------------------------------------

    def batch(self, x, threads=1):
        """Values and gradients at many points: x has a row for each.

        threads: how many of them work on the points at the same time; the GIL is released.
        """
        frozen: Frozen = self.frozen
        points = numpy.ascontiguousarray(x, dtype=numpy.float64)
        expected = 1 if self.one_input else 2
        if points.ndim != expected or (expected == 2 and points.shape[1] != frozen.inputs_size):
            wanted = "(points,)" if self.one_input else f"(points, {frozen.inputs_size})"
            raise InputError(f"expected an array of shape {wanted}, got {points.shape}")
        if not isinstance(threads, int) or threads < 1:
            raise InputError(f"expected threads to be a whole number of at least 1, got {threads!r}")
        count: cython.Py_ssize_t = len(points)
        shape = [count] if self.one_output else [count, frozen.outputs_size]
        values = numpy.empty(shape)
        gradients = numpy.empty(shape if self.one_input else [*shape, frozen.inputs_size])
        if threads == 1:
            broken = self.span(points, values, gradients, 0, count)
        else:
            broken = self.spread(points, values, gradients, count, threads)
        if broken >= 0:
            # one at a time it breaks the same guard, and says which
            self.load(points[broken].item() if self.one_input else points[broken], f"point {broken}")
        return values, gradients

    def spread(self, points, values, gradients, count: cython.Py_ssize_t, threads: cython.Py_ssize_t):
        """All points by several threads, this one among them; the first point that breaks a guard, or -1.

        Plain threads: an executor takes 150 µs longer to start and stop, as long as 100 points of 3,000 operations.
        """
        # 16 spans a thread, taken by whoever is free, so that a thread that is held up does not hold up the rest
        step: cython.Py_ssize_t = (count // (16 * threads * BLOCK) + 1) * BLOCK
        begins = iter(range(0, count, step))
        found: list = []
        failed: list = []

        def work():
            try:
                for begin in begins:
                    found.append(self.span(points, values, gradients, begin, min(begin + step, count)))
            except BaseException as error:
                failed.append(error)

        others = [threading.Thread(target=work) for _ in range(threads - 1)]
        for other in others:
            other.start()
        work()
        for other in others:
            other.join()
        if failed:
            raise failed[0]
        return min((point for point in found if point >= 0), default=-1)

    def span(self, points, values, gradients, begin: cython.Py_ssize_t, end: cython.Py_ssize_t):
        """Points begin … end-1 of a batch, by one thread; the first point that breaks a guard, or -1."""
        room: Workspace = self.blocks.pop() if self.blocks else Workspace(self.frozen.size, self.frozen.rooms, BLOCK)
        x: cython.p_double = cython.cast(cython.p_double, cython.cast(uintptr_t, points.ctypes.data))
        v: cython.p_double = cython.cast(cython.p_double, cython.cast(uintptr_t, values.ctypes.data))
        g: cython.p_double = cython.cast(cython.p_double, cython.cast(uintptr_t, gradients.ctypes.data))
        first: cython.Py_ssize_t = begin
        broken: cython.Py_ssize_t = -1
        with cython.nogil:
            while first < end and broken < 0:
                broken = block(self.frozen, cython.address(self.code), room, x, v, g, first, min(BLOCK, end - first))
                first += BLOCK
        self.blocks.append(room)
        return broken

    # ---- what is said about it -------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(-1)
    def raise_guard(self, i: cython.Py_ssize_t, values: cython.p_double, where: str) -> cython.int:
        guard: Guard = self.frozen.guards[i]
        a: cython.double = guard.constant if guard.lhs < 0 else values[guard.lhs]
        b: cython.double = guard.constant if guard.rhs < 0 else values[guard.rhs]
        raise GuardError(
            f"{where} takes another branch than the recording did: there, comparison {i} "
            f"(a {COMPARISONS[(guard.op - LT) // 3]} b) was {bool(guard.outcome)}, here a = {a!r} and b = {b!r}; "
            "record and freeze again at a point of this branch, or write the branch with tapegrad.where"
        )

    def stats(self):
        """Exact counts of what the program holds, as `ProgramStats`."""
        frozen: Frozen = self.frozen
        return ProgramStats(
            inputs=frozen.inputs_size,
            outputs=frozen.outputs_size,
            instrs=frozen.size - frozen.inputs_size,
            constants=frozen.constants_size,
            guards=frozen.guards_size,
            removed=frozen.removed,
            nbytes=frozen.size * (1 + 4 + 4)
            + frozen.constants_size * 8
            + frozen.guards_size * cython.sizeof(Guard)
            + frozen.outputs_size * 4,
        )

    def __repr__(self):
        stats = self.stats()
        return f"Program({stats.inputs} inputs, {stats.outputs} outputs, {stats.instrs} instructions)"
