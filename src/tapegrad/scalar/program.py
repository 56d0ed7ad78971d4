# cython: cdivision=True, boundscheck=False, wraparound=False
# cython: binding=False, embedsignature=True, embedsignature.format=clinic, auto_pickle=False
"""The program: a recorded function that is replayed at other points, without Python in the loop.

In: a frozen recording and points. Out: values and gradients, at one point or at many.
"""

import operator

import cython
import numpy
from cython.cimports.cpython.float import PyFloat_AS_DOUBLE
from cython.cimports.libc.stdint import int32_t
from cython.cimports.libc.string import memset
from cython.cimports.tapegrad.scalar.batching import Batch
from cython.cimports.tapegrad.scalar.freezing import Frozen
from cython.cimports.tapegrad.scalar.kernels import backward_1, forward_1
from cython.cimports.tapegrad.scalar.recording import Guard, Recording
from cython.cimports.tapegrad.scalar.replaying import Broken, Workspace, first_broken, pointer_of, raise_broken
from cython.cimports.tapegrad.scalar.variables import Var, as_number

from tapegrad.errors import InputError
from tapegrad.masks import refuse_masked
from tapegrad.scalar.stats import ProgramStats


@cython.cfunc
def listed(what: str, given: object) -> list:
    """What was given as inputs or outputs, as a list."""
    if type(given) is Var:
        return [given]
    try:
        return list(given)
    except TypeError:
        raise InputError(f"expected a Var, or a sequence of them, as {what}, got {given!r:.60}") from None


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
        self.frozen = Frozen(tape, arguments, results)
        self.point = Workspace(self.frozen, False)
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
        forward_1(cython.address(frozen.code), values, n, frozen.size)
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
                    backward_1(cython.address(frozen.code), values, adjoints, place + 1)
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
        workspace of each thread for the next batch: 256 bytes for each of its values, and again for adjoints where it
        has several outputs.
        """
        points = numpy.asarray(x)
        if points is not x:  # a plain array is taken as it is
            refuse_masked(x)
        if points.dtype.kind not in "fiub":
            raise InputError(f"expected an array of real numbers, got dtype {points.dtype}")
        points = numpy.require(points, numpy.float64, ["C_CONTIGUOUS", "ALIGNED"])
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
        shape: list = [] if self.one_output else [self.frozen.outputs_size]
        inner: list = [] if self.one_input else [self.frozen.inputs_size]
        batch: Batch = Batch.__new__(Batch, self.frozen, self.blocks, shape, inner, points, wanted_threads)
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
