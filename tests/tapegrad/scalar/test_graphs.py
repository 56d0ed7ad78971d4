"""Random expression graphs with shared subexpressions: tape, program, batch and mpmath agree."""

import math

import mpmath
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf
from oracles.scalar import OPERATIONS, UNARY

import tapegrad

# Smooth everywhere, so that the reference may differentiate by differences; growth is tamed by tanh and sin.
SAFE_UNARY = ["neg", "sin", "cos", "atan", "tanh", "sigmoid", "softplus", "erf"]
SAFE_BINARY = ["add", "sub", "mul", "atan2", "hypot"]


@st.composite
def graphs(draw):
    """Inputs, and steps (operation, operand indices) of which any may use any earlier value, or a constant."""
    inputs = draw(st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=3))
    steps = []
    for size in range(len(inputs), len(inputs) + draw(st.integers(1, 12))):
        name = draw(st.sampled_from(SAFE_UNARY + SAFE_BINARY))
        operand = st.one_of(st.integers(0, size - 1), st.floats(-2.0, 2.0))
        arity = 1 if name in UNARY else 2
        steps.append((name, [draw(st.integers(0, size - 1)), *(draw(operand) for _ in range(arity - 1))]))
    return inputs, steps


def run(steps, inputs, functions):
    values = list(inputs)
    for name, operands in steps:
        values.append(functions(name)(*(values[o] if isinstance(o, int) else o for o in operands)))
    return values


def reference(steps, inputs):
    """Value and gradient at 60 digits, by central differences; None near a kink or a singularity."""
    with mpmath.mp.workdps(90):

        def f(point):
            return run(steps, point, lambda name: lambda *a: OPERATIONS[name](*(mpf(x) for x in a)))[-1]

        point = [mpf(x) for x in inputs]
        step = mpf(10) ** -30
        gradient = []
        for k in range(len(point)):
            above, below = list(point), list(point)
            above[k] += step
            below[k] -= step
            gradient.append((f(above) - f(below)) / (2 * step))
        return f(point), gradient


def conditioned(steps, inputs):
    """No hypot or atan2 near 0 and no branch cut: there differences, and rounding, tell nothing."""
    values = run(steps, inputs, lambda name: getattr(tapegrad, name))
    for name, operands in steps:
        if name in ("hypot", "atan2"):
            a, b = (values[o] if isinstance(o, int) else o for o in operands)
            if math.hypot(a, b) < 0.1 or (name == "atan2" and b < 0.1):
                return False
    return all(abs(v) < 1e3 for v in values)


@settings(max_examples=2000, deadline=None)
@given(graphs())
def test_recorded_frozen_and_exact_gradients_agree(graph):
    inputs, steps = graph
    assume(conditioned(steps, inputs))
    tape = tapegrad.Tape()
    xs = [tape.var(x) for x in inputs]
    y = run(steps, xs, lambda name: getattr(tapegrad, name))[-1]
    tape.backward(y)
    recorded = [x.grad for x in xs]
    program = tape.freeze(xs, y)
    value, gradient = program.value_and_grad(inputs)
    assert (value, gradient.tolist()) == (y.value, recorded)
    values, gradients = program.batch([inputs] * 2)
    exact_value, exact_gradient = reference(steps, inputs)
    # Rounding errors of some ten operations with factors below 1e3 each; a wrong rule is off by far more.
    scale = 1e-10 * max(1.0, *(abs(g) for g in recorded), abs(y.value))
    assert abs(float(exact_value) - y.value) <= scale
    for k, exact in enumerate(exact_gradient):
        assert abs(float(exact) - recorded[k]) <= scale
        assert abs(gradients[1, k] - recorded[k]) <= scale
    assert abs(values[1] - value) <= scale


@settings(max_examples=500, deadline=None)
@given(graphs(), st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3))
def test_a_program_replays_elsewhere(graph, elsewhere):
    inputs, steps = graph
    moved = elsewhere[: len(inputs)]
    tape = tapegrad.Tape()
    xs = [tape.var(x) for x in inputs]
    program = tape.freeze(xs, run(steps, xs, lambda name: getattr(tapegrad, name))[-1])
    tape.reset()
    xs = [tape.var(x) for x in moved]
    y = run(steps, xs, lambda name: getattr(tapegrad, name))[-1]
    tape.backward(y)
    value, gradient = program.value_and_grad(moved)
    np.testing.assert_array_equal([value, *gradient], [y.value, *(x.grad for x in xs)])
