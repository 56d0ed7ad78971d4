"""The reference gradient, and how far another is from it."""

import math
import random
from fractions import Fraction

import pytest

from gradmark.errors import InvalidWorkloadError
from gradmark.measure.reference.exact import HUGE, NoReferenceError, exact_gradient, judge, namespace, reference_of
from gradmark.workloads.vocabulary import NESTED, SCALAR_FUNCTIONS
from gradmark.workloads.workload import workload

PROMISED = 1e-50


def made(function):
    return workload(suite="s", stresses="x")(function)


@made
def product(ops, x, y):
    return x * y + ops.sin(x)


@made
def cube(ops, x):
    return x * x * x


@made
def only_floats(ops, x):
    return ops.exp(x) * math.sin(float(x)) if isinstance(x, float) else None


def test_the_namespace_is_whole():
    assert set(vars(namespace())) == {*SCALAR_FUNCTIONS, *NESTED, "while_loop"}


def test_the_gradient_is_exact_beyond_a_double():
    ((high, low),) = exact_gradient(cube, [0.1], {})
    exact = 3 * Fraction(0.1) ** 2  # of the double nearest to 0.1
    assert high == float(exact)
    assert low == float(exact - Fraction(high))
    assert low != 0.0


def test_one_pair_for_each_input():
    found = exact_gradient(product, [0.5, 2.0], {})
    assert [high for high, _ in found] == [2.0 + math.cos(0.5), 0.5]


def test_parameters_reach_the_function():
    @made
    def scaled(ops, x, *, n):
        return x * n

    ((high, low),) = exact_gradient(scaled, [0.5], {"n": 3})
    assert high == 3.0
    assert abs(low) < PROMISED


def test_the_reference_is_named():
    ((high, low),), name, is_exact = reference_of(cube, [0.5], {})
    assert (high, name, is_exact) == (0.75, "mpmath, 50 digits", True)
    assert abs(low) < PROMISED


def test_what_mpmath_cannot_run_gets_differences():
    ((slope, rest),), name, is_exact = reference_of(only_floats, [0.5], {})
    assert (name, is_exact, rest) == ("central differences", False, 0.0)
    assert slope == pytest.approx(math.exp(0.5) * (math.sin(0.5) + math.cos(0.5)), rel=1e-9)


def judged(got, exact, **more):
    return judge(got, exact, "r", 1e-9, **more)


def test_no_error():
    found = judged([2.0, -1.0], [(2.0, 0.0), (-1.0, 0.0)])
    assert (found.relative_error, found.ulps, found.reference, found.tolerance) == (0.0, 0.0, "r", 1e-9)


def test_one_unit_of_the_last_place():
    assert judged([math.nextafter(1.0, 2.0)], [(1.0, 0.0)]).ulps == 1.0
    assert judged([1.0], [(1.0, math.ulp(1.0) / 4)]).ulps == 0.25


def test_the_largest_error_counts():
    found = judged([1.0, 2.5, 4.0], [(1.0, 0.0), (2.0, 0.0), (4.0, 0.0)])
    assert found.relative_error == 0.25


def test_an_entry_near_zero_is_judged_as_if_it_were_a_millionth():
    assert judged([1e-12, 1.0], [(0.0, 0.0), (1.0, 0.0)]).relative_error == pytest.approx(1e-6)


def test_a_kink_has_no_gradient():
    @made
    def kinked(ops, x, y):
        return x + ops.abs(y)

    with pytest.raises(NoReferenceError, match=r"the function has a kink at input 1 = 0\.0"):
        exact_gradient(kinked, [1.0, 0.0], {})
    assert [high for high, _ in exact_gradient(kinked, [1.0, -2.0], {})] == [1.0, -1.0]


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda ops, x: ops.sqrt(x), 0.0),
        (lambda ops, x: ops.asin(x), 1.0),
        (lambda ops, x: ops.where(x < 0, -1.0, 1.0) * ops.abs(x) ** (1 / 3), 0.0),
        (lambda ops, x: ops.where(x < 0.5, 0.0, 1.0) + x, 0.5),
        (lambda ops, x: ops.exp(x * x) * 1e300, 20.0),
    ],
    ids=["a root", "the end of an arc", "as steep on both sides", "a jump", "beyond a double"],
)
def test_a_derivative_without_bound_is_not_measured(function, x):
    with pytest.raises(InvalidWorkloadError, match=f"the derivative with respect to input 0 = {x} is not finite"):
        exact_gradient(made(function), [x], {})


def test_a_function_that_ends_where_it_is_flat_has_no_reference():
    with pytest.raises(NoReferenceError, match=r"not defined on both sides of input 0 = 0\.0"):
        exact_gradient(made(lambda ops, x: ops.sqrt(x) * x), [0.0], {})


def test_a_steep_function_has_a_gradient():
    ((high, _),) = exact_gradient(made(lambda ops, x: ops.exp(x)), [50.0], {})
    assert high == math.exp(50.0)


def test_a_random_function_has_no_kink():
    source = random.Random(0)
    with pytest.raises(
        InvalidWorkloadError, match="two evaluations at the same inputs give different values: the function is random"
    ):
        exact_gradient(made(lambda ops, x: x * source.random()), [0.5], {})


def test_what_nothing_can_run_has_no_reference():
    with pytest.raises(NoReferenceError, match=r"neither mpmath .* nor finite differences .* has no gamma"):
        reference_of(made(lambda ops, x: ops.gamma(x)), [0.5], {})


@pytest.mark.parametrize("got", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_an_error_that_json_can_hold(got):
    found = judged([got], [(1.0, 0.0)])
    assert (found.relative_error, found.ulps) == (HUGE, HUGE)


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_what_ought_not_to_be_a_number_is_right(value):
    found = judged([value], [(value, 0.0)])
    assert (found.relative_error, found.ulps) == (0.0, 0.0)


def test_too_few_derivatives():
    with pytest.raises(ValueError, match="expected 2 derivatives, one for each input, got 1"):
        judged([1.0], [(1.0, 0.0), (1.0, 0.0)])


def test_an_inexact_reference_has_no_ulps_and_a_wider_tolerance():
    found = judged([1.0], [(1.0, 0.0)], is_exact=False)
    assert (found.ulps, found.tolerance) == (None, 1e-6)
