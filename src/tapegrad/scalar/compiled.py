# cython: cdivision=True, boundscheck=False, wraparound=False
# cython: binding=False, embedsignature=True, embedsignature.format=clinic, auto_pickle=False
"""The compiled program: what a program does, by machine code.

In: a program and what makes the machine code for it (tapegrad.compile.program). Out: values and gradients, at one
point, in bound arrays, or at many points. Where a guard is broken the interpreter runs instead, and says which.
"""

import cython
import numpy
from cython.cimports.cpython.float import PyFloat_AS_DOUBLE
from cython.cimports.libc.string import memcpy
from cython.cimports.tapegrad.scalar.batching import batched
from cython.cimports.tapegrad.scalar.freezing import Frozen
from cython.cimports.tapegrad.scalar.native import Native, Scratch
from cython.cimports.tapegrad.scalar.replaying import numbers_of, pointer_of

from tapegrad.compile.devices import on_device
from tapegrad.errors import ConversionError, InputError

ARRAY = numpy.ndarray
KERNELS = ("value", "value_and_grad", "batch_value", "batch")


def points_of(program):
    """A program on CUDA devices, which few want."""
    from tapegrad.compile.cuda.points import Points

    return Points(program)


@cython.final
@cython.cclass
class Kernel:
    """Machine code with memory to run it at one point."""

    native: Native
    scratch: Scratch

    def __cinit__(self, native: Native):
        self.native = native
        self.scratch = Scratch(native)


@cython.final
@cython.cclass
class CompiledProgram:
    """A program as machine code: `program.compile()`. Called like the program, with the same results and errors.

    Numbers are computed in the same order and rounded as often, so one point gives the same bits; in batches, functions
    such as `sin` stay within the bounds of the reference.

    >>> import tapegrad
    >>> tape = tapegrad.Tape()
    >>> x, y = tape.var(1.0), tape.var(2.0)
    >>> compiled = tape.freeze([x, y], x * y + tapegrad.sin(x)).compile()
    >>> compiled.value_and_grad([2.0, 3.0])
    (6.909297426825682, array([2.58385316, 2.        ]))
    """

    source: object
    frozen: Frozen
    one_input: cython.bint
    one_output: cython.bint
    make: object  # from the name of a kernel to its machine code; None without llvmlite
    count: object  # what `stats` gives
    made: dict  # machine code by name
    value: Kernel
    both: Kernel
    blocks: list
    points: object  # the program on CUDA devices; None until it is asked for

    def __cinit__(self, program, make, count):
        self.source = program
        self.frozen = program.instructions()
        self.one_input, self.one_output = program.form()
        self.make = make
        self.count = count
        self.made = {}
        self.blocks = []
        self.points = None

    @property
    def program(self):
        """The program that this is compiled from."""
        return self.source

    # ---- machine code ----------------------------------------------------------------------------------------

    @cython.cfunc
    def native(self, name: str) -> Native:
        """Machine code by name; None where there is no compiler."""
        if name not in self.made:
            self.made[name] = self.make(name)
        return self.made[name]

    def prepare(self, *kernels):
        """Compiles these kernels now: "value", "value_and_grad", "batch_value" or "batch"."""
        for name in kernels:
            if name not in KERNELS:
                raise InputError(f"expected a kernel, one of {', '.join(KERNELS)}, got {name!r}")
            self.native(name)

    @cython.cfunc
    def kernel(self, with_slopes: cython.bint) -> Kernel:
        """Machine code for one point; None where there is no compiler."""
        known: Kernel = self.both if with_slopes else self.value
        if known is not None:
            return known
        native: Native = self.native("value_and_grad" if with_slopes else "value")
        if native is None:
            return None
        known = Kernel(native)
        if with_slopes:
            self.both = known
        else:
            self.value = known
        return known

    # ---- one point -------------------------------------------------------------------------------------------

    def __call__(self, x):
        """The value of the outputs at x. Where x holds `Var`s, what the program computes is recorded on their tape."""
        kernel: Kernel = self.value if self.value is not None else self.kernel(False)
        if kernel is None:
            return self.source(x)
        try:
            numbers: object = numbers_of(x, self.one_input, self.frozen.inputs_size)
        except ConversionError:
            return self.source(x)
        value: cython.double
        if self.one_output:
            if run(kernel, numbers, cython.address(value), cython.NULL):
                return self.source(x)
            return value
        values = numpy.empty(self.frozen.outputs_size)
        if run(kernel, numbers, pointer_of(values), cython.NULL):
            return self.source(x)
        return values

    def value_and_grad(self, x):
        """Value and gradient at x; with several outputs, values and the Jacobian (a row for each output)."""
        kernel: Kernel = self.both if self.both is not None else self.kernel(True)
        if kernel is None:
            return self.source.value_and_grad(x)
        frozen: Frozen = self.frozen
        numbers: object = numbers_of(x, self.one_input, frozen.inputs_size)
        value: cython.double
        slope: cython.double
        if self.one_output:
            if self.one_input:
                if run(kernel, numbers, cython.address(value), cython.address(slope)):
                    return self.source.value_and_grad(x)
                return value, slope
            gradient = numpy.empty(frozen.inputs_size)
            if run(kernel, numbers, cython.address(value), pointer_of(gradient)):
                return self.source.value_and_grad(x)
            return value, gradient
        values = numpy.empty(frozen.outputs_size)
        gradient = numpy.empty([frozen.outputs_size] if self.one_input else [frozen.outputs_size, frozen.inputs_size])
        if run(kernel, numbers, pointer_of(values), pointer_of(gradient)):
            return self.source.value_and_grad(x)
        return values, gradient

    def bind(self, x, value, gradient=None):
        """A call without arguments for these arrays: it reads x and writes the value of the outputs and, where an array
        for it is given, the gradient (of several outputs the Jacobian), and gives `value`. For loops that cannot afford
        an array per call.

        Where a guard is broken it raises, and has written nothing.

        >>> import numpy as np
        >>> import tapegrad
        >>> tape = tapegrad.Tape()
        >>> x = tape.var(1.0)
        >>> compiled = tape.freeze(x, x * x).compile()
        >>> point, value, slope = np.array([3.0]), np.empty(1), np.empty(1)
        >>> call = compiled.bind(point, value, slope)
        >>> call()
        array([9.])
        >>> slope
        array([6.])
        """
        return BoundCode(self, x, value, gradient)

    # ---- many points -----------------------------------------------------------------------------------------

    def batch(self, x, threads=1, gradients: cython.bint = True):
        """Values and gradients at many points: x has a row for each. Without gradients, values alone.

        threads: how many of them work on the points at the same time; the GIL is released.

        With an array of CuPy's it is a kernel on its CUDA device, results are arrays there, and the host does not wait:
        a point that breaks a guard has nan for its value and gradient.
        """
        if type(x) is not ARRAY and on_device(x):
            if self.points is None:
                self.points = points_of(self.source)
            return self.points.batch(x, gradients)
        native: Native = self.native("batch" if gradients else "batch_value")
        return batched(self.frozen, self.blocks, self.one_input, self.one_output, x, threads, gradients, native)

    # ---- what is said about it -------------------------------------------------------------------------------

    def stats(self):
        """What was compiled, as `CompiledStats`: seconds, bytes and instructions of each kernel."""
        return self.count()

    def __repr__(self):
        names = ", ".join(name for name, native in self.made.items() if native is not None) or "nothing yet"
        return f"CompiledProgram({self.source!r}; compiled: {names})"


@cython.cfunc
@cython.exceptval(-1)
def run(kernel: Kernel, numbers: object, v: cython.p_double, g: cython.p_double) -> cython.int:
    """One point: values into v and slopes into g; 1 where a guard is broken."""
    native: Native = kernel.native
    x: cython.p_double = kernel.scratch.x
    n: cython.Py_ssize_t = native.inputs - native.weights
    k: cython.Py_ssize_t
    if type(numbers) is list:
        for k in range(n):
            x[k] = PyFloat_AS_DOUBLE(cython.cast(list, numbers)[k])
    elif native.weights:
        memcpy(x, pointer_of(numbers), n * 8)
    else:
        x = pointer_of(numbers)
    return run_at(kernel, x, v, g)


@cython.cfunc
@cython.exceptval(check=False)
def run_at(kernel: Kernel, x: cython.p_double, v: cython.p_double, g: cython.p_double) -> cython.int:
    """The same; with weights, x is the kernel's own, which has room for them."""
    native: Native = kernel.native
    w: cython.p_double = kernel.scratch.w
    if native.weights == 0:
        return native.run(x, v, g, w, 1)
    n: cython.Py_ssize_t = native.inputs - native.weights
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t
    for m in range(native.weights):
        for k in range(native.weights):
            x[n + k] = 1.0 if k == m else 0.0
        if native.run(x, v, g + m * n, w, 1):
            return 1
    return 0


# ---- bound arrays ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.exceptval(-1)
def check_bound(what: str, array: object, count: cython.Py_ssize_t) -> cython.int:
    """Whether an array can be bound: its numbers are read and written in place, whenever the call is made."""
    if type(array) is not ARRAY or array.dtype != numpy.float64 or array.size != count:
        got = f"{array.dtype}{array.shape}" if isinstance(array, ARRAY) else f"{array!r:.60}"
        raise InputError(f"expected {what} as a NumPy array of {count} float64, got {got}")
    if not (array.flags.c_contiguous and array.flags.aligned) or (what != "inputs" and not array.flags.writeable):
        raise InputError(
            f"expected a contiguous array that can be written to for the {what}; a copy would not be bound"
        )
    return 0


@cython.final
@cython.cclass
class BoundCode:
    """A compiled program with the arrays it reads and writes: `compiled.bind(x, value, gradient)`. Call it."""

    kernel: Kernel
    native: Native
    x: cython.p_double
    v: cython.p_double
    g: cython.p_double
    w: cython.p_double
    arrays: tuple
    result: object
    views: tuple  # as long as there are views of an array, it cannot be resized
    owner: CompiledProgram

    def __cinit__(self, owner: CompiledProgram, x, value, gradient):
        n: cython.Py_ssize_t = owner.frozen.inputs_size
        outputs: cython.Py_ssize_t = owner.frozen.outputs_size
        check_bound("inputs", x, n)
        check_bound("values", value, outputs)
        if gradient is not None:
            check_bound("gradients", gradient, n * outputs)
        arrays: list = [x, value] if gradient is None else [x, value, gradient]
        for k, one in enumerate(arrays):
            for other in arrays[k + 1 :]:
                if numpy.may_share_memory(one, other):
                    raise InputError("expected arrays that do not overlap; results would be written over inputs")
        self.owner = owner
        self.arrays = tuple(arrays)
        self.result = value
        self.views = tuple([memoryview(one) for one in arrays])
        self.kernel = owner.kernel(gradient is not None)
        self.x = pointer_of(x)
        self.v = pointer_of(value)
        self.g = cython.NULL if gradient is None else pointer_of(gradient)
        if self.kernel is not None:
            self.native = self.kernel.native
            self.w = self.kernel.scratch.w

    def __call__(self):
        """Reads and writes the arrays; gives that of the value."""
        if self.native is None or self.native.weights or self.native.run(self.x, self.v, self.g, self.w, 1):
            self.otherwise()
        return self.result

    @cython.cfunc
    @cython.exceptval(-1)
    def otherwise(self) -> cython.int:
        """Several outputs, a broken guard, or no compiler."""
        kernel: Kernel = self.kernel
        if kernel is not None and kernel.native.weights:
            memcpy(kernel.scratch.x, self.x, self.owner.frozen.inputs_size * 8)
            if not run_at(kernel, kernel.scratch.x, self.v, self.g):
                return 0
        source: object = self.owner.source
        point: object = self.arrays[0].item() if self.owner.one_input else self.arrays[0].ravel()
        if self.g is cython.NULL:
            results: tuple = (source(point),)
        else:
            results = source.value_and_grad(point)
        for array, result in zip(self.arrays[1:], results, strict=True):
            array[...] = numpy.reshape(result, array.shape)
        return 0

    def __repr__(self):
        return f"BoundCode({self.owner.source!r})"
