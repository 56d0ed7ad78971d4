# cython: cdivision=True, boundscheck=False, wraparound=False
# cython: binding=False, embedsignature=True, embedsignature.format=clinic, auto_pickle=False
"""The program: a recorded function that is replayed at other points, without Python in the loop.

In: a frozen recording and points. Out: values and gradients, at one point or at many.
"""

import operator
import threading

import cython
import numpy
from cython.cimports.cpython.buffer import PyBUF_C_CONTIGUOUS, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.cpython.float import PyFloat_AS_DOUBLE
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
def listed(what: str, given: object) -> list:
    """What was given as inputs or outputs, as a list."""
    if type(given) is Var:
        return [given]
    try:
        return list(given)
    except TypeError:
        raise InputError(f"expected a Var, or a sequence of them, as {what}, got {given!r:.60}") from None


@cython.cfunc
def check_vars(what: str, found: list, tape: Recording) -> cython.void:
    """Raises unless all are Vars of this tape."""
    if not found:
        raise InputError(f"expected at least one Var as {what}, got none")
    for x in found:
        if type(x) is not Var:
            raise InputError(f"expected Vars of this tape as {what}, got {type(x).__name__}: {x!r:.60}")
        check_owner(cython.address(tape.store), x)


@cython.cfunc
@cython.exceptval(check=True)
def pointer_of(array: object) -> cython.p_double:
    """Where a contiguous array keeps its numbers; by the buffer protocol: `array.ctypes` takes a microsecond."""
    view: Py_buffer
    PyObject_GetBuffer(array, cython.address(view), PyBUF_C_CONTIGUOUS)
    start: cython.p_double = cython.cast(cython.p_double, view.buf)
    PyBuffer_Release(cython.address(view))  # the caller holds the array, so its memory stays
    return start


# A guard that a point breaks, with what it compared there; guard is -1 if none does.
Broken = cython.struct(
    guard=cython.Py_ssize_t,
    point=cython.Py_ssize_t,
    op=cython.int,
    outcome=cython.int,
    a=cython.double,
    b=cython.double,
)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def nothing_broken() -> Broken:
    found: Broken
    found.guard = found.point = -1
    found.op = found.outcome = 0
    found.a = found.b = 0.0
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_broken(frozen: Frozen, values: cython.p_double, points: cython.Py_ssize_t, k: cython.Py_ssize_t) -> Broken:
    """The first guard that point k of a block breaks."""
    found: Broken = nothing_broken()
    i: cython.Py_ssize_t
    for i in range(frozen.guards_size):
        guard: cython.pointer(Guard) = frozen.guards + i
        a: cython.double = guard.constant if guard.lhs < 0 else values[guard.lhs * points + k]
        b: cython.double = guard.constant if guard.rhs < 0 else values[guard.rhs * points + k]
        if (evaluate(guard.op, a, b) != 0.0) != guard.outcome:
            found.guard = guard.number
            found.point = k
            found.op = guard.op
            found.outcome = guard.outcome
            found.a = a
            found.b = b
            break
    return found


@cython.cfunc
@cython.exceptval(-1)
def raise_broken(broken: Broken, where: str) -> cython.int:
    raise GuardError(
        f"{where} takes another branch than the recording did: there, comparison {broken.guard} "
        f"(a {COMPARISONS[(broken.op - LT) // 3]} b) was {bool(broken.outcome)}, "
        f"here a = {broken.a!r} and b = {broken.b!r}; "
        "record and freeze again at a point of this branch, or write the branch with tapegrad.where"
    )


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
) -> Broken:
    """Points first … first+count-1, at most BLOCK: x in; v and g out; the first guard that is broken.

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
    broken: Broken = nothing_broken()
    if frozen.guards_size:
        for k in range(count):
            broken = first_broken(frozen, values, BLOCK, k)
            if broken.guard >= 0:
                broken.point = first + k
                return broken
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
    return broken


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
        # both lists first: making them may run a user's code
        arguments: list = listed("inputs", inputs)
        results: list = listed("outputs", outputs)
        check_vars("inputs", arguments, tape)
        check_vars("outputs", results, tape)
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
    #
    # A program has one workspace for single points. So everything that may run Python code, and with it another call
    # of this program, happens before the workspace is filled (numbers) or after it was read (arrays made beforehand).

    @cython.cfunc
    def numbers(self, x: object) -> list:
        """The inputs of one point as floats."""
        if self.one_input:
            return [as_number(x)]
        try:
            given: list = list(x)
        except TypeError:
            raise InputError(f"expected a sequence of {self.frozen.inputs_size} numbers, got {x!r:.60}") from None
        if len(given) != self.frozen.inputs_size:
            raise InputError(
                f"expected {self.frozen.inputs_size} inputs, as many as the program was frozen with, got {len(given)}"
            )
        return [as_number(number) for number in given]

    @cython.cfunc
    @cython.exceptval(-1)
    def run(self, given: list, v: cython.p_double, g: cython.p_double) -> cython.int:
        """One point: values into v and, unless it is NULL, gradients into g. Only then is a broken guard raised."""
        frozen: Frozen = self.frozen
        values: cython.p_double = self.point.values
        adjoints: cython.p_double = self.point.adjoints
        n: cython.Py_ssize_t = frozen.inputs_size
        k: cython.Py_ssize_t
        m: cython.Py_ssize_t
        for k in range(n):
            values[k] = PyFloat_AS_DOUBLE(given[k])
        forward_1(cython.address(self.code), values, n, frozen.size)
        broken: Broken = first_broken(frozen, values, 1, 0)
        if broken.guard < 0:
            for m in range(frozen.outputs_size):
                place: int32_t = frozen.outputs[m]
                v[m] = values[place] if place >= 0 else frozen.constants[-1 - place]
                if g is cython.NULL:
                    continue
                memset(adjoints, 0, max(place + 1, n) * 8)
                if place >= 0:
                    adjoints[place] = 1.0
                    backward_1(cython.address(self.code), values, adjoints, place + 1)
                for k in range(n):
                    g[m * n + k] = adjoints[k]
        else:
            raise_broken(broken, "this point")
        return 0

    def __call__(self, x):
        """The value of the outputs at x."""
        given: list = self.numbers(x)
        value: cython.double
        if self.one_output:
            self.run(given, cython.address(value), cython.NULL)
            return value
        values = numpy.empty(self.frozen.outputs_size)
        self.run(given, pointer_of(values), cython.NULL)
        return values

    def value_and_grad(self, x):
        """Value and gradient at x; with several outputs, values and the Jacobian (a row for each output)."""
        frozen: Frozen = self.frozen
        given: list = self.numbers(x)
        value: cython.double
        slope: cython.double
        if self.one_output:
            if self.one_input:
                self.run(given, cython.address(value), cython.address(slope))
                return value, slope
            gradient = numpy.empty(frozen.inputs_size)
            self.run(given, cython.address(value), pointer_of(gradient))
            return value, gradient
        values = numpy.empty(frozen.outputs_size)
        gradient = numpy.empty([frozen.outputs_size] if self.one_input else [frozen.outputs_size, frozen.inputs_size])
        self.run(given, pointer_of(values), pointer_of(gradient))
        return values, gradient

    # ---- many points -----------------------------------------------------------------------------------------

    def batch(self, x, threads=1):
        """Values and gradients at many points: x has a row for each.

        threads: how many of them work on the points at the same time; the GIL is released. A program keeps the
        workspace of each thread for the next batch: 256 bytes for each of its values.
        """
        points = numpy.asarray(x)
        if points.dtype.kind not in "fiub":
            raise InputError(f"expected an array of real numbers, got dtype {points.dtype}")
        points = numpy.ascontiguousarray(points, dtype=numpy.float64)
        inputs = self.frozen.inputs_size
        if points.ndim != (1 if self.one_input else 2) or (not self.one_input and points.shape[1] != inputs):
            wanted = "(points,)" if self.one_input else f"(points, {inputs})"
            raise InputError(f"expected an array of shape {wanted}, got {points.shape}")
        try:
            wanted_threads: cython.Py_ssize_t = operator.index(threads)
        except (TypeError, OverflowError):
            wanted_threads = 0
        if wanted_threads < 1:
            raise InputError(f"expected threads to be a whole number of at least 1, got {threads!r}")
        batch: Batch = Batch.__new__(Batch, self, points, wanted_threads)
        batch.run_all()
        if batch.broken.guard >= 0:
            raise_broken(batch.broken, f"point {batch.broken.point}")
        return batch.values, batch.gradients

    # ---- what is said about it -------------------------------------------------------------------------------

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
            # opcode, operands, and the rooms of their adjoints in a batch
            nbytes=frozen.size * (1 + 4 + 4 + 13)
            + frozen.constants_size * 8
            + frozen.guards_size * cython.sizeof(Guard)
            + frozen.outputs_size * 4,
        )

    def __repr__(self):
        stats = self.stats()
        return f"Program({stats.inputs} inputs, {stats.outputs} outputs, {stats.instrs} instructions)"


@cython.final
@cython.cclass
class Batch:
    """One call of `Program.batch`: its arrays, and the spans of points that its threads take in turn."""

    program: Program
    points: object
    values: object
    gradients: object
    x: cython.p_double
    v: cython.p_double
    g: cython.p_double
    count: cython.Py_ssize_t
    step: cython.Py_ssize_t
    next: cython.Py_ssize_t
    threads: cython.Py_ssize_t
    broken: Broken
    failures: list

    def __cinit__(self, program: Program, points, threads: cython.Py_ssize_t):
        frozen: Frozen = program.frozen
        if (
            points.dtype != numpy.float64
            or not points.flags.c_contiguous
            or points.size != len(points) * frozen.inputs_size
        ):
            raise InputError("expected a contiguous array of doubles with a row for each point")
        self.program = program
        self.points = points
        self.count = len(points)
        shape = [self.count] if program.one_output else [self.count, frozen.outputs_size]
        self.values = numpy.empty(shape)
        self.gradients = numpy.empty(shape if program.one_input else [*shape, frozen.inputs_size])
        self.x = pointer_of(points)
        self.v = pointer_of(self.values)
        self.g = pointer_of(self.gradients)
        blocks: cython.Py_ssize_t = (self.count + BLOCK - 1) // BLOCK
        self.threads = max(1, min(threads, blocks))
        # 16 spans a thread, taken by whoever is free, so that a thread that is held up does not hold up the rest
        self.step = self.count if self.threads == 1 else (blocks // (16 * self.threads) + 1) * BLOCK
        self.broken = nothing_broken()
        self.failures = []

    @cython.cfunc
    @cython.exceptval(-1)
    def run_all(self) -> cython.int:
        """All points by this thread and the others.

        Plain threads: an executor takes 150 µs longer to start and stop, as long as 100 points of 3,000 operations.
        """
        started: list = []
        try:
            for _ in range(self.threads - 1):
                other = threading.Thread(target=self.work)
                other.start()
                started.append(other)
            self.work()
        finally:
            for other in started:
                other.join()
        if self.failures:
            raise self.failures[0]
        return 0

    def work(self):
        """Takes spans until none is left. What goes wrong is kept for the thread that called."""
        try:
            room: Workspace = (
                self.program.blocks.pop()
                if self.program.blocks
                else Workspace(self.program.frozen.size, self.program.frozen.rooms, BLOCK)
            )
            while self.next < self.count and not self.failures:
                begin: cython.Py_ssize_t = self.next
                self.next = begin + self.step
                self.span(room, begin, min(begin + self.step, self.count))
            self.program.blocks.append(room)
        except BaseException as error:
            self.failures.append(error)

    @cython.cfunc
    @cython.exceptval(-1)
    def span(self, room: Workspace, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """Points begin … end-1, without the GIL; remembers the first point that breaks a guard."""
        broken: Broken = nothing_broken()
        first: cython.Py_ssize_t = begin
        with cython.nogil:
            while first < end and broken.guard < 0:
                broken = block(
                    self.program.frozen,
                    cython.address(self.program.code),
                    room,
                    self.x,
                    self.v,
                    self.g,
                    first,
                    min(BLOCK, end - first),
                )
                first += BLOCK
        if broken.guard >= 0 and (self.broken.guard < 0 or broken.point < self.broken.point):
            self.broken = broken
        return 0
