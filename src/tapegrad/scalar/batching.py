# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""Batching: a program at many points, in blocks, by one thread or several, without the GIL.

In: a frozen recording and an array of points. Out: arrays of values and gradients, or the first broken guard.
"""

import _thread
import operator

import cython
import numpy
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import int32_t
from cython.cimports.libc.string import memset
from cython.cimports.tapegrad.scalar.counter import take
from cython.cimports.tapegrad.scalar.freezing import Frozen
from cython.cimports.tapegrad.scalar.kernels import BLOCK, backward_block, erf_block, forward_block, vector_maths
from cython.cimports.tapegrad.scalar.native import Native, Scratch, native_block
from cython.cimports.tapegrad.scalar.replaying import (
    Broken,
    Workspace,
    first_broken,
    nothing_broken,
    pointer_of,
    raise_broken,
)

from tapegrad.errors import InputError
from tapegrad.masks import refuse_masked

ARRAY = numpy.ndarray


def vector_library():
    """Which vector maths batches use on this machine."""
    return vector_maths().decode()


def erf_of_block(out: cython.p_double, numbers: cython.pointer(cython.const[cython.double])) -> cython.void:
    erf_block(out, numbers)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def block(
    frozen: Frozen,
    room: Workspace,
    x: cython.p_double,
    v: cython.p_double,
    g: cython.p_double,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> Broken:
    """Points first … first+count-1, at most BLOCK: x in; v and, unless it is NULL, g out; the first broken guard.

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
    forward_block(cython.address(frozen.code), values, frozen.first, frozen.size)
    broken: Broken = nothing_broken()
    if frozen.guards_size:
        for k in range(count):
            broken = first_broken(frozen, values, BLOCK, k)
            if broken.guard >= 0:
                broken.point = first + k
                return broken
    for m in range(outputs):
        place: int32_t = frozen.outputs[m]
        if place < 0:
            for k in range(count):
                v[(first + k) * outputs + m] = frozen.constants[-1 - place]
        else:
            for k in range(count):
                v[(first + k) * outputs + m] = values[place * BLOCK + k]
        if g is cython.NULL:
            continue
        memset(adjoints, 0, (n if outputs == 1 else max(place + 1, n)) * BLOCK * 8)
        if place >= 0:
            for k in range(BLOCK):
                adjoints[frozen.room[place] * BLOCK + k] = 1.0
            backward_block(cython.address(frozen.code), values, adjoints, place + 1)
        for k in range(count):
            for i in range(n):
                g[((first + k) * outputs + m) * n + i] = adjoints[i * BLOCK + k]
    return broken


@cython.cclass
class Batch:
    """One call of `Program.batch`: its arrays, and the points that its threads take in turn."""

    def __cinit__(
        self,
        frozen: Frozen,
        rooms: list,
        shape: list,
        inner: list,
        points,
        threads: cython.Py_ssize_t,
        gradients: cython.bint = True,
        native: Native | None = None,
    ):
        if (
            type(points) is not ARRAY
            or points.dtype != numpy.float64
            or not points.flags.c_contiguous
            or not points.flags.aligned
            or points.size != len(points) * frozen.inputs_size
        ):
            raise InputError("expected a contiguous, aligned array of doubles with a row for each point")
        if native is not None and (native.values != frozen.outputs_size or native.points != BLOCK):
            raise InputError("expected machine code of this program, for blocks")
        self.frozen = frozen
        self.native = native
        self.rooms = rooms
        self.points = points
        self.count = len(points)
        self.values = numpy.empty([self.count, *shape])
        self.gradients = numpy.empty([self.count, *shape, *inner]) if gradients else None
        if self.values.size != self.count * frozen.outputs_size or (
            gradients and self.gradients.size != self.values.size * frozen.inputs_size
        ):
            raise InputError("expected the shapes of the program's own outputs and inputs")
        self.x = pointer_of(points)
        self.v = pointer_of(self.values)
        self.g = pointer_of(self.gradients) if gradients else cython.NULL
        blocks: cython.Py_ssize_t = (self.count + BLOCK - 1) // BLOCK
        self.threads = max(1, min(threads, blocks))
        # Some 64 turns a thread, taken by whoever is free, so that a thread that is held up does not hold up the rest;
        # none longer than 20 million instructions times points, a tenth of a second, so that Ctrl-C is heard.
        longest: cython.Py_ssize_t = 20_000_000 // (max(1, frozen.size) * BLOCK)
        self.step = max(1, min(blocks // (64 * self.threads), longest)) * BLOCK
        self.broken = nothing_broken()
        self.failures = []

    def run_all(self) -> cython.int:
        """All points by this thread and the others.

        Bare threads: for `threading.Thread` this one would wait until the other has started, 100 µs in all, as long as
        70 points of 3,000 operations; an executor takes 150 µs longer still.
        """
        working: list = []
        try:
            for _ in range(self.threads - 1):
                lock = _thread.allocate_lock()
                lock.acquire()
                try:
                    _thread.start_new_thread(self.help, (lock,))
                except RuntimeError:  # the system has no more threads: those that there are do the work
                    break
                working.append(lock)
            self.work(True)
        finally:
            for lock in working:
                lock.acquire()
        if self.failures:
            raise self.failures[0]
        return 0

    def help(self, lock):
        """What another thread does."""
        try:
            self.work(False)
        finally:
            lock.release()

    def work(self, listens: cython.bint):
        """Takes points until none is left. What goes wrong is kept for the thread that called, which listens to
        Ctrl-C."""
        try:
            room: Workspace = self.rooms.pop() if self.rooms else Workspace(self.frozen, True)
            if room is None or room.frozen is not self.frozen or room.points != BLOCK:
                raise InputError("expected workspaces of this program, for blocks")
            scratch: Scratch = None if self.native is None else Scratch(self.native)
            broken: Broken
            with cython.nogil:
                broken = self.take_turns(room, scratch, listens)
            self.rooms.append(room)
            if broken.guard >= 0 and (self.broken.guard < 0 or broken.point < self.broken.point):
                self.broken = broken
        except BaseException as error:
            self.failures.append(error)

    def take_turns(self, room: Workspace, scratch: Scratch | None, listens: cython.bint) -> Broken:
        """Points that no other thread has taken, in turns of `step`; ends at the first that breaks a guard.

        Turns are given in the order of the points, so all before a broken one are done or in work.
        """
        # Where a turn takes more than 50 µs, a look at signals costs nothing.
        listens = listens and self.frozen.size * self.step > 100_000
        broken: Broken = nothing_broken()
        first: cython.Py_ssize_t = take(cython.address(self.next), self.step)
        while first < self.count and broken.guard < 0:
            end: cython.Py_ssize_t = min(first + self.step, self.count)
            while first < end and broken.guard < 0:
                count: cython.Py_ssize_t = min(BLOCK, end - first)
                # where machine code finds a broken guard, the interpreter says which
                if scratch is None or not native_block(self.native, scratch, self.x, self.v, self.g, first, count):
                    broken = block(self.frozen, room, self.x, self.v, self.g, first, count)
                first += BLOCK
            stop: cython.bint = broken.guard >= 0 or (listens and self.interrupted())
            first = take(cython.address(self.next), self.count if stop else self.step)
        return broken

    def interrupted(self) -> cython.bint:
        """Whether a signal's handler raised, usually KeyboardInterrupt; the error is kept."""
        with cython.gil:
            try:
                PyErr_CheckSignals()
            except BaseException as error:
                self.failures.append(error)
            return len(self.failures) > 0


def batched(
    frozen: Frozen,
    rooms: list,
    one_input: cython.bint,
    one_output: cython.bint,
    x: object,
    threads: object,
    gradients: cython.bint,
    native: Native | None,
) -> object:
    """What `batch` of a program gives. native: the machine code of blocks; None to interpret them."""
    points = numpy.asarray(x)
    if points is not x:  # a plain array is taken as it is
        refuse_masked(x)
    if points.dtype.kind not in "fiub":
        raise InputError(f"expected an array of real numbers, got dtype {points.dtype}")
    points = numpy.require(points, numpy.float64, ["C_CONTIGUOUS", "ALIGNED"])
    inputs: cython.Py_ssize_t = frozen.inputs_size
    if points.ndim != (1 if one_input else 2) or (not one_input and points.shape[1] != inputs):
        wanted = "(points,)" if one_input else f"(points, {inputs})"
        raise InputError(f"expected an array of shape {wanted}, got {points.shape}")
    try:
        wanted_threads: cython.Py_ssize_t = operator.index(threads)
    except (TypeError, OverflowError):
        wanted_threads = 0
    if wanted_threads < 1:
        raise InputError(f"expected threads to be a whole number of at least 1, got {threads!r}")
    shape: list = [] if one_output else [frozen.outputs_size]
    inner: list = [] if one_input else [frozen.inputs_size]
    batch: Batch = Batch.__new__(Batch, frozen, rooms, shape, inner, points, wanted_threads, gradients, native)
    batch.run_all()
    if batch.broken.guard >= 0:
        raise_broken(batch.broken, f"point {batch.broken.point}")
    return (batch.values, batch.gradients) if gradients else batch.values
