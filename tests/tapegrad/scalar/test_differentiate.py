"""Transforms of functions of numbers: every mode, nested in every order, structures, closures, errors."""

import math
from typing import NamedTuple

import mpmath
import numpy as np
import pytest

import tapegrad
from tapegrad import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp


class Pair(NamedTuple):
    left: float
    right: float


def cubic(x):
    return x * x * x


def mixed(x, y):
    return tapegrad.sin(x * y) / (2.0 + y * y) + tapegrad.exp(-x) * tapegrad.tanh(y)


def exact(orders, *point):
    """A derivative of `mixed` by mpmath, at 50 digits."""
    with mpmath.mp.workdps(50):
        return float(
            mpmath.diff(
                lambda x, y: mpmath.sin(x * y) / (2 + y * y) + mpmath.exp(-x) * mpmath.tanh(y),
                tuple(map(mpmath.mpf, point)),
                orders,
            )
        )


def derivative(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def pulled(f):
    return lambda x: vjp(f, x)[1](1.0)[0]


def first_entry(f):
    return lambda x: jacobian(f)(x)[()]


def told(mode):
    return lambda f: lambda x: jacobian(f, mode=mode)(x)[()]


WAYS = {"grad": grad, "jvp": derivative, "vjp": pulled, "jacobian": first_entry}
WAYS |= {mode: told(mode) for mode in ("forward", "reverse")}


@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("second", WAYS)
@pytest.mark.parametrize("third", WAYS)
def test_any_nesting_to_the_third_order(first, second, third):
    f = WAYS[first](lambda x: x * x * x * x)
    assert f(2.0) == 32.0
    assert WAYS[second](f)(2.0) == 48.0
    assert WAYS[third](WAYS[second](f))(2.0) == 48.0


def test_to_the_sixth_order():
    f = tapegrad.sin
    for order in range(1, 7):
        f = grad(f)
        assert f(0.7) == pytest.approx([math.cos, math.sin][(order - 1) % 2](0.7) * (-1) ** (order // 2), rel=1e-12)


def test_jvp():
    value, slope = jvp(mixed, (0.5, 2.0), (1.0, -3.0))
    assert value == pytest.approx(exact((0, 0), 0.5, 2.0), rel=1e-14)
    assert slope == pytest.approx(exact((1, 0), 0.5, 2.0) - 3.0 * exact((0, 1), 0.5, 2.0), rel=1e-13)
    assert jvp(
        lambda p: {"a": p["x"] * p["y"], "b": [p["x"], 7.0]}, ({"x": 2.0, "y": 3.0},), ({"x": 1.0, "y": 0.0},)
    ) == (
        {"a": 6.0, "b": [2.0, 7.0]},
        {"a": 3.0, "b": [1.0, 0.0]},
    )


def test_vjp():
    value, pullback = vjp(lambda p, y: [p.left * y, p.right, 5.0], Pair(2.0, 3.0), 4.0)
    assert value == [8.0, 3.0, 5.0]
    assert pullback([1.0, 0.0, 9.0]) == (Pair(4.0, 0.0), 2.0)
    assert pullback([0.0, 2.0, 0.0]) == (Pair(0.0, 2.0), 0.0)


def test_hvp_and_hessian():
    h = hessian(lambda p: mixed(*p))([0.5, 2.0])
    expected = [[exact((2, 0), 0.5, 2.0), exact((1, 1), 0.5, 2.0)], [exact((1, 1), 0.5, 2.0), exact((0, 2), 0.5, 2.0)]]
    np.testing.assert_allclose(h, expected, rtol=1e-12)
    for e in ([1.0, 0.0], [0.0, 1.0], [2.0, -3.0]):
        np.testing.assert_allclose(hvp(lambda p: mixed(*p), ([0.5, 2.0],), (e,))[0], np.array(expected) @ e, rtol=1e-12)
        np.testing.assert_allclose(hvp(mixed, (0.5, 2.0), tuple(e)), np.array(expected) @ e, rtol=1e-12)
        np.testing.assert_allclose(
            jvp(grad(lambda p: mixed(*p)), ([0.5, 2.0],), (e,))[1], np.array(expected) @ e, rtol=1e-12
        )
    assert hessian(cubic)(2.0).tolist() == 12.0
    assert hessian(lambda x, p: x * p[0] * p[0], 1)(3.0, [1.0, 2.0]).tolist() == [[6.0, 0.0], [0.0, 0.0]]
    assert hessian(lambda p: p[0][0] * p[1][1])([[1.0, 2.0], [3.0, 4.0]]).shape == (2, 2, 2, 2)


@pytest.mark.parametrize("mode", ["forward", "reverse", None])
def test_jacobian_in_both_modes(mode):
    def f(x):
        return [x[0] * x[1], tapegrad.sin(x[0]), 5.0, x[2] / x[1]]

    made = jacobian(f, mode=mode)([2.0, 4.0, 3.0])
    np.testing.assert_allclose(
        made, [[4, 2, 0], [math.cos(2.0), 0, 0], [0, 0, 0], [0, -3 / 16, 0.25]], rtol=1e-15, atol=0.0
    )
    assert jacobian(lambda x: (x, x * x), mode=mode)(3.0).tolist() == [1.0, 6.0]


def test_a_jacobian_calls_the_function_once():
    calls = []

    def f(x):
        calls.append(1)
        return [x[0] * x[1], x[1], x[0]]

    for mode in ("forward", "reverse"):
        jacobian(f, mode=mode)([1.0, 2.0])
    assert len(calls) == 2


def test_inner_functions_see_the_variables_of_outer_ones():
    """Each derivative is by its own variable, whatever the others are called and wherever they come from."""
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0  # d/dx x²
    assert (
        grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    )  # Siskind and Pearlmutter's perturbation confusion
    assert derivative(lambda x: x * derivative(lambda y: x + y)(1.0))(1.0) == 1.0
    assert derivative(lambda x: x * derivative(lambda y: x * y * y)(x))(3.0) == 54.0  # d/dx 2x³
    assert grad(lambda x: hessian(lambda y: x * x * y * y)(5.0)[()])(3.0) == 12.0
    assert grad(lambda x: grad(lambda y: x * x)(x))(3.0) == 0.0
    assert grad(lambda x: value_and_grad(lambda y: x * x * y)(1.0)[0])(3.0) == 6.0
    assert grad(lambda x: x * jvp(lambda y: x * x, (1.0,), (1.0,))[1])(3.0) == 0.0


def test_derivatives_of_numbers_within_a_transform_are_numbers():
    seen = []

    def f(x):
        seen.append(grad(cubic)(2.0))
        return x * seen[0]

    assert grad(f)(5.0) == 12.0
    assert type(seen[0]) is float


def test_branches_loops_and_choices_within_nested_transforms():
    def f(x):
        total = 0.0
        for _ in range(3):
            total = total * x + (x * x if x > 1.0 else -x)
        return tapegrad.where(x > 2.0, total, tapegrad.maximum(total, 3.0 * x))

    def plain(x):
        total = mpmath.mpf(0)
        for _ in range(3):
            total = total * x + (x * x if x > 1 else -x)
        return total if x > 2 else max(total, 3 * x)

    for point in (0.5, 1.5, 2.5):
        with mpmath.mp.workdps(50):
            expected = [float(mpmath.diff(plain, mpmath.mpf(point), order)) for order in (1, 2)]
        assert [grad(f)(point), grad(grad(f))(point)] == pytest.approx(expected, rel=1e-12)
        assert derivative(grad(f))(point) == grad(derivative(f))(point) == pytest.approx(expected[1], rel=1e-12)


def test_newton_within_a_gradient():
    """Python's control flow, with a derivative in each step: the derivative of a root by a parameter."""

    def root(c):
        x = 1.0
        for _ in range(8):
            f = lambda y: y * y - c  # noqa: E731
            x = x - f(x) / grad(f)(x)
        return x

    assert grad(root)(2.0) == pytest.approx(0.5 / math.sqrt(2.0), rel=1e-13)
    assert grad(grad(root))(2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-12)


def test_on_a_tape_of_one_s_own():
    tape = tapegrad.Tape()
    x = tape.var(2.0)
    y = x * grad(cubic)(x)  # 3x³
    tape.backward(y)
    assert (y.value, x.grad) == (24.0, 36.0)
    program = tape.freeze(x, y)
    assert program.value_and_grad(3.0) == (81.0, 81.0)
    assert program.gradient().gradient()(3.0) == 54.0
    assert tape.stats().values > 0
    tape.reset()
    x = tape.var(2.0)
    tape.backward(x * x)
    assert x.grad == 4.0


def test_every_operation_within_nested_transforms():
    for name, point in [
        (n, 0.6) for n in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "asin", "acos")
    ] + [(n, 0.6) for n in ("atan", "sinh", "cosh", "tanh", "sigmoid", "softplus", "relu", "erf", "abs", "neg")]:
        f = getattr(tapegrad, name)
        tape = tapegrad.Tape()
        x = tape.var(point)
        program = tape.freeze(x, f(x))
        third = program.gradient().gradient().gradient()(point)
        assert grad(grad(grad(f)))(point) == pytest.approx(third, rel=1e-13), name


def test_the_tape_of_a_nested_derivative_freezes_with_its_choices():
    tape = tapegrad.Tape()
    x, y = tape.var(2.0), tape.var(1.0)
    z = grad(lambda s: tapegrad.where(y > 0, s * s * y, s))(x)
    program = tape.freeze([x, y], z)
    assert program([3.0, 5.0]) == 30.0
    assert program([3.0, -5.0]) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jvp(cubic, (1.0,), ([1.0],)), r"expected a tangent of the structure ·, got \[·\]"),
        (lambda: jvp(cubic, (1.0,), ()), "a tangent for each of 1 arguments, got 0"),
        (lambda: jvp(cubic, 1.0, (1.0,)), r"primals to be a tuple.*write \(x,\)"),
        (lambda: hvp(lambda p: p[0], ([1.0, 2.0],), ([1.0],)), r"structure \[·, ·\], got \[·\]"),
        (lambda: vjp(lambda x: [x, x], 1.0)[1](1.0), r"a cotangent of the structure \[·, ·\], got ·"),
        (lambda: hessian(lambda x: [x, x])(1.0), "one number, got list"),
        (lambda: hvp(lambda x: (x, x), (1.0,), (1.0,)), "one number, got tuple"),
        (lambda: jacobian(cubic, mode="sideways")(1.0), "'forward', 'reverse' or None, got 'sideways'"),
        (lambda: hessian(cubic, 1)(1.0), "argument 1, but the call has 1"),
        (lambda: hessian(lambda p: p[0])(["a"]), "array-like"),
    ],
)
def test_wrong_use_says_what_to_do(call, message):
    with pytest.raises(tapegrad.InputError, match=message):
        call()


def test_a_dense_matrix_that_would_not_fit_is_refused_before_it_is_tried(monkeypatch):
    from tapegrad.scalar import differentiate

    monkeypatch.setattr(differentiate.os, "sysconf", lambda name: 64)
    with pytest.raises(tapegrad.InputError, match=r"30 x 30 derivatives .*program\.hessian\(\)"):
        hessian(lambda p: sum(x * x for x in p))([1.0] * 30)
    with pytest.raises(tapegrad.InputError, match=r"program\.jacobian\(\)"):
        jacobian(lambda p: [x * x for x in p])([1.0] * 30)
