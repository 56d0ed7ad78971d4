"""References of every derivative: closed forms, entry by entry and along directions, and where there is none."""

import itertools
import math

import numpy as np
import pytest

from gradmark import workload
from gradmark.engines.protocol import Derivative
from gradmark.errors import InvalidWorkloadError
from gradmark.measure.reference import along, flat, probes
from gradmark.measure.reference.exact import NoReferenceError


def of_numbers(function, n, **more):
    made = workload(suite="s", stresses="x", sizes={"n": [n]}, name="f", **more)
    return made(function)


@pytest.fixture
def product():
    """x₀²·x₁ + sin x₁: gradient (2x₀x₁, x₀² + cos x₁), Hessian ((2x₁, 2x₀), (2x₀, -sin x₁))."""
    return of_numbers(lambda ops, x, y, **_: x * x * y + ops.sin(y), 2)


@pytest.fixture
def pair():
    """(x₀x₁, exp x₀, 3): the last row of its Jacobian is zero."""
    return of_numbers(lambda ops, x, y, **_: [x * y, ops.exp(x), 3.0], 2, result="array")


def reference(workload, inputs, derivative):
    asked = probes.probes_of(derivative, workload.kind, flat.sizes_of(workload, inputs))
    params = {"n": len(inputs)} if workload.kind == "scalar" else {}
    return asked, along.reference_of(workload, inputs, params, derivative, asked)


def numbers(workload, inputs, derivative):
    _, found = reference(workload, inputs, derivative)
    return [high for high, _ in found.numbers]


X, Y = 1.25, 0.5
HESSIAN = [[2 * Y, 2 * X], [2 * X, -math.sin(Y)]]
V = [0.75, -0.5]


@pytest.mark.parametrize(
    ("derivative", "expected"),
    [
        (Derivative("gradient"), [2 * X * Y, X * X + math.cos(Y)]),
        (Derivative("jvp", tangents=V), [0.75 * 2 * X * Y - 0.5 * (X * X + math.cos(Y))]),
        (Derivative("vjp", cotangent=2.0), [4 * X * Y, 2 * X * X + 2 * math.cos(Y)]),
        (Derivative("hvp", tangents=V), [0.75 * a - 0.5 * b for a, b in HESSIAN]),
        (Derivative("hessian"), [entry for row in HESSIAN for entry in row]),
        (Derivative("sparse-hessian"), [entry for row in HESSIAN for entry in row]),
    ],
    ids=lambda part: getattr(part, "name", ""),
)
def test_of_one_number_at_50_digits(product, derivative, expected):
    asked, found = reference(product, [X, Y], derivative)
    assert (asked.entries, found.name, found.is_exact) == (True, "mpmath, 50 digits", True)
    assert [high for high, _ in found.numbers] == pytest.approx(expected, rel=4e-16)


@pytest.mark.parametrize(
    ("derivative", "expected"),
    [
        (Derivative("jvp", tangents=V, shape=(3,)), [0.75 * Y - 0.5 * X, 0.75 * math.exp(X), 0.0]),
        (Derivative("vjp", cotangent=[1.0, 2.0, 5.0], shape=(3,)), [Y + 2 * math.exp(X), X]),
        (Derivative("jacobian", shape=(3,)), [Y, X, math.exp(X), 0.0, 0.0, 0.0]),
        (Derivative("sparse-jacobian", shape=(3,)), [Y, X, math.exp(X), 0.0, 0.0, 0.0]),
    ],
    ids=lambda part: getattr(part, "name", ""),
)
def test_of_several_numbers_at_50_digits(pair, derivative, expected):
    assert numbers(pair, [X, Y], derivative) == pytest.approx(expected, rel=4e-16)


def test_many_numbers_are_compared_along_three_directions_still_at_50_digits():
    chain = of_numbers(lambda ops, *xs, **_: sum(x * x * y for x, y in itertools.pairwise(xs)), 200)
    xs = [1.0 + k / 200 for k in range(200)]
    hessian = np.zeros((200, 200))
    for k in range(199):
        hessian[k, k] += 2 * xs[k + 1]
        hessian[k, k + 1] = hessian[k + 1, k] = 2 * xs[k]
    v = [(-1.0) ** k for k in range(200)]
    for derivative, result in ((Derivative("hvp", tangents=v), hessian @ v), (Derivative("sparse-hessian"), hessian)):
        asked, found = reference(chain, xs, derivative)
        assert (asked.entries, found.name) == (False, "mpmath, 50 digits, 3 directions")
        assert asked.read(result).tolist() == pytest.approx([high for high, _ in found.numbers], rel=1e-12)
        judged, _ = along.judge(asked, result, found, derivative, "float64", 1e-9)
        assert judged.relative_error < 1e-14
        wrong = result.copy()
        wrong.flat[7 if wrong.ndim == 1 else 7 * 201] *= 1.001
        assert along.judge(asked, wrong, found, derivative, "float64", 1e-9)[0].relative_error > 1e-7


@pytest.fixture
def arrays():
    """Σ exp(a)·(M b) in two inputs, beside one that is fixed."""
    made = workload(
        suite="s",
        stresses="x",
        name="g",
        fixed=["m"],
        arrays=lambda draw: [draw.normal(size=(3, 4)), draw.normal(size=3), draw.normal(size=4)],
    )
    return made(lambda ops, m, a, b: ops.sum(ops.exp(a) * (m @ b)))


def test_of_arrays_by_differences(arrays):
    m, a, b = inputs = arrays.draw(0, {}, "float64")
    u, v = np.array([1.0, -0.5, 0.25]), np.array([0.5, 1.0, -1.0, 0.25])
    curve, cross = np.exp(a) * (m @ b), np.exp(a)[:, None] * m
    expected = {
        "jvp": [float(curve @ u + cross.sum(0) @ v)],
        "hvp": [curve * u + cross @ v, cross.T @ u],
        "hessian": np.block([[np.diag(curve), cross], [cross.T, np.zeros((4, 4))]]),
    }
    for name, result in expected.items():
        derivative = Derivative(name, tangents=[u, v] if name != "hessian" else ())
        asked, found = reference(arrays, inputs, derivative)
        assert not found.is_exact
        whole = result if name == "hessian" else flat.joined(result)
        judged, _ = along.judge(asked, whole, found, derivative, "float64", 1e-9)
        assert judged.relative_error < 1e-8, name
        assert judged.tolerance == (1e-7 if name == "jvp" else 1e-6)
        wrong = whole.copy()
        wrong.flat[0] *= 1.001
        assert along.judge(asked, wrong, found, derivative, "float64", 1e-9)[0].relative_error > 1e-5, name


def test_the_part_that_is_wrong_is_named(arrays):
    inputs = arrays.draw(0, {}, "float64")
    derivative = Derivative("hvp", tangents=[np.ones(3), np.ones(4)])
    asked, found = reference(arrays, inputs, derivative)
    m, a, b = inputs
    first, second = np.exp(a) * (m @ b) + np.exp(a)[:, None] * m @ np.ones(4), 1.01 * (np.exp(a)[:, None] * m).sum(0)
    assert along.judge(asked, flat.joined([first, second]), found, derivative, "float64", 1e-9)[1] == 1


@pytest.mark.parametrize(
    ("function", "at", "message"),
    [
        (lambda ops, x, **_: ops.relu(x), 0.0, "the function has a kink at its inputs: the hvp does not settle"),
        (lambda ops, x, **_: ops.abs(x), 0.0, "the function has a kink at its inputs: the hvp does not settle"),
        (lambda ops, x, **_: x * ops.abs(x), 0.0, "the function has a kink at its inputs: the hvp does not settle"),
        (lambda ops, x, **_: ops.sqrt(x), 0.0, "the function is not real on both sides of its inputs"),
    ],
)
def test_where_there_is_none(function, at, message):
    with pytest.raises(NoReferenceError, match=message):
        reference(of_numbers(function, 1), [at], Derivative("hvp", tangents=[1.0]))


def test_a_random_function_is_invalid():
    counter = iter(range(1000))
    with pytest.raises(InvalidWorkloadError, match="random or keeps state"):
        reference(of_numbers(lambda ops, x, **_: x + next(counter), 1), [1.0], Derivative("hvp", tangents=[1.0]))


def test_what_mpmath_cannot_run_is_differenced():
    function = of_numbers(lambda ops, x, **_: x * x if isinstance(x, float) else x.nothing, 1)
    _, found = reference(function, [2.0], Derivative("hvp", tangents=[1.0]))
    assert (found.name, found.is_exact) == ("central differences, float64, 3 directions of each input", False)
    assert found.numbers[0][0] == pytest.approx(2.0, rel=1e-9)


def test_what_nothing_can_run_has_no_reference():
    function = of_numbers(lambda ops, x, **_: x.nothing, 1)
    with pytest.raises(NoReferenceError, match="plain numbers give no reference"):
        reference(function, [2.0], Derivative("hvp", tangents=[1.0]))
