# cython: cdivision=True, boundscheck=False, wraparound=False
# cython: binding=False, embedsignature=True, embedsignature.format=clinic, auto_pickle=False
"""The program: a recorded function that is replayed at other points, without Python in the loop.

In: a frozen recording and points. Out: values and gradients, at one point or at many.
"""

import cython
import numpy
from cython.cimports.cpython.float import PyFloat_AS_DOUBLE
from cython.cimports.libc.stdint import int32_t
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tapegrad.scalar.batching import batched
from cython.cimports.tapegrad.scalar.deriving import entries_of, gradient_of, tangent_of
from cython.cimports.tapegrad.scalar.freezing import Frozen, segment
from cython.cimports.tapegrad.scalar.inlining import inlined, placed
from cython.cimports.tapegrad.scalar.kernels import backward_1, forward_1
from cython.cimports.tapegrad.scalar.recording import Guard, Recording
from cython.cimports.tapegrad.scalar.replaying import (
    Broken,
    Workspace,
    first_broken,
    numbers_of,
    operands_at,
    pointer_of,
    raise_broken,
)
from cython.cimports.tapegrad.scalar.variables import Var

from tapegrad.errors import ConversionError, InputError
from tapegrad.scalar.binding import Bound
from tapegrad.scalar.showing import shown_program
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

    def __cinit__(self, tape, inputs, outputs):
        if type(tape) is Frozen:  # a derivative: whether inputs and outputs are one number
            self.frozen = tape
            self.one_input = inputs
            self.one_output = outputs
        else:
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
    @cython.exceptval(-1)
    def run(self, numbers: object, v: cython.p_double, g: cython.p_double) -> cython.int:
        """One point: values into v and, unless it is NULL, gradients into g. Only then is a broken guard raised."""
        frozen: Frozen = self.frozen
        values: cython.p_double = self.point.values
        adjoints: cython.p_double = self.point.adjoints
        n: cython.Py_ssize_t = frozen.inputs_size
        k: cython.Py_ssize_t
        m: cython.Py_ssize_t
        if type(numbers) is list:
            for k in range(n):
                values[k] = PyFloat_AS_DOUBLE(cython.cast(list, numbers)[k])
        else:
            memcpy(values, pointer_of(numbers), n * 8)
        forward_1(cython.address(frozen.code), values, frozen.first, frozen.size)
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
        """The value of the outputs at x. Where x holds `Var`s, what the program computes is recorded on their tape."""
        numbers: object
        try:
            numbers = numbers_of(x, self.one_input, self.frozen.inputs_size)
        except ConversionError:
            return self.recorded(x)
        value: cython.double
        if self.one_output:
            self.run(numbers, cython.address(value), cython.NULL)
            return value
        values = numpy.empty(self.frozen.outputs_size)
        self.run(numbers, pointer_of(values), cython.NULL)
        return values

    def value_and_grad(self, x):
        """Value and gradient at x; with several outputs, values and the Jacobian (a row for each output)."""
        frozen: Frozen = self.frozen
        numbers: object = numbers_of(x, self.one_input, self.frozen.inputs_size)
        value: cython.double
        slope: cython.double
        if self.one_output:
            if self.one_input:
                self.run(numbers, cython.address(value), cython.address(slope))
                return value, slope
            gradient = numpy.empty(frozen.inputs_size)
            self.run(numbers, cython.address(value), pointer_of(gradient))
            return value, gradient
        values = numpy.empty(frozen.outputs_size)
        gradient = numpy.empty([frozen.outputs_size] if self.one_input else [frozen.outputs_size, frozen.inputs_size])
        self.run(numbers, pointer_of(values), pointer_of(gradient))
        return values, gradient

    @cython.cfunc
    def recorded(self, x: object) -> object:
        """The outputs as Vars."""
        numbers: list = [x] if self.one_input else list(x)
        tape: object = None
        for number in numbers:
            if tape is None:
                tape = tape_of(number)
        if tape is None:
            numbers = [number.value if type(number) is Var else number for number in numbers]
            return self(numbers[0] if self.one_input else numbers)
        outputs: list = inlined(self.frozen, tape, numbers)
        return outputs[0] if self.one_output else outputs

    def bind(self, x, out):
        """A function without arguments: it reads the inputs from the array `x`, as they are when it is called, writes
        the outputs into the array `out`, and gives that.

        For functions so small that making an array takes longer than they do. Both are contiguous arrays of float64.
        Value and gradient: bind `gradient(with_values=True)`.

        >>> import numpy, tapegrad
        >>> tape = tapegrad.Tape()
        >>> x, y = tape.var(1.0), tape.var(2.0)
        >>> program = tape.freeze([x, y], x * y).gradient(with_values=True)
        >>> point, result = numpy.array([2.0, 3.0]), numpy.zeros(3)
        >>> compute = program.bind(point, result)
        >>> compute()
        array([6., 3., 2.])
        >>> point[0] = 5.0
        >>> compute() is result, result
        (True, array([15.,  3.,  5.]))
        """
        return Bound(self.frozen, x, out)

    # ---- many points -----------------------------------------------------------------------------------------

    def batch(self, x, threads=1, gradients: cython.bint = True):
        """Values and gradients at many points: x has a row for each. Without gradients, values alone.

        threads: how many of them work on the points at the same time; the GIL is released. A program keeps the
        workspace of each thread for the next batch: 256 bytes for each of its values, and again for adjoints where it
        has several outputs.
        """
        return batched(self.frozen, self.blocks, self.one_input, self.one_output, x, threads, gradients, None)

    # ---- derivatives -----------------------------------------------------------------------------------------

    def tangent(self, with_values: cython.bint = False):
        """The program of the derivative in a direction: it takes the inputs, then a direction of as many numbers.

        It gives one derivative for each output, after the outputs themselves where `with_values` is true. Like every
        program it can be derived again: `program.gradient().tangent()` gives Hessian-vector products.

        >>> import tapegrad
        >>> tape = tapegrad.Tape()
        >>> x, y = tape.var(1.0), tape.var(2.0)
        >>> program = tape.freeze([x, y], x * y + tapegrad.sin(x))
        >>> program.tangent()([2.0, 3.0, 0.0, 1.0])
        2.0
        """
        frozen: Frozen = tangent_of(self.frozen, self.frozen.inputs_size, with_values)
        return Program(frozen, False, self.one_output and not with_values)

    def gradient(self, with_values: cython.bint = False):
        """The program of the gradient. Of several outputs it is that of their weighted sum (a vjp): it takes the
        inputs, then a weight for each output.

        It gives one derivative for each input, after the outputs themselves where `with_values` is true.

        >>> import tapegrad
        >>> tape = tapegrad.Tape()
        >>> x, y = tape.var(1.0), tape.var(2.0)
        >>> program = tape.freeze([x, y], x * y + tapegrad.sin(x))
        >>> program.gradient()([2.0, 3.0])
        array([2.58385316, 2.        ])
        >>> hvp = program.gradient().tangent()  # takes a point, then a direction
        >>> hvp([2.0, 3.0, 1.0, 0.0])
        array([-0.90929743,  1.        ])
        """
        weighted: cython.bint = not self.one_output
        frozen: Frozen = gradient_of(self.frozen, self.frozen.inputs_size, weighted, with_values)
        return Program(frozen, self.one_input and not weighted, self.one_input and not with_values)

    def sparsity(self, of="jacobian"):
        """The pattern of the Jacobian, or the "hessian" of one output, as a sparse matrix of SciPy with ones.

        An entry is there if the output depends on the input, whatever the numbers are.

        >>> import tapegrad
        >>> tape = tapegrad.Tape()
        >>> x = [tape.var(1.0) for _ in range(3)]
        >>> tape.freeze(x, [x[0] * x[1], x[2] + 1.0]).sparsity().toarray()
        array([[1., 1., 0.],
               [0., 0., 1.]])
        """
        from tapegrad.scalar.sparse import pattern

        return pattern(self, of)

    def colouring(self, of="jacobian"):
        """Which columns or rows can be computed together, as `Colouring`: greedy, those with the most entries first."""
        from tapegrad.scalar.sparse import colouring

        return colouring(self, of)

    def jacobian(self):
        """The sparse Jacobian, prepared: pattern, colours and a derivative program. Call it with a point.

        >>> import tapegrad
        >>> tape = tapegrad.Tape()
        >>> x = [tape.var(1.0) for _ in range(3)]
        >>> jacobian = tape.freeze(x, [x[0] * x[1], x[2] * x[2]]).jacobian()
        >>> jacobian
        SparseDerivative(2 x 3, 3 entries, 1 colours by rows)
        >>> jacobian([2.0, 3.0, 5.0]).toarray()
        array([[ 3.,  2.,  0.],
               [ 0.,  0., 10.]])
        """
        from tapegrad.scalar.sparse import SparseDerivative

        return SparseDerivative(self, "jacobian")

    def hessian(self):
        """The sparse Hessian of one output, prepared likewise."""
        from tapegrad.scalar.sparse import SparseDerivative

        return SparseDerivative(self, "hessian")

    def instructions(self):
        """For the package: what runs."""
        return self.frozen

    def form(self):
        """For the package: whether inputs are one number, and outputs."""
        return self.one_input, self.one_output

    def compile(self, *kernels, cache=None):
        """The program as machine code of this machine, as `CompiledProgram`: the same calls and the same results.

        A kernel is compiled when it is first needed: "value", "value_and_grad", and for batches "batch_value" and
        "batch". Those that are named are compiled at once. cache: a folder in which code is kept for other processes;
        nobody else must be able to write to it. Without llvmlite everything is interpreted, which is said once.

        >>> import tapegrad
        >>> tape = tapegrad.Tape()
        >>> x, y = tape.var(1.0), tape.var(2.0)
        >>> program = tape.freeze([x, y], x * y + tapegrad.sin(x))
        >>> compiled = program.compile()
        >>> compiled([2.0, 3.0])
        6.909297426825682
        >>> program.gradient().tangent().compile()([2.0, 3.0, 1.0, 0.0])
        array([-0.90929743,  1.        ])
        """
        from tapegrad.compile.program import compiled

        return compiled(self, kernels, cache)

    # ---- what is said about it -------------------------------------------------------------------------------

    def stats(self):
        """Exact counts of what the program holds, as `ProgramStats`."""
        frozen: Frozen = self.frozen
        return ProgramStats(
            inputs=frozen.inputs_size,
            outputs=frozen.outputs_size,
            instrs=frozen.size - frozen.first,
            constants=frozen.constants_size,
            guards=frozen.guards_size,
            removed=frozen.removed,
            # opcode, operands, and the rooms of their adjoints in a batch
            nbytes=frozen.size * (1 + 4 + 4 + 13 + (0 if frozen.third is cython.NULL else 8))
            + frozen.constants_size * 8
            + frozen.guards_size * cython.sizeof(Guard)
            + frozen.outputs_size * 4,
        )

    def __str__(self):
        """Every instruction with what it hands on to the adjoints; of long programs the first and the last."""
        return shown_program(self)

    def __repr__(self):
        stats = self.stats()
        return f"Program({stats.inputs} inputs, {stats.outputs} outputs, {stats.instrs} instructions)"


def instruction(program: Program, i: cython.Py_ssize_t):
    """For print: the opcode of a value and its operands, an index or a float for a constant."""
    frozen: Frozen = program.frozen
    if not 0 <= i < frozen.size:
        raise IndexError(i)
    return frozen.ops[i], operands_at(cython.address(frozen.code), i)


def length_of_program(program: Program):
    """For print: how many values it has."""
    return program.frozen.size


def outputs(program: Program):
    """For print: an index for each output, or a float for a constant."""
    frozen: Frozen = program.frozen
    places: list = []
    k: cython.Py_ssize_t
    for k in range(frozen.outputs_size):
        place: int32_t = frozen.outputs[k]
        places.append(place if place >= 0 else frozen.constants[-1 - place])
    return places


def guards(program: Program):
    """For compilation: operation, two operands (an index, or a float for a constant) and outcome of each guard."""
    frozen: Frozen = program.frozen
    answer: list = []
    k: cython.Py_ssize_t
    for k in range(frozen.guards_size):
        guard: Guard = frozen.guards[k]
        answer.append(
            (
                guard.op,
                guard.lhs if guard.lhs >= 0 else guard.constant,
                guard.rhs if guard.rhs >= 0 else guard.constant,
                guard.outcome != 0,
            )
        )
    return answer


# ---- for the transforms (differentiate.py) -----------------------------------------------------------------------


def tape_of(x):
    """The tape that a Var is on; None for a constant, and for what is no Var."""
    if type(x) is Var and cython.cast(Var, x).index >= 0:
        return cython.cast(object, cython.cast(Var, x).store.owner)
    return None


def constant_on(tape: Recording, number: cython.double):
    """A constant with a place on the tape, so that something can be derived by it."""
    return placed(tape, number)


def length_of(tape: Recording):
    """How many values a tape holds."""
    return tape.store.size


def between(tape: Recording, start: cython.Py_ssize_t, inputs: list, outputs: list):
    """The program of what a tape holds between these, from that length on, and the values from outside that it takes as
    further inputs."""
    outside: list = []
    frozen: Frozen = segment(tape, start, inputs, outputs, outside)
    return Program(frozen, False, False), outside


def tangent_by(program: Program, count: cython.Py_ssize_t):
    """As `Program.tangent`, by the first inputs only."""
    return Program(tangent_of(program.frozen, count, False), False, False)


def gradient_by(program: Program, count: cython.Py_ssize_t, weighted: cython.bint):
    """As `Program.gradient`, by the first inputs only."""
    return Program(gradient_of(program.frozen, count, weighted, False), False, False)


def entries_by(program: Program, colours, count, reverse, order, colour_of, slope_of):
    """The program of the entries of a sparse Jacobian, see `entries_of`; None if it would be too large."""
    frozen: Frozen = entries_of(program.frozen, colours, count, reverse, order, colour_of, slope_of)
    return None if frozen is None else Program(frozen, False, False)


def record(program: Program, tape: Recording, inputs: list):
    """The outputs at these numbers and Vars, on the tape."""
    return inlined(program.frozen, tape, inputs)
