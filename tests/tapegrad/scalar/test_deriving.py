"""Derivative programs: against 50-digit references, against the tape, and in every composition."""

import math

import numpy as np
import pytest
from mpmath import mpf
from oracles import scalar as oracle

import tapegrad
from tapegrad import Tape
from tapegrad.rules.table import RULES

# References at a thousand digits take their time: of the awkward points and the random ones, so many of operations with
# one operand and with two.
SECOND_POINTS = {1: 60, 2: 24}


def frozen(f, *values, one_input=False):
    tape = Tape()
    xs = [tape.var(v) for v in values]
    return tape.freeze(xs[0] if one_input else xs, f(*xs))


def operation(name):
    arity = RULES[name].arity
    return frozen(getattr(tapegrad, name), *[0.5 + 0.1 * k for k in range(arity)])


def comparable(exact):
    return exact is not None and not math.isinf(float(exact)) and (exact == 0 or abs(exact) >= 2.0**-1022)


def directions(arity):
    return [[float(k == j) for k in range(arity)] for j in range(arity)]


# ---- accuracy ----------------------------------------------------------------------------------------------------

SLOW = ("erf", "pow", "atan2", "softplus")
NAMES = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in oracle.OPERATIONS]


@pytest.mark.parametrize("name", NAMES)
def test_tangent_and_gradient_are_what_the_tape_gives(name):
    """The same bits, at awkward and random points, and so within the bounds of the reference."""
    program = operation(name)
    tangent, gradient = program.tangent(), program.gradient()
    for point in oracle.points(name, 60):
        _, slopes = program.value_and_grad(point)
        np.testing.assert_array_equal(gradient(point), slopes)
        forward = [tangent([*point, *direction]) for direction in directions(len(point))]
        np.testing.assert_array_equal(forward, slopes)


@pytest.mark.parametrize("name", NAMES)
def test_tangent_and_gradient_in_batches_are_within_the_bounds(name):
    program = operation(name)
    points = [point for point in oracle.points(name, 40) if comparable(oracle.value(name, point))]
    gradients = program.gradient().batch(points if len(points[0]) > 1 else np.array(points), gradients=False)
    worst = 0.0
    for k, direction in enumerate(directions(len(points[0]))):
        tangents = program.tangent().batch([[*point, *direction] for point in points], gradients=False)
        for point, tangent, gradient in zip(points, tangents, gradients.reshape(len(points), -1), strict=True):
            exact = oracle.derivative(name, point, k)
            if comparable(exact):
                worst = max(worst, oracle.ulps(tangent, exact), oracle.ulps(gradient[k], exact))
    assert worst <= RULES[name].bounds[3]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_within_the_bounds(name):
    """Of programs at one point, and of batches."""
    program = operation(name)
    hvp, twice = program.gradient().tangent(), program.tangent().tangent()
    worst, compared = [(0.0, None)] * 2, 0

    def note(place, result, exact, *where):
        worst[place] = max(worst[place], (oracle.ulps(float(result), exact), where), key=lambda entry: entry[0])

    arity = RULES[name].arity
    points = list(oracle.points(name, 40))
    for point in points[:: len(points) // SECOND_POINTS[arity]]:
        if not comparable(oracle.value(name, point)):
            continue
        for j, direction in enumerate(directions(arity)):
            products = hvp([*point, *direction])
            together = hvp.batch([[*point, *direction]], gradients=False)[0]
            for i in range(arity):
                exact = oracle.second(name, point, i, j)
                if not comparable(exact):
                    continue
                compared += 1
                forward = [*point, *direction, *[float(k == i) for k in range(arity)], *[0.0] * arity]
                note(0, products[i], exact, point, i, j)
                note(0, twice(forward), exact, point, i, j)
                note(1, together[i], exact, point, i, j)
                note(1, twice.batch([forward], gradients=False)[0], exact, point, i, j)
    assert compared > SECOND_POINTS[arity] / 4
    for place, bound in enumerate(RULES[name].bounds[4:]):
        assert worst[place][0] <= bound, worst[place]


@pytest.mark.parametrize(
    ("f", "point", "expected"),
    [
        (lambda x: x**3, 0.0, [0.0, 0.0, 6.0]),
        (lambda x: x**3.5, 0.0, [0.0, 0.0, 0.0]),
        (lambda x: x**1, 0.0, [1.0, 0.0, 0.0]),
        (lambda x: x**-2, 0.5, [-16.0, 96.0, -768.0]),
        (lambda x: tapegrad.hypot(x, 4.0), 3.0, [0.6, 0.128, -3 * 0.128 * 0.6 / 5]),
        (tapegrad.abs, 0.0, [0.0, 0.0, 0.0]),
        (tapegrad.relu, 2.0, [1.0, 0.0, 0.0]),
        (lambda x: tapegrad.maximum(x, x * x), 1.0, [1.5, 1.0, 0.0]),
        (lambda x: tapegrad.where(x > 0, tapegrad.sqrt(x), 2.0 * x), 0.0, [2.0, 0.0, 0.0]),
        (lambda x: tapegrad.where(x > 0, x * tapegrad.log(x), 0.0), 0.0, [0.0, 0.0, 0.0]),
    ],
)
def test_higher_derivatives_at_special_points(f, point, expected):
    """A branch that does not matter makes no nan, to any order."""
    program = frozen(f, 0.75, one_input=True)
    for order, value in enumerate(expected):
        program = program.gradient()
        assert program(point) == pytest.approx(value, rel=1e-14), f"derivative {order + 1}"


def smooth(x, y):
    return tapegrad.sin(x * y) / (2.0 + y * y) + tapegrad.exp(-x) * tapegrad.tanh(y) - x / (1.0 + x * x)


def exact_derivative(orders, x, y):
    """A mixed derivative of `smooth` by mpmath, at 50 digits."""
    import mpmath

    def f(s, t):
        return mpmath.sin(s * t) / (2 + t * t) + mpmath.exp(-s) * mpmath.tanh(t) - s / (1 + s * s)

    with mpmath.mp.workdps(50):
        return float(mpmath.diff(f, (mpf(x), mpf(y)), orders))


@pytest.mark.parametrize("point", [(0.5, -1.0), (2.0, 0.25), (-1.5, 3.0)])
def test_any_composition_gives_the_same_derivatives(point):
    program = frozen(smooth, 1.0, 2.0)
    x, y = point
    hessian = [[exact_derivative((2, 0), x, y), exact_derivative((1, 1), x, y)]]
    hessian.append([hessian[0][1], exact_derivative((0, 2), x, y)])
    e = directions(2)
    for j in range(2):
        assert program.gradient().tangent()([*point, *e[j]]) == pytest.approx(hessian[j], rel=1e-12)
        assert program.gradient().gradient()([*point, *e[j]]) == pytest.approx(hessian[j], rel=1e-12)
        reverse_over_forward = program.tangent().gradient()([*point, *e[j]])
        assert reverse_over_forward[:2] == pytest.approx(hessian[j], rel=1e-12)
    third = program.gradient().tangent().tangent()([*point, *e[0], *e[0], 0.0, 0.0])
    assert third == pytest.approx([exact_derivative((3, 0), x, y), exact_derivative((2, 1), x, y)], rel=1e-11)


# ---- the same interface --------------------------------------------------------------------------------------------


def test_several_outputs():
    program = frozen(lambda x, y: [x * y, x, x.value + 0 * y, x + y * y], 2.0, 3.0)
    _, jacobian = program.value_and_grad([4.0, 5.0])
    tangent, gradient = program.tangent(), program.gradient()
    assert tangent([4.0, 5.0, 1.0, 10.0]).tolist() == (jacobian @ [1.0, 10.0]).tolist()
    assert gradient([4.0, 5.0, 1.0, 2.0, 3.0, 4.0]).tolist() == (jacobian.T @ [1.0, 2.0, 3.0, 4.0]).tolist()
    assert program.tangent(with_values=True)([4.0, 5.0, 1.0, 0.0]).tolist() == [
        20.0,
        4.0,
        2.0,
        29.0,
        5.0,
        1.0,
        0.0,
        1.0,
    ]


def test_one_input_and_one_output_stay_numbers():
    program = frozen(lambda x: x * x * x, 1.0, one_input=True)
    assert (program.gradient()(2.0), program.gradient().gradient()(2.0)) == (12.0, 12.0)
    assert program.tangent()([2.0, 0.5]) == 6.0
    assert program.gradient(with_values=True)(2.0).tolist() == [8.0, 12.0]
    values = program.gradient().batch([1.0, 2.0], gradients=False)
    assert values.tolist() == [3.0, 12.0]


def test_outputs_that_are_constants_or_inputs():
    tape = Tape()
    x = tape.var(1.0)
    assert tape.freeze([x], tape.const(7.0)).gradient()([2.0]).tolist() == [0.0]
    assert tape.freeze([x], tape.const(7.0)).tangent()([2.0, 1.0]) == 0.0
    assert tape.freeze([x], x).gradient()([2.0]).tolist() == [1.0]
    assert tape.freeze([x], [x, x]).gradient()([2.0, 3.0, 4.0]).tolist() == [7.0]


@pytest.mark.parametrize("threads", [1, 2])
def test_batches_and_gradients_of_derivative_programs(threads):
    program = frozen(smooth, 1.0, 2.0)
    points = np.random.default_rng(0).normal(size=(100, 2))
    gradient = program.gradient()
    values, hessians = gradient.batch(points, threads=threads)
    np.testing.assert_allclose(values, program.batch(points)[1], rtol=1e-13)
    for point, hessian in zip(points, hessians, strict=True):
        np.testing.assert_allclose(gradient.value_and_grad(point)[1], hessian, rtol=1e-11, atol=1e-13)
        columns = [gradient.tangent()([*point, *e]) for e in directions(2)]
        np.testing.assert_allclose(columns, hessian, rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(gradient.batch(points, threads=threads, gradients=False), values)


@pytest.mark.parametrize("name", oracle.OPERATIONS)
def test_the_backward_pass_knows_the_operations_of_derivatives(name):
    """value_and_grad of a gradient program, at one point and in a batch, is the Hessian that hvp gives."""
    program = operation(name)
    gradient = program.gradient()
    hvp = gradient.tangent()
    for point in [(0.3, 0.6), (0.6, 0.3)]:
        point = point[: RULES[name].arity]
        hessian = [hvp([*point, *e]) for e in directions(len(point))]
        np.testing.assert_allclose(gradient.value_and_grad(point)[1], np.array(hessian).T, rtol=1e-13, atol=1e-16)
        np.testing.assert_allclose(gradient.batch([point])[1][0], np.array(hessian).T, rtol=1e-13, atol=1e-16)
        thirds = [hvp.tangent()([*point, *e, *e, *[0.0] * len(point)]) for e in directions(len(point))]
        backward = hvp.value_and_grad([*point, *directions(len(point))[0]])[1]
        np.testing.assert_allclose(backward[:, 0], np.array(thirds)[0], rtol=1e-12, atol=1e-15)


def test_guards_are_kept():
    program = frozen(lambda x: x * x if x > 1.0 else -x, 2.0)
    gradient = program.gradient()
    assert gradient.stats().guards == 1
    assert gradient([1.5]).tolist() == [3.0]
    with pytest.raises(tapegrad.GuardError, match=r"comparison 0 .*a = 1\.0 and b = 0\.5"):
        gradient.tangent()([0.5, 1.0])
    with pytest.raises(tapegrad.GuardError, match="point 1 "):
        gradient.batch([[1.5], [0.5]])


# ---- size --------------------------------------------------------------------------------------------------------


def polynomial(terms):
    def f(x):
        total = 0.0
        for k in range(terms):
            total = total * x + 1.0 / (k + 1)
        return total

    return frozen(f, 0.5, one_input=True)


def test_nothing_is_computed_twice_or_for_nothing():
    assert frozen(lambda x, y: x * y, 1.0, 2.0).gradient().stats().instrs == 0  # y and x
    assert frozen(lambda x: tapegrad.exp(x), 1.0).gradient().stats().instrs == 1  # exp(x), which is the value itself
    assert frozen(lambda x: tapegrad.sin(x) + tapegrad.cos(x), 1.0).gradient().stats().instrs == 3
    assert frozen(lambda x: (x + 1.0) * (x + 1.0), 1.0).gradient().stats().instrs == 2
    assert frozen(lambda x: 3.0 * x, 1.0).gradient().stats().instrs == 0  # a constant


def test_derivatives_grow_linearly_with_the_program():
    small, large = polynomial(100), polynomial(1000)
    for derive in (
        lambda p: p.tangent(),
        lambda p: p.gradient(),
        lambda p: p.gradient().tangent(),
        lambda p: p.gradient().gradient(),
        lambda p: p.tangent().tangent().tangent(),
    ):
        counts = [derive(p).stats().instrs for p in (small, large)]
        assert counts[1] <= 10.5 * counts[0]
    assert large.tangent().stats().instrs <= 2 * large.stats().instrs
    assert large.gradient().tangent().stats().instrs <= 5 * large.stats().instrs


def test_instructions_stand_in_short_runs_each_needing_the_one_before():
    """Of Horner's rule: values go ahead, and tangents follow; so one point computes both side by side."""
    from tapegrad.scalar.program import instruction, length_of_program

    def horner(x):
        total = x
        for k in range(12):
            total = total * x + (k + 2.0)
        return total

    tangent = frozen(horner, 0.5, one_input=True).tangent()
    count = length_of_program(tangent)
    kept = 0  # a value in the register
    for place in range(tangent.stats().inputs, count):
        _, operands = instruction(tangent, place)
        assert all(operand < place for operand in operands if isinstance(operand, int))
        kept += place - 1 in operands
    assert tangent.stats().instrs == 24
    assert kept == 17
