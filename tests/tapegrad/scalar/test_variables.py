"""Variables: operators, mixing with numbers, and what is an error."""

import copy
import math
import numbers
import operator
import pickle
from fractions import Fraction

import numpy as np
import pytest

import tapegrad
from tapegrad import Condition, Tape, Var

NUMBERS = [2, 2.0, True, np.float64(2), np.float32(2), np.int64(2), np.uint8(2), np.bool_(True), Fraction(5, 2)]


@pytest.fixture
def tape():
    return Tape()


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: type(n).__name__)
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow])
def test_operators_take_numbers_on_either_side(tape, op, number):
    x = tape.var(1.5)
    for y, expected in [(op(x, number), op(1.5, float(number))), (op(number, x), op(float(number), 1.5))]:
        assert type(y) is Var
        assert y.value == expected


class Resetting:
    """A number that resets the tape while it is converted."""

    def __init__(self, tape):
        self.tape = tape

    def __float__(self):
        self.tape.reset()
        return 0.0


numbers.Real.register(Resetting)


def test_a_reset_while_an_operand_is_converted(tape):
    for use in (
        lambda x: x > Resetting(tape),
        lambda x: x + Resetting(tape),
        lambda x: Resetting(tape) * x,
        lambda x: tapegrad.where(x > 0, x, Resetting(tape)),
        lambda x: tapegrad.where(x > 0, Resetting(tape), 1.0),
        lambda x: tape.hypot(Resetting(tape), x),
    ):
        with pytest.raises(tapegrad.StaleVarError):
            use(tape.var(1.0))


def test_truth_is_not_zero(tape):
    assert bool(tape.var(0.5)) is True
    assert bool(tape.var(0.0)) is False


def test_unary_operators(tape):
    x = tape.var(-1.5)
    assert ((-x).value, (+x).value, abs(x).value) == (1.5, -1.5, 1.5)
    assert +x is x


@pytest.mark.parametrize("other", ["2", None, 1j, [1.0], np.array([1.0, 2.0])])
def test_operators_refuse_what_is_not_a_number(tape, other):
    x = tape.var(1.0)
    for op in (operator.add, operator.mul, operator.pow):
        with pytest.raises(TypeError):
            op(x, other)
        with pytest.raises(TypeError):
            op(other, x)
    assert tape.stats().instrs == 0


def test_a_modulus_is_refused(tape):
    with pytest.raises(TypeError):
        pow(tape.var(2.0), 3, 5)


def test_no_python_exceptions_out_of_arithmetic(tape):
    zero, one = tape.var(0.0), tape.var(1.0)
    assert (one / zero).value == math.inf
    assert math.isnan((zero / zero).value)
    assert (1 / zero).value == math.inf
    assert (tape.const(1.0) / 0).value == math.inf
    assert tapegrad.log(zero).value == -math.inf
    assert tapegrad.log(0.0) == -math.inf
    assert math.isnan(tapegrad.sqrt(-1.0))
    assert tapegrad.exp(1e4) == math.inf
    assert (zero**-1).value == math.inf
    assert math.isnan((tape.var(-1.0) ** 0.5).value)


@pytest.mark.parametrize("convert", [float, int, math.sin, math.floor, complex], ids=lambda f: f.__name__)
def test_conversions_would_drop_the_derivative(tape, convert):
    with pytest.raises(tapegrad.ConversionError, match=r"tapegrad\.sin\(x\).*x\.value"):
        convert(tape.var(1.0))


def test_numpy_functions_are_refused(tape):
    with pytest.raises(TypeError):
        np.sin(tape.var(1.0))


def test_arrays_of_variables(tape):
    x = np.array([tape.var(1.0), tape.var(2.0)])
    y = (x * x).sum()
    tape.backward(y)
    assert [v.grad for v in x] == [2.0, 4.0]


def test_a_var_of_another_tape(tape):
    x, other = tape.var(1.0), Tape().var(2.0)
    for mix in (
        lambda: x + other,
        lambda: other * x,
        lambda: x < other,
        lambda: tapegrad.hypot(x, other),
        lambda: tape.sin(other),
        lambda: tape.add(1.0, other),
        lambda: tape.where(True, other, x),
        lambda: tape.where(other > 0, 1.0, 2.0),
        lambda: tapegrad.where(x > 0, x, other),
        lambda: tape.backward(other),
        lambda: tape.value(other),
        lambda: tape.grad(other),
        lambda: tape.freeze([other], x),
        lambda: x + Tape().const(2.0),
    ):
        with pytest.raises(tapegrad.TapeMismatchError, match=r"another tape; (record|compare)"):
            mix()
    assert (x + 1.0).value == 2.0  # still usable
    assert tape.stats().instrs == 1


def test_a_var_from_before_a_reset(tape):
    x = tape.var(1.0)
    condition = x > 0
    tape.reset()
    fresh = tape.var(5.0)
    for use in (
        lambda: x + 1.0,
        lambda: 1.0 + x,
        lambda: fresh * x,
        lambda: x > 0,
        lambda: -x,
        lambda: tapegrad.exp(x),
        lambda: x.value,
        lambda: x.grad,
        lambda: tape.backward(x),
        lambda: tape.value(x),
        lambda: bool(x),
        lambda: tapegrad.where(fresh > 0, x, fresh),
        lambda: tape.freeze([fresh], x),
        lambda: bool(condition),
        lambda: tapegrad.where(condition, fresh, fresh),
    ):
        with pytest.raises(tapegrad.StaleVarError, match="after the reset"):
            use()
    assert repr(x) == "Var(1.0, stale)"
    assert tape.stats().instrs == 0
    tape.backward(fresh * fresh)
    assert fresh.grad == 10.0


def test_constants_survive_a_reset(tape):
    c = tape.const(2.0)
    tape.reset()
    x = tape.var(3.0)
    assert (c * x).value == 6.0
    assert c.value == 2.0


def test_a_var_keeps_its_tape(tape):
    x = Tape().var(3.0)
    y = x * x
    assert (y.value, y.grad) == (9.0, 0.0)


@pytest.mark.parametrize("make", [Var, lambda: Var.__new__(Var), Condition().__bool__], ids=["Var", "new", "Condition"])
def test_only_a_tape_makes_them(make):
    with pytest.raises(TypeError, match="is made by"):
        make()


@pytest.mark.parametrize("spread", [copy.copy, copy.deepcopy, pickle.dumps, hash], ids=lambda f: f.__name__)
def test_what_a_var_cannot_do(tape, spread):
    with pytest.raises(TypeError):
        spread(tape.var(1.0))


def test_a_var_has_no_room_for_attributes(tape):
    with pytest.raises(AttributeError):
        tape.var(1.0).name = "x"


@pytest.mark.parametrize("wrong", ["1", None, [1.0], 1j])
def test_what_is_not_a_number_is_an_operand_error(tape, wrong):
    for use in (tape.var, tape.const, tapegrad.sin, tape.sin, lambda w: tapegrad.add(1.0, w), tape.grad):
        with pytest.raises(tapegrad.OperandError, match=r"expected a Var.* got"):
            use(wrong)


def test_a_var_of_a_var(tape):
    with pytest.raises(tapegrad.ConversionError, match=r"x\.value"):
        tape.var(tape.var(1.0))


def test_an_integer_too_large_for_a_float(tape):
    with pytest.raises(OverflowError):
        tape.var(1.0) * 10**400


def test_more_live_variables_than_the_pool_holds(tape):
    xs = [tape.var(float(k)) for k in range(20_000)]
    total = sum(xs)
    tape.backward(total)
    assert total.value == sum(range(20_000))
    assert {x.grad for x in xs} == {1.0}


def test_repr(tape):
    assert [repr(v) for v in (tape.var(1.5), tape.const(2.0))] == ["Var(1.5)", "Var(2.0, constant)"]
    assert repr(tape) == "Tape(0 instructions, 1 variables)"
