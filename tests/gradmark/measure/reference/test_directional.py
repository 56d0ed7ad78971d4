"""Slopes along directions, and how far a gradient is from them."""

import math

import numpy as np
import pytest

from gradmark.errors import InvalidWorkloadError
from gradmark.measure.reference import directional
from gradmark.measure.reference.directional import DIRECTIONS, directions, judge, reference_of
from gradmark.measure.reference.exact import NoReferenceError
from gradmark.workloads.workload import workload


def tensor(function=None, *, arrays=lambda draw: [draw.normal(size=(3, 4)), draw.normal(size=4)], **more):
    made = workload(suite="s", stresses="x", arrays=arrays, **more)
    return made if function is None else made(function)


@tensor
def product(ops, x, row):
    return ops.sum(ops.sin(x) * row)


def gradient(inputs):
    x, row = (a.astype(np.float64) for a in inputs)
    return [np.cos(x) * row, np.sin(x).sum(axis=0)]


def test_directions_are_the_same_each_time_and_differ_by_input():
    ours, theirs = directions((50,), 0), directions((50,), 1)
    assert len(ours) == DIRECTIONS
    assert all(0.5 <= abs(v).min() < abs(v).max() <= 1.5 and v.min() < 0 < v.max() for v in ours)
    assert all(np.array_equal(a, b) for a, b in zip(ours, directions((50,), 0), strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_slopes_are_those_of_the_gradient_in_doubles(dtype):
    inputs = product.draw(0, {}, dtype)
    slopes = reference_of(product, inputs, {})
    expected = [float(np.sum(g * v)) for k, g in enumerate(gradient(inputs)) for v in directions(g.shape, k)]
    assert [value for value, _ in slopes] == pytest.approx(expected, rel=1e-9)


def judged(got, dtype="float64", made=product, **more):
    inputs = made.draw(0, {}, dtype)
    return judge(made, inputs, {}, got(inputs), reference_of(made, inputs, {}), 1e-9, **more)


def test_a_right_gradient():
    accuracy, _ = judged(gradient)
    assert accuracy.relative_error < 1e-9
    assert accuracy.tolerance == directional.TOLERANCE["float64"]
    assert accuracy.reference == "central differences, float64, 3 directions of each input"
    assert accuracy.ulps is None


def test_a_float32_gradient_is_held_to_float32():
    accuracy, _ = judged(lambda inputs: [g.astype(np.float32) for g in gradient(inputs)], "float32")
    assert 1e-9 < accuracy.relative_error < 1e-6
    assert accuracy.tolerance == directional.TOLERANCE["float32"]


def test_an_engine_may_have_a_wider_tolerance():
    inputs = product.draw(0, {})
    accuracy, _ = judge(product, inputs, {}, gradient(inputs), reference_of(product, inputs, {}), 1e-3)
    assert accuracy.tolerance == 1e-3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda x, row: [x, row * (1 + 1e-3)], "with respect to row is off by"),
        (lambda x, row: [x * (1 + 1e-6), row], "with respect to x is off by"),
        (lambda x, row: [x, row[::-1]], "with respect to row is off by"),
        (lambda x, row: [x + np.eye(3, 4) * 1e-5, row], "with respect to x is off by"),
        (lambda x, row: [np.zeros_like(x), row], "with respect to x is off by 1.0e+00 relative"),
        (lambda x, row: [x, row * math.nan], "with respect to row is off by 1.0e+300 relative"),
    ],
    ids=["scaled", "scaled a little", "reversed", "one diagonal", "zero", "not a number"],
)
def test_faults_are_seen_and_named(fault, words):
    accuracy, said = judged(lambda inputs: fault(*gradient(inputs)))
    assert accuracy.relative_error > accuracy.tolerance
    assert said.startswith(words)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda x, row: [x.T, row], "with respect to x has shape (4, 3), expected (3, 4)"),
        (lambda x, row: [x, np.ones((3, 4)) * row], "with respect to row has shape (3, 4), expected (4,)"),
    ],
    ids=["transposed", "broadcast sum dropped"],
)
def test_wrong_shapes_are_wrong_gradients(fault, words):
    assert judged(lambda inputs: fault(*gradient(inputs))) == (None, words)


def test_too_few_gradients():
    with pytest.raises(ValueError, match="expected 2 gradients, one for each differentiated input, got 1"):
        judged(lambda inputs: gradient(inputs)[:1])


def exactly(function):
    return tensor(gradient=function)(lambda ops, x, row: ops.sum(ops.sin(x) * row))


def test_the_exact_gradient_is_what_is_reported():
    accuracy, _ = judged(gradient, made=exactly(lambda x, row: gradient([x, row])))
    assert (accuracy.reference, accuracy.relative_error, accuracy.tolerance) == ("exact gradient, float64", 0.0, 1e-9)


def test_the_exact_gradient_sees_more_than_directions_do():
    made = exactly(lambda x, row: gradient([x, row]))
    accuracy, said = judged(lambda inputs: [g * (1 + 1e-8) for g in gradient(inputs)], made=made)
    assert accuracy.tolerance < accuracy.relative_error == pytest.approx(1e-8)
    assert "is off by 1.0e-08 relative" in said


def test_differences_are_asked_even_where_there_is_an_exact_gradient():
    """The one that a workload declares may be wrong in the same way as the engine."""
    made = exactly(lambda x, row: [2 * g for g in gradient([x, row])])
    accuracy, _ = judged(lambda inputs: [2 * g for g in gradient(inputs)], made=made)
    assert accuracy.reference.startswith("central differences")
    assert accuracy.relative_error > 0.1


def test_what_does_not_settle_is_no_reference():
    @tensor(arrays=lambda draw: [np.zeros(3)])
    def bent(ops, x):
        return ops.sum(ops.where(x > 0, ops.abs(x) ** 1.5, 0.0))

    with pytest.raises(NoReferenceError, match="differences do not settle: a slope is"):
        reference_of(bent, bent.draw(0, {}), {})


@pytest.mark.parametrize(
    "function",
    [
        lambda ops, x: ops.sum(ops.sqrt(x)),
        lambda ops, x: ops.sum(ops.sqrt(ops.abs(x))),
        lambda ops, x: ops.sum(ops.where(x > 0, 1.0, 0.0)),
    ],
    ids=["defined on one side", "on both", "a jump"],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_derivative_without_bound_is_no_reference_and_not_measured(function):
    at_zero = tensor(arrays=lambda draw: [np.array([0.0, 1.0, 2.0])])(function)
    with pytest.raises(InvalidWorkloadError, match="the derivative with respect to x is not finite; choose other"):
        reference_of(at_zero, at_zero.draw(0, {}), {})


@pytest.mark.parametrize("function", [lambda ops, x: ops.sum(ops.abs(x)), lambda ops, x: ops.sum(ops.relu(x) * 3)])
def test_a_kink_is_no_reference(function):
    """Central differences see nothing of it: they would say that the slope of |x| at 0 is 0."""
    kinked = tensor(arrays=lambda draw: [np.array([0.0, 1.0, 2.0])])(function)
    with pytest.raises(NoReferenceError, match="the function has a kink at x"):
        reference_of(kinked, kinked.draw(0, {}), {})


def test_a_random_function_is_not_one_that_does_not_settle():
    source = np.random.default_rng(0)
    noisy = tensor(arrays=lambda draw: [np.ones(3)])(lambda ops, x: ops.sum(x) + source.normal())
    with pytest.raises(
        InvalidWorkloadError, match="two evaluations at the same inputs give different values: the function is random"
    ):
        reference_of(noisy, noisy.draw(0, {}), {})


def test_what_numpy_lacks_leaves_no_reference():
    odd = tensor(arrays=lambda draw: [np.ones(3)])(lambda ops, x: ops.sum(ops.bessel(x)))
    with pytest.raises(NoReferenceError, match=r"plain NumPy cannot run the function: .* has no bessel"):
        reference_of(odd, odd.draw(0, {}), {})


def test_a_gradient_of_zero_is_a_reference_too():
    @tensor(arrays=lambda draw: [draw.normal(size=3), draw.normal(size=2)])
    def unused(ops, x, y):
        return ops.sum(x) + 0.0 * ops.sum(y)

    accuracy, _ = judged(lambda inputs: [np.ones(3), np.zeros(2)], made=unused)
    assert accuracy.relative_error < 1e-9
    accuracy, said = judged(lambda inputs: [np.ones(3), 1e-3 * np.ones(2)], made=unused)
    assert accuracy.relative_error > accuracy.tolerance
    assert said.startswith("with respect to y")


def test_what_errors_are_relative_to():
    slopes = [(3.0, 0.0), (-7.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.05, 0.0), (0.0, 0.0)]
    assert directional.scales(slopes) == [7.0, 7.0, 7.0, 0.07, 0.07, 0.07]
    assert directional.scales([(0.0, 0.0)] * 3) == [1.0, 1.0, 1.0]
