# cython: c_api_binop_methods=True, cdivision=True, boundscheck=False, wraparound=False
# cython: binding=False, embedsignature=True, embedsignature.format=clinic, auto_pickle=False
"""Variables: numbers on a tape, and how an operation on them is appended to the recording.

In: operations on `Var` and numbers. Out: instructions, and a `Var` for the value of each.
`Tape` (tape.py) adds the named operations and the backward pass.
"""

import numbers
import operator
from sys import intern

import cython
import numpy
from cython.cimports.cpython.float import PyFloat_AS_DOUBLE, PyFloat_AsDouble, PyFloat_Check, PyFloat_CheckExact
from cython.cimports.cpython.object import (
    Py_EQ,
    Py_GE,
    Py_GT,
    Py_LT,
    Py_NE,
    PyObject_GenericGetAttr,
    PyTypeObject,
)
from cython.cimports.libc.stdint import int32_t
from cython.cimports.tapegrad.scalar.conditions import Condition, check_condition, condition
from cython.cimports.tapegrad.scalar.kernels import evaluate
from cython.cimports.tapegrad.scalar.opcodes import (
    ABS,
    ADD,
    CV,
    DIV,
    EQ,
    INPUT,
    LE,
    LT,
    MUL,
    NE,
    NEG,
    POW,
    SUB,
    VC,
    WHERE,
)
from cython.cimports.tapegrad.scalar.pool import pool_any, pool_install, pool_pop, pool_take
from cython.cimports.tapegrad.scalar.recording import Operand, Store, grow, grow_constants, keep, put

from tapegrad.errors import ConversionError, OperandError, StaleVarError, TapeMismatchError
from tapegrad.scalar.conditions import TRUTHS

# numbers.Real covers int, float, Fraction and NumPy's real scalars, but not NumPy's bool.
REAL = (numbers.Real, numpy.bool_)


# ---- instructions ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.inline
def new_var(store: cython.pointer(Store), index: int32_t, value: cython.double) -> object:
    return pool_take(cython.cast(cython.pointer(PyTypeObject), Var), store, index, value)


@cython.cfunc
@cython.inline
def record(store: cython.pointer(Store), op: cython.int, lhs: int32_t, rhs: int32_t, value: cython.double) -> object:
    if store.size == store.capacity:
        grow(store)
    return new_var(store, put(store, op, lhs, rhs, value), value)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def ready(store: cython.pointer(Store)) -> cython.bint:
    """Whether there is room for an instruction and a Var for its value."""
    return store.size < store.capacity and pool_any()


@cython.cfunc
@cython.inline
def append(store: cython.pointer(Store), op: cython.int, lhs: int32_t, rhs: int32_t, value: cython.double) -> object:
    """What `record` does where the store is ready."""
    return pool_pop(store, put(store, op, lhs, rhs, value), value)


@cython.cfunc
@cython.inline
@cython.exceptval(-1)
def immediate(store: cython.pointer(Store), value: cython.double) -> int32_t:
    """Keeps a constant operand; the answer is its index."""
    if store.constants_size == store.constants_capacity:
        grow_constants(store)
    return keep(store, value)


def variable(store: cython.pointer(Store), value: cython.double) -> object:
    """A new input."""
    if ready(store):
        store.inputs += 1
        return append(store, INPUT, 0, 0, value)
    created: object = record(store, INPUT, 0, 0, value)
    store.inputs += 1
    return created


def constant(store: cython.pointer(Store), value: cython.double) -> object:
    """A `Var` that is not on the tape. It survives a reset: nothing of it is recorded."""
    return new_var(store, -1, value)


def recorded(store: cython.pointer(Store), index: int32_t) -> object:
    """A further `Var` for a value that is on the tape."""
    return new_var(store, index, store.values[index])


# ---- operands --------------------------------------------------------------------------------------------------


def check(x: Var) -> cython.int:
    """Raises unless the recording of x is the tape's present one."""
    if x.generation != x.store.generation and x.index >= 0:
        raise_stale(x)
    return 0


@cython.cfunc
@cython.exceptval(-1)
def raise_stale(x: Var) -> cython.int:
    raise StaleVarError(
        f"this Var (value {x.number!r}) was recorded before tape.reset(); "
        "make it again with tape.var(...) or by repeating the operations after the reset"
    )


def check_owner(store: cython.pointer(Store), x: object) -> cython.int:
    """Raises if x is a Var that this tape cannot use."""
    if type(x) is Var:
        v: Var = cython.cast(Var, x)
        if v.store is not store:
            raise_mismatch(v)
        check(v)
    return 0


@cython.cfunc
@cython.exceptval(-1)
def raise_mismatch(x: Var) -> cython.int:
    raise TapeMismatchError(
        f"this Var (value {x.number!r}) belongs to another tape; "
        "record everything on one tape, or pass its number with tape.const(x.value)"
    )


@cython.cfunc
@cython.inline
def is_number(x: object) -> cython.bint:
    return PyFloat_CheckExact(x) or type(x) is int or isinstance(x, REAL)


def as_number(x: object) -> cython.double:
    """The double of a real number; a Var or anything else is an error."""
    if PyFloat_Check(x):
        return PyFloat_AS_DOUBLE(x)
    if is_number(x):
        return PyFloat_AsDouble(x)
    if type(x) is Var:
        raise ConversionError(
            "expected a plain number, got a Var; a conversion would drop its derivative: "
            "use the Var itself, or x.value where the derivative is not wanted"
        )
    hint: str = "; functions of arrays are in tapegrad.tensor" if hasattr(x, "shape") else ""
    raise OperandError(f"expected a Var or a real number, got {type(x).__name__}: {x!r:.60}{hint}")


@cython.cfunc
@cython.exceptval(-1.0, check=True)
def number_of(x: object) -> cython.double:
    """The double of what is not a Var. Converting may run a user's code, which may reset the tape: so it comes first,
    and everything is checked afterwards."""
    return 0.0 if type(x) is Var else as_number(x)


@cython.cfunc
@cython.exceptval(check=True)
def operand(store: cython.pointer(Store), x: object, number: cython.double) -> Operand:
    """Value and index (-1 for a constant) of a Var of this tape, checked now, or of a number converted before."""
    resolved: Operand
    if type(x) is Var:
        check_owner(store, x)
        resolved.value = cython.cast(Var, x).number
        resolved.index = cython.cast(Var, x).index
    else:
        resolved.value = number
        resolved.index = -1
    return resolved


# ---- operations ------------------------------------------------------------------------------------------------


def unary(op: cython.int, x: object) -> object:
    """One operation on a Var (a Var) or on a number (a float)."""
    if type(x) is Var:
        return on_var(op, cython.cast(Var, x))
    return evaluate(op, as_number(x), 0.0)


# The functions below pass Vars on as arguments and never store them in a local: an argument is borrowed, a local costs
# two changes of its reference count. The usual case of an operator, Vars and floats and room for one more instruction,
# is inlined with a known op, so that evaluate is one machine instruction, and makes no call, so that nothing needs to
# be saved on the stack. Everything else is left to functions that are not inlined.


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def usual(x: Var) -> cython.bint:
    """Whether x is on the present recording and nothing has to grow for an operation without constants."""
    return x.index >= 0 and x.generation == x.store.generation and ready(x.store)


@cython.cfunc
@cython.inline
def arithmetic(op: cython.int, left: object, right: object) -> object:
    """An operator of Var: at least one operand is a Var; NotImplemented for what is not a number."""
    if type(left) is Var:
        if type(right) is Var:
            return of_two(op, cython.cast(Var, left), cython.cast(Var, right))
        if PyFloat_CheckExact(right):
            return with_right(op, cython.cast(Var, left), PyFloat_AS_DOUBLE(right))
    elif PyFloat_CheckExact(left):
        return with_left(op, PyFloat_AS_DOUBLE(left), cython.cast(Var, right))
    return with_other(op, left, right)


@cython.cfunc
@cython.inline
def of_two(op: cython.int, x: Var, y: Var) -> object:
    if usual(x) and x.store is y.store and y.index >= 0 and y.generation == x.generation:
        return append(x.store, op, x.index, y.index, evaluate(op, x.number, y.number))
    return of_any_two(op, x, y)


@cython.cfunc
@cython.inline
def with_right(op: cython.int, x: Var, number: cython.double) -> object:
    if usual(x) and x.store.constants_size < x.store.constants_capacity:
        return append(x.store, op + VC, x.index, keep(x.store, number), evaluate(op, x.number, number))
    return any_with_right(op, x, number)


@cython.cfunc
@cython.inline
def with_left(op: cython.int, number: cython.double, x: Var) -> object:
    if usual(x) and x.store.constants_size < x.store.constants_capacity:
        return append(x.store, op + CV, keep(x.store, number), x.index, evaluate(op, number, x.number))
    return any_with_left(op, number, x)


@cython.cfunc
def on_var(op: cython.int, x: Var) -> object:
    if usual(x):
        return append(x.store, op, x.index, 0, evaluate(op, x.number, 0.0))
    if x.index < 0:
        return constant(x.store, evaluate(op, x.number, 0.0))
    check(x)
    return record(x.store, op, x.index, 0, evaluate(op, x.number, 0.0))


@cython.cfunc
def of_any_two(op: cython.int, x: Var, y: Var) -> object:
    if x.store is not y.store:
        raise_mismatch(y)
    check(x)
    check(y)
    value: cython.double = evaluate(op, x.number, y.number)
    if x.index >= 0:
        if y.index >= 0:
            return record(x.store, op, x.index, y.index, value)
        return record(x.store, op + VC, x.index, immediate(x.store, y.number), value)
    if y.index >= 0:
        return record(x.store, op + CV, immediate(x.store, x.number), y.index, value)
    return constant(x.store, value)


@cython.cfunc
def any_with_right(op: cython.int, x: Var, number: cython.double) -> object:
    value: cython.double = evaluate(op, x.number, number)
    if x.index < 0:
        return constant(x.store, value)
    check(x)
    return record(x.store, op + VC, x.index, immediate(x.store, number), value)


@cython.cfunc
def any_with_left(op: cython.int, number: cython.double, x: Var) -> object:
    value: cython.double = evaluate(op, number, x.number)
    if x.index < 0:
        return constant(x.store, value)
    check(x)
    return record(x.store, op + CV, immediate(x.store, number), x.index, value)


@cython.cfunc
def with_other(op: cython.int, left: object, right: object) -> object:
    """With a number that is no float, or with what is no number."""
    if type(left) is Var:
        return any_with_right(op, cython.cast(Var, left), as_number(right)) if is_number(right) else NotImplemented
    return any_with_left(op, as_number(left), cython.cast(Var, right)) if is_number(left) else NotImplemented


@cython.cfunc
@cython.inline
def power(left: object, right: object) -> object:
    """`left ** right` as an operator. A square is a product: faster, and rounded once."""
    if type(left) is Var and type(right) is not Var and is_number(right) and right == 2:
        return arithmetic(MUL, left, left)
    return arithmetic(POW, left, right)


def binary(op: cython.int, left: object, right: object) -> object:
    """One operation on two operands as a function: a float where neither is a Var."""
    if type(left) is Var or type(right) is Var:
        result: object = power(left, right) if op == POW else arithmetic(op, left, right)
        if result is NotImplemented:
            as_number(right if type(left) is Var else left)  # raises, and says what came
        return result
    return evaluate(op, as_number(left), as_number(right))


def unary_here(store: cython.pointer(Store), op: cython.int, x: object) -> object:
    """An operation as a method of a tape: always a Var."""
    check_owner(store, x)
    return on_tape(store, unary(op, x))


def binary_here(store: cython.pointer(Store), op: cython.int, x: object, y: object) -> object:
    """The same of two operands."""
    check_owner(store, x)
    check_owner(store, y)
    return on_tape(store, binary(op, x, y))


def on_tape(store: cython.pointer(Store), result: object) -> object:
    """A number that came out of numbers becomes a constant of the tape: its methods always give a Var."""
    return result if type(result) is Var else constant(store, as_number(result))


@cython.cfunc
def compare(left: Var, right: object, comparison: cython.int) -> object:
    """A comparison by value: a bool among constants, else a Condition; NotImplemented for what is not a number."""
    if type(right) is not Var and not is_number(right):
        return NotImplemented
    number: cython.double = number_of(right)
    a: Operand = operand(left.store, left, 0.0)
    b: Operand = operand(left.store, right, number)
    if comparison in (Py_GT, Py_GE):  # a > b is b < a: the kernels need not know both
        a, b = b, a
    op: cython.int = LE
    if comparison in (Py_LT, Py_GT):
        op = LT
    elif comparison == Py_EQ:
        op = EQ
    elif comparison == Py_NE:
        op = NE
    return condition(left.store, op, a, b)


def choose(chosen: object, first: object, second: object) -> object:
    """`where` as a function. The condition is recorded too, so a frozen program follows it without a guard."""
    if type(chosen) is Var:
        chosen = compare(chosen, 0.0, Py_NE)
    first_number: cython.double = number_of(first)
    second_number: cython.double = number_of(second)
    if type(chosen) is not Condition:
        if not isinstance(chosen, TRUTHS) and not is_number(chosen):
            raise OperandError(
                f"expected a condition (x > 0), a bool or a number, got {type(chosen).__name__}: {chosen!r:.60}"
            )
        if chosen:
            return first if type(first) is Var else first_number
        return second if type(second) is Var else second_number
    when: Condition = cython.cast(Condition, chosen)
    check_condition(when)
    store: cython.pointer(Store) = cython.address(when.tape.store)
    a: Operand = operand(store, first, first_number)
    b: Operand = operand(store, second, second_number)
    lhs: int32_t = when.lhs if when.lhs >= 0 else immediate(store, when.constant)
    rhs: int32_t = when.rhs if when.rhs >= 0 else immediate(store, when.constant)
    record(store, when.op, lhs, rhs, 1.0 if when.outcome else 0.0)
    form: cython.int = (0 if a.index >= 0 else CV) + (0 if b.index >= 0 else VC)
    lhs = a.index if a.index >= 0 else immediate(store, a.value)
    rhs = b.index if b.index >= 0 else immediate(store, b.value)
    return record(store, WHERE + form, lhs, rhs, a.value if when.outcome else b.value)


NUMPY_NAMES = {
    "absolute": "abs",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "fabs": "abs",
}
NUMPY_OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "float_power": operator.pow,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


def of_numpy(ufunc: object, method: object, operands: tuple, options: dict) -> object:
    """What NumPy's scalars ask of a Var, which is to do what its operator does; an error for all else."""
    name: str = ufunc.__name__
    if method == "__call__" and not options and name in NUMPY_OPERATORS:
        for x in operands:
            if type(x) is not Var and not is_number(x):
                return NotImplemented
        first, second = operands
        # as floats: the operators of NumPy's scalars would ask again
        first = first if type(first) is Var else PyFloat_AsDouble(first)
        second = second if type(second) is Var else PyFloat_AsDouble(second)
        return NUMPY_OPERATORS[name](first, second)
    ours: str = NUMPY_NAMES.get(name, name)
    import tapegrad

    instead: str = f"call tapegrad.{ours}(x)" if hasattr(tapegrad, ours) else "tapegrad has no such function of numbers"
    raise OperandError(f"np.{name} does not know a Var and would lose its derivative; {instead}")


# ---- variables -------------------------------------------------------------------------------------------------


GRAD = cython.declare(object, intern("grad"))


@cython.cfunc
@cython.inline
def gradient(x: Var) -> object:
    check(x)
    if 0 <= x.index < x.store.adjoints_size:
        return x.store.adjoints[x.index]
    return 0.0


@cython.cclass
class Var:
    """A number on a tape: `tape.var(3.0)`, or the result of an operation on one."""

    @property
    def value(self):
        """The number itself, a float.

        >>> import tapegrad
        >>> tapegrad.Tape().var(3).value
        3.0
        """
        check(self)
        return self.number

    @property
    def grad(self):
        """The derivative that the backward calls since the last `zero_grad` have added up here; 0.0 before any."""
        return gradient(self)

    def __getattribute__(self, name):
        # The usual way to a property takes 12 ns longer, and every evaluation asks for a gradient.
        if name is GRAD:
            return gradient(self)
        return PyObject_GenericGetAttr(self, name)

    @property
    def is_constant(self):
        """Whether it depends on no variable, so that it is not on the tape."""
        return self.index < 0

    def __add__(left, right):
        return arithmetic(ADD, left, right)

    def __sub__(left, right):
        return arithmetic(SUB, left, right)

    def __mul__(left, right):
        return arithmetic(MUL, left, right)

    def __truediv__(left, right):
        return arithmetic(DIV, left, right)

    def __pow__(left, right, modulus):
        return power(left, right) if modulus is None else NotImplemented

    def __neg__(self):
        return unary(NEG, self)

    def __pos__(self):
        return self

    def __abs__(self):
        return unary(ABS, self)

    def __richcmp__(self, other, comparison: cython.int):
        return compare(self, other, comparison)

    def __bool__(self):
        return bool(compare(self, 0.0, Py_NE))

    def __float__(self):
        raise ConversionError(
            "float(x), int(x) and math.* would drop the derivative of a Var; "
            "use tapegrad's functions (tapegrad.sin(x)), or x.value where the derivative is not wanted"
        )

    def __int__(self):
        return self.__float__()

    def __format__(self, spec):
        """As the number is formatted: `f"{x:.3f}"`; without a format, as `str(x)`."""
        if not spec:
            return repr(self)
        check(self)
        return format(self.number, spec)

    def __array_ufunc__(self, ufunc, method, *operands, **options):
        """Operators with NumPy's scalars; NumPy's functions are an error that says what to call."""
        return of_numpy(ufunc, method, operands, options)

    def __repr__(self):
        if self.index < 0:
            return f"Var({self.number!r}, constant)"
        if self.generation != self.store.generation:
            return f"Var({self.number!r}, stale)"
        return f"Var({self.number!r})"


pool_install(cython.cast(cython.pointer(PyTypeObject), Var))
