# cython: binding=False, boundscheck=False, wraparound=False
"""The way into machine code: a call of a compiled function of tensors costs about as much as making its results.

In: the arguments of a call. Out: results, or `NotImplemented` where the arguments are not those that the code was made
for: then whoever calls finds or compiles other code. Reads an array's address from NumPy's own structure, whose layout
is part of its binary interface: asking Python for it takes ten times as long.
"""

import numpy
from cpython.dict cimport PyDict_Next, PyDict_Size
from cpython.object cimport PyObject

cdef extern from *:
    """
    typedef struct {
        PyObject_HEAD
        char *data;
        int nd;
        Py_ssize_t *dimensions;
        Py_ssize_t *strides;
        PyObject *base;
        PyObject *descr;
        int flags;
    } tapegrad_array;
    #define TAPEGRAD_PLAIN 0x0101 /* C-contiguous and aligned */
    """
    ctypedef struct tapegrad_array:
        char *data
        int nd
        Py_ssize_t *dimensions
        PyObject *descr
        int flags
    int TAPEGRAD_PLAIN

ctypedef void (*native)(void *) noexcept

cdef object ARRAY = numpy.ndarray
cdef object EMPTY = numpy.empty


def address(object array):
    """Where an array's numbers are."""
    return <size_t>(<tapegrad_array *><PyObject *>array).data


cdef class Leaf:
    """An argument that the code reads, or a constant: what it must be, and where its address goes."""
    cdef object dtype, shape, constant
    cdef int kind  # 0: an array; 1: a float; 2: a constant; 3: an array that is not read
    cdef Py_ssize_t slot

    def __init__(self, int kind, object dtype, tuple shape, object constant, Py_ssize_t slot):
        self.kind, self.dtype, self.shape, self.constant, self.slot = kind, dtype, shape, constant, slot


cdef class Result:
    """A result: an array that is made anew, or a number that the code leaves in memory."""
    cdef object dtype, shape
    cdef Py_ssize_t slot
    cdef size_t number
    cdef bint single
    cdef tuple guests  # what lies in the array until it is written: slots, and how far behind its start

    def __init__(self, object dtype, object shape, Py_ssize_t slot, size_t number, tuple guests):
        self.guests = guests
        self.dtype, self.shape, self.slot, self.number = dtype, shape, slot, number
        self.single = dtype.itemsize == 4


cdef class Entry:
    """A compiled function with the structures of its arguments and results; None among the results is None.

    table: the address of the table of addresses that the code takes; keep: what must live as long as it.
    checks: the addresses of conditions that must hold after a call, each with what to say if it does not.
    """
    cdef object arguments, results, keep, checks, error
    cdef native function
    cdef void **table
    cdef double *numbers
    cdef public bint busy  # also while somebody else uses the code's memory

    def __init__(self, size_t function, size_t table, size_t numbers, arguments, results, checks, error, keep):
        self.function, self.table, self.numbers = <native><void *>function, <void **>table, <double *>numbers
        self.arguments, self.results, self.checks, self.error, self.keep = arguments, results, checks, error, keep

    def call(self, tuple args):
        """The results for these arguments; NotImplemented if they are others."""
        cdef object result
        if self.busy:
            return NotImplemented
        if not self.take(args, self.arguments):
            return NotImplemented
        self.busy = True
        try:
            result = self.made(self.results)
            self.function(self.table)
            if self.checks:
                for place, message in self.checks:
                    if not (<char *><size_t>place)[0]:
                        raise self.error(message)
            return self.filled(result, self.results)
        finally:
            self.busy = False

    cdef bint take(self, object value, object like):
        """Puts the addresses of arguments into the table; False if they are not as expected."""
        cdef Leaf leaf
        cdef Py_ssize_t k, count
        cdef tapegrad_array *array
        cdef PyObject *key
        cdef PyObject *part
        cdef PyObject *other
        cdef PyObject *item
        cdef Py_ssize_t ours = 0, theirs = 0
        cdef tuple shape
        if type(like) is Leaf:
            leaf = <Leaf>like
            if leaf.kind == 0:
                if type(value) is not ARRAY:
                    return False
                array = <tapegrad_array *><PyObject *>value
                if array.descr != <PyObject *>leaf.dtype or (array.flags & TAPEGRAD_PLAIN) != TAPEGRAD_PLAIN:
                    return False
                shape = <tuple>leaf.shape
                count = len(shape)
                if array.nd != count:
                    return False
                for k in range(count):
                    if array.dimensions[k] != <Py_ssize_t>shape[k]:
                        return False
                self.table[leaf.slot] = array.data
                return True
            if leaf.kind == 1:
                if type(value) is not float:
                    return False
                self.numbers[leaf.slot] = value
                return True
            return type(value) is type(leaf.constant) and value == leaf.constant
        if type(like) is list or type(like) is tuple:
            if type(value) is not type(like) or len(value) != len(like):
                return False
            if type(like) is list:
                for k in range(len(<list>like)):
                    if not self.take((<list>value)[k], (<list>like)[k]):
                        return False
            else:
                for k in range(len(<tuple>like)):
                    if not self.take((<tuple>value)[k], (<tuple>like)[k]):
                        return False
            return True
        if type(like) is dict:
            if type(value) is not dict or PyDict_Size(value) != PyDict_Size(like):
                return False
            # in the same order too: the function may have gone through it
            while PyDict_Next(like, &ours, &key, &part):
                if not PyDict_Next(value, &theirs, &other, &item):
                    return False
                if (key != other and <object>key != <object>other) or not self.take(<object>item, <object>part):
                    return False
            return True
        return False

    cdef object made(self, object like):
        """New arrays for the results, their addresses in the table; numbers are still missing."""
        cdef Result result
        if like is None:
            return None
        if type(like) is Result:
            result = <Result>like
            if result.number:
                return None
            array = EMPTY(result.shape, result.dtype)
            self.table[result.slot] = (<tapegrad_array *><PyObject *>array).data
            for slot, place in result.guests:
                self.table[<Py_ssize_t>slot] = (<tapegrad_array *><PyObject *>array).data + <Py_ssize_t>place
            return array
        if type(like) is tuple:
            return [self.made(part) for part in <tuple>like]
        if type(like) is list:
            return [self.made(part) for part in <list>like]
        return {key: self.made(part) for key, part in (<dict>like).items()}

    cdef object filled(self, object value, object like):
        """The results, with the numbers that were computed."""
        cdef Result result
        cdef Py_ssize_t k
        if like is None:
            return None
        if type(like) is Result:
            result = <Result>like
            if not result.number:
                return value
            if result.single:
                return (<float *>result.number)[0]
            return (<double *>result.number)[0]
        if type(like) is tuple:
            return tuple([self.filled((<list>value)[k], (<tuple>like)[k]) for k in range(len(<tuple>like))])
        if type(like) is list:
            return [self.filled((<list>value)[k], (<list>like)[k]) for k in range(len(<list>like))]
        return {key: self.filled((<dict>value)[key], part) for key, part in (<dict>like).items()}
