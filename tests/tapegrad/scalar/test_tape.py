"""The tape: counts, gradients, accumulation, reuse, size, threads."""

import threading
from fractions import Fraction

import numpy as np
import pytest

import tapegrad
from tapegrad import OperandError, Stats, Tape, Var


@pytest.fixture
def tape():
    return Tape()


def test_counts_of_an_expression(tape):
    x = tape.var(3.0)
    y = x * x + tapegrad.sin(x)
    assert tape.stats() == Stats(values=4, grads=0, instrs=3, constants=0, nbytes=4 * 17)
    tape.backward(y)
    assert tape.stats() == Stats(values=4, grads=4, instrs=3, constants=0, nbytes=4 * 17)


def test_operations_among_constants_are_not_recorded(tape):
    c = tape.const(1.0)
    for _ in range(250):
        c = tapegrad.sin(c * 2.0 + 1.0) / tape.const(3.0)
    assert type(c) is Var
    assert c.is_constant
    assert tape.stats() == Stats(values=0, grads=0, instrs=0, constants=0, nbytes=0)


def test_constants_are_immediates(tape):
    x, y = tape.var(2.0), tape.var(5.0)
    z = y * x + 3.0
    assert z.value == 13.0
    assert tape.stats() == Stats(values=4, grads=0, instrs=2, constants=1, nbytes=4 * 17 + 8)


def test_methods_functions_and_operators_are_one(tape):
    x, y = tape.var(0.6), tape.var(0.3)
    pairs = [(tape.add(x, y), x + y), (tape.sub(x, y), x - y), (tape.mul(x, y), x * y), (tape.div(x, y), x / y)]
    pairs += [(tape.pow(x, y), x**y), (tape.neg(x), -x), (tape.abs(x), abs(x))]
    names = ["exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"]
    names += ["tanh", "sigmoid", "softplus", "relu", "erf", "neg", "abs"]
    pairs += [(getattr(tape, name)(x), getattr(tapegrad, name)(x)) for name in names]
    names = ["atan2", "hypot", "maximum", "minimum", "add", "sub", "mul", "div", "pow"]
    pairs += [(getattr(tape, name)(x, y), getattr(tapegrad, name)(x, y)) for name in names]
    for method, other in pairs:
        gradients = []
        for z in (method, other):
            tape.zero_grad()
            tape.backward(z)
            gradients.append((z.value, x.grad, y.grad))
        assert gradients[0] == gradients[1]


def test_methods_give_a_var_and_functions_a_float_for_numbers(tape):
    assert repr(tape.sin(0.0)) == repr(tape.add(0.0, 0)) == "Var(0.0, constant)"
    assert repr(tape.where(True, 1.0, 2.0)) == "Var(1.0, constant)"
    assert repr(tapegrad.sin(0)) == repr(tapegrad.add(0, 0)) == "0.0"


def test_backward_accumulates_until_zero_grad(tape):
    x = tape.var(3.0)
    y = x * x + tapegrad.sin(x)
    tape.backward(y)
    once = x.grad
    tape.backward(y)
    assert x.grad == tape.grad(x) == 2 * once
    tape.backward(y, seed=-2.0)
    assert x.grad == 0.0
    tape.zero_grad()
    assert (x.grad, tape.stats().grads) == (0.0, 0)
    tape.backward(y)
    assert x.grad == once


def test_intermediate_gradients_accumulate_too(tape):
    x = tape.var(3.0)
    y = x * x
    z = y * 5.0
    tape.backward(z)
    tape.backward(z)
    assert (z.grad, y.grad, x.grad) == (2.0, 10.0, 60.0)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_several_outputs_one_after_the_other(tape, order):
    x, y = tape.var(2.0), tape.var(5.0)
    first = x * y
    outputs = (first, first + x)
    for index in order:
        tape.backward(outputs[index], seed=1.0 + index)
    assert (x.grad, y.grad) == (5.0 + 2 * 6.0, 2.0 + 2 * 2.0)


def test_a_second_output_on_memory_that_was_used_before(tape):
    """Adjoints beyond the first sweep must start at zero, whatever an earlier recording left there."""
    x = tape.var(1.0)
    y = x
    for _ in range(200):
        y = y * 1.0
    tape.backward(y, seed=7.0)
    tape.reset()
    x = tape.var(2.0)
    first = x * 3.0
    second = first
    for _ in range(100):
        second = second + x
    tape.backward(first)
    tape.backward(second)
    assert (x.grad, first.grad, second.grad) == (3.0 + 103.0, 2.0, 1.0)


def test_backward_from_a_variable_itself(tape):
    x = tape.var(2.0)
    tape.backward(x, 3)
    assert x.grad == 3.0


def test_later_operations_have_no_gradient_yet(tape):
    x = tape.var(2.0)
    tape.backward(x * 3.0)
    later = x * 4.0
    assert (later.grad, tape.grad(tape.const(1.0))) == (0.0, 0.0)
    tape.backward(later)
    assert x.grad == 7.0


@pytest.mark.parametrize("what", ["const", 3.0, None])
def test_backward_from_a_constant(tape, what):
    x = tape.var(1.0)
    with pytest.raises(tapegrad.ConstantError, match=r"tape\.var"):
        tape.backward(tape.const(1.0) * 2.0 if what == "const" else what)
    tape.backward(x * x)
    assert x.grad == 2.0


def test_a_wrong_seed_changes_nothing(tape):
    x = tape.var(1.0)
    for wrong in ("1", None, tape.var(1.0)):
        with pytest.raises(TypeError):
            tape.backward(x * x, seed=wrong)
    assert x.grad == 0.0


def test_reset_starts_over(tape):
    for value in (1.0, 2.0, 3.0):
        tape.reset()
        x = tape.var(value)
        tape.backward(x * x * 2.0)
        assert x.grad == 4 * value
        assert tape.stats().instrs == 2
    tape.reset()
    assert tape.stats() == Stats(0, 0, 0, 0, 0)


def test_value(tape):
    assert tape.value(tape.var(2.5)) == 2.5
    assert tape.value(3) == 3.0


def test_shared_subexpressions(tape):
    x = tape.var(1.0)
    y = x
    for _ in range(60):
        y = y + y
    tape.backward(y)
    assert x.grad == 2.0**60
    assert tape.stats().instrs == 60


def test_where_without_variables_in_the_condition(tape):
    x, y = tape.var(2.0), tape.var(3.0)
    assert tapegrad.where(True, x, y) is x
    assert tapegrad.where(tape.const(0.0), x, y) is y
    assert tapegrad.where(False, 1.0, 2.0) == 2.0
    assert tape.stats().instrs == 0


def test_where_among_numbers_is_a_float(tape):
    assert repr(tapegrad.where(np.bool_(False), 1, Fraction(1, 4))) == "0.25"
    assert repr(tapegrad.where(2, 1, 7)) == "1.0"


@pytest.mark.parametrize(
    "wrong", [("a", 1.0, 2.0), (True, "abc", 1.0), (False, "abc", 1.0), ([1], 1.0, 2.0), (None, 1, 2)]
)
def test_where_refuses_what_is_neither_condition_nor_number(tape, wrong):
    for where in (tapegrad.where, tape.where):
        with pytest.raises(OperandError, match="expected a"):
            where(*wrong)


def test_a_tape_takes_no_arguments():
    for arguments, named in [((5,), {}), ((), {"capacity": 5})]:
        with pytest.raises(TypeError):
            Tape(*arguments, **named)


@pytest.mark.parametrize(("value", "expected"), [(2.0, (8.0, 12.0)), (-2.0, (0.4, -0.4)), (0.0, (0.0, 0.0))])
def test_where(tape, value, expected):
    x = tape.var(value)
    y = tapegrad.where(x > 0, x * x * x, 0.1 * x * x)
    tape.backward(y)
    assert (y.value, x.grad) == pytest.approx(expected)


def test_where_on_a_var_and_between_constants(tape):
    x = tape.var(2.0)
    assert tapegrad.where(x, 1.0, 0.0).value == 1.0
    assert tapegrad.where(x - 2.0, 1.0, 0.0).value == 0.0
    step = tapegrad.where(x < 0, 5, 7)
    tape.backward(step)
    assert (step.value, x.grad) == (7.0, 0.0)


@pytest.mark.slow
def test_ten_million_operations(tape):
    """No recursion, at most 25 bytes an operation besides adjoints, and all of it reusable."""
    count = 10_000_000
    x = tape.var(1.0)
    y = x
    for _ in range(count // 2):
        y = y * 0.5 + x
    stats = tape.stats()
    assert (stats.instrs, stats.values, stats.constants) == (count, count + 1, count // 2)
    assert stats.nbytes <= 25 * count
    tape.backward(y)
    assert x.grad == 2.0
    assert tape.stats().grads == count + 1
    tape.reset()
    assert tape.stats() == Stats(0, 0, 0, 0, 0)


def gradients(seed, into):
    tape = Tape()
    for step in range(300):
        tape.reset()
        x, y = tape.var(seed + step / 100), tape.var(1.5)
        z = x
        for k in range(20):
            z = tapegrad.sin(z * y + k) + tapegrad.exp(-x)
        tape.backward(z)
        into.append((z.value, x.grad, y.grad))


def test_two_threads_with_a_tape_each():
    apart: list[list] = [[], []]
    together: list[list] = [[], []]
    for seed in range(2):
        gradients(seed, apart[seed])
    threads = [threading.Thread(target=gradients, args=(seed, together[seed])) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == apart
