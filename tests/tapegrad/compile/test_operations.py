"""Every operation as machine code: the bits of the interpreter at one point, the bounds of the reference in batches."""

import math

import numpy as np
import pytest
from oracles import scalar as oracle

import tapegrad
from tapegrad.rules.special import SPECIAL
from tapegrad.rules.table import RULES

pytest.importorskip("llvmlite", reason="needs llvmlite; `pip install 'gradmark[compile]'`")
NAMES = list(oracle.OPERATIONS)
ROWS = [
    (name, *row.strip().partition(": ")[::2]) for name, rows in SPECIAL.items() for row in rows.strip().splitlines()
]


def operation(name):
    tape = tapegrad.Tape()
    xs = [tape.var(0.5 + 0.1 * k) for k in range(RULES[name].arity)]
    return tape.freeze(xs, getattr(tapegrad, name)(*xs))


def comparable(exact):
    return exact is not None and not math.isinf(float(exact)) and (exact == 0 or abs(exact) >= 2.0**-1022)


def points_of(name):
    return [*oracle.points(name, 60), *awkward(RULES[name].arity)]


def awkward(arity):
    numbers = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 1e308, -1e308, np.inf, -np.inf, np.nan, 2.0, 0.5]
    return [(x,) for x in numbers] if arity == 1 else [(x, y) for x in numbers for y in numbers]


def same_bits(got, expected):
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("name", NAMES)
def test_one_point_gives_the_bits_of_the_interpreter(name):
    program = operation(name)
    compiled = program.compile()
    for point in points_of(name):
        value, gradient = program.value_and_grad(point)
        got = compiled.value_and_grad(point)
        same_bits(compiled(point), value)
        same_bits(got[0], value)
        same_bits(got[1], gradient)


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_give_the_bits_of_the_interpreter(name):
    hvp = operation(name).gradient().tangent()
    compiled = hvp.compile()
    arity = RULES[name].arity
    for point in points_of(name):
        for along in np.eye(arity):
            same_bits(compiled([*point, *along]), hvp([*point, *along]))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_batches_are_within_the_bounds(name):
    points = list(oracle.points(name, 40))
    values, gradients = operation(name).compile().batch(np.array(points))
    interpreted = operation(name).batch(np.array(points))
    # Where the interpreter's batch has the very bits, its own test has compared them with 50 digits.
    for row, point in enumerate(points):
        if values[row] != interpreted[0][row]:
            exact = oracle.value(name, point)
            assert not comparable(exact) or oracle.ulps(values[row], exact) <= RULES[name].bounds[2]
        for k in range(len(point)):
            if gradients[row, k] != interpreted[1][row, k]:
                slope = oracle.derivative(name, point, k)
                assert not comparable(slope) or oracle.ulps(gradients[row, k], slope) <= RULES[name].bounds[3]


@pytest.mark.parametrize("name", NAMES)
def test_batches_at_awkward_points(name):
    """What is nan, infinite, zero or exact there is so here, with the same sign."""
    points = np.array(awkward(RULES[name].arity))
    program = operation(name)
    for got, expected in zip(program.compile().batch(points), program.batch(points), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14, atol=0)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize(("name", "arguments", "results"), ROWS)
def test_special_points(name, arguments, results):
    point = [float(x) for x in arguments.split(",")]
    compiled = operation(name).compile()
    for got, gradient in (compiled.value_and_grad(point), [both[0] for both in compiled.batch([point])]):
        assert [repr(float(x)) for x in (got, *gradient)] == results.split(", ")


@pytest.mark.parametrize("name", oracle.BINARY)
@pytest.mark.parametrize("constant", [0, 1])
def test_a_constant_operand(name, constant):
    for point in [(1.5, 2.5), (-0.75, 3.0), (2.0, -0.5), (0.0, 2.0), (3.0, 3.0), (1e-200, 2.5)]:
        tape = tapegrad.Tape()
        x = tape.var(point[1 - constant])
        operands = [x, x]
        operands[constant] = point[constant]
        program = tape.freeze(x, getattr(tapegrad, name)(*operands))
        same_bits(program.compile().value_and_grad(x.value), program.value_and_grad(x.value))
