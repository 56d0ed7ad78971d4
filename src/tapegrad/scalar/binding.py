# cython: cdivision=True, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""Binding: a program between two arrays that stay where they are. What a call costs besides its instructions is least.

In: a program, an array that its inputs are read from, and one that its outputs are written into. Out: a function
without arguments. Nothing is checked, converted or allocated when it is called.
"""

import cython
import numpy
from cython.cimports.cpython.buffer import PyBUF_C_CONTIGUOUS, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.libc.stdint import int32_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tapegrad.scalar.freezing import Frozen
from cython.cimports.tapegrad.scalar.kernels import forward_1
from cython.cimports.tapegrad.scalar.replaying import Broken, Workspace, first_broken, raise_broken

from tapegrad.errors import InputError

ARRAY = numpy.ndarray
DOUBLE = numpy.dtype(numpy.float64)


@cython.cfunc
def check(what: str, array: object, size: cython.Py_ssize_t, written: cython.bint) -> object:
    """Raises unless the array is one that a call can work on as it is."""
    wanted: str = f"expected as {what} a contiguous float64 array of {size} number{'' if size == 1 else 's'}"
    if type(array) is not ARRAY:
        raise InputError(f"{wanted}, got {array!r:.60}; make one with numpy.array")
    if array.dtype is not DOUBLE or array.size != size or array.ndim > 1:
        raise InputError(f"{wanted}, got one of {array.dtype} with shape {array.shape}")
    flags: object = array.flags
    if not (flags.c_contiguous and flags.aligned):
        raise InputError(f"{wanted}, got one with gaps; bind a copy")
    if written and not flags.writeable:
        raise InputError(f"{wanted}, got one that cannot be written to; bind a copy")
    return None


@cython.final
@cython.cclass
class Bound:
    """A program bound to its arrays, see `Program.bind`."""

    frozen: Frozen
    workspace: Workspace  # of its own: several may be bound to one program
    x: Py_buffer  # held, so that the arrays neither go nor move
    out: Py_buffer
    held: cython.int
    result: object

    def __cinit__(self, frozen: Frozen, x: object, out: object):
        self.frozen = frozen
        self.held = 0
        check("inputs", x, frozen.inputs_size, False)
        check("outputs", out, frozen.outputs_size, True)
        self.workspace = Workspace(frozen, False)
        PyObject_GetBuffer(x, cython.address(self.x), PyBUF_C_CONTIGUOUS)
        self.held = 1
        PyObject_GetBuffer(out, cython.address(self.out), PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)
        self.held = 2
        self.result = out

    def __dealloc__(self):
        if self.held > 0:
            PyBuffer_Release(cython.address(self.x))
        if self.held > 1:
            PyBuffer_Release(cython.address(self.out))

    def __call__(self):
        """Computes the outputs of the inputs as they are now; gives the array that they are written into."""
        frozen: Frozen = self.frozen
        values: cython.p_double = self.workspace.values
        out: cython.p_double = cython.cast(cython.p_double, self.out.buf)
        memcpy(values, self.x.buf, frozen.inputs_size * 8)
        forward_1(cython.address(frozen.code), values, frozen.first, frozen.size)
        if frozen.guards_size > 0:
            broken: Broken = first_broken(frozen, values, 1, 0)
            if broken.guard >= 0:
                raise_broken(broken, "this point")
        m: cython.Py_ssize_t
        for m in range(frozen.outputs_size):
            place: int32_t = frozen.outputs[m]
            out[m] = values[place] if place >= 0 else frozen.constants[-1 - place]
        return self.result
