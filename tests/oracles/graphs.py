"""Random expression graphs with shared subexpressions, and what they give at 60 digits."""

import math

import mpmath
from hypothesis import strategies as st
from mpmath import mpf

import tapegrad
from oracles.scalar import OPERATIONS

# How each operation is put into a graph. Growth is tamed, and arguments are kept in the domain, by other operations, so
# that any operand will do. `f` gives the function of a name: of tapegrad, of floats, or of mpmath.
ONE = {
    **{name: lambda f, a, name=name: f(name)(a) for name in ("neg", "sin", "cos", "atan", "tanh", "sigmoid")},
    **{name: lambda f, a, name=name: f(name)(a) for name in ("softplus", "erf", "abs", "relu")},
    **{name: lambda f, a, name=name: f(name)(f("sin")(a)) for name in ("exp", "expm1", "tan", "sinh", "cosh")},
    **{name: lambda f, a, name=name: f(name)(f("mul")(0.9, f("tanh")(a))) for name in ("asin", "acos")},
    **{name: lambda f, a, name=name: f(name)(f("add")(1.5, f("mul")(a, a))) for name in ("log", "log1p", "sqrt")},
}
TWO = {
    **{name: lambda f, a, b, name=name: f(name)(a, b) for name in ("add", "sub", "mul", "atan2", "hypot")},
    **{name: lambda f, a, b, name=name: f(name)(a, b) for name in ("maximum", "minimum", "choose")},
    "div": lambda f, a, b: f("div")(a, f("add")(1.5, f("mul")(b, b))),
    "pow": lambda f, a, b: f("pow")(f("add")(1.5, f("mul")(a, a)), f("tanh")(b)),
}
KINKS = {"abs", "relu", "maximum", "minimum", "choose"}


def recording(name):
    return (lambda a, b: tapegrad.where(a > b, a, 2.0 * b)) if name == "choose" else getattr(tapegrad, name)


def exact(name):
    function = (lambda a, b: a if a > b else 2 * b) if name == "choose" else OPERATIONS[name]
    return lambda *operands: function(*(mpf(x) for x in operands))


@st.composite
def graphs(draw):
    """Inputs, and steps (operation, operands) that may use any earlier value, or one constant on either side."""
    inputs = draw(st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=3))
    steps = []
    for size in range(len(inputs), len(inputs) + draw(st.integers(1, 12))):
        name = draw(st.sampled_from([*ONE, *TWO]))
        operands = [draw(st.integers(0, size - 1))]
        if name in TWO:
            operands.append(draw(st.one_of(st.integers(0, size - 1), st.floats(-2.0, 2.0))))
            if draw(st.booleans()):
                operands.reverse()
        steps.append((name, operands))
    return inputs, steps


def run(steps, inputs, functions):
    values = list(inputs)
    for name, operands in steps:
        step = ONE[name] if name in ONE else TWO[name]
        values.append(step(functions, *(values[o] if isinstance(o, int) else o for o in operands)))
    return values


def reference(steps, inputs):
    """The last value and its gradient at 60 digits, by central differences."""
    with mpmath.mp.workdps(90):
        point = [mpf(x) for x in inputs]
        step = mpf(10) ** -30
        gradient = []
        for k in range(len(point)):
            above, below = list(point), list(point)
            above[k] += step
            below[k] -= step
            gradient.append((run(steps, above, exact)[-1] - run(steps, below, exact)[-1]) / (2 * step))
        return run(steps, point, exact)[-1], gradient


def conditioned(steps, inputs):
    """No hypot or atan2 near 0, no branch cut and no kink: there differences, and rounding, tell nothing."""
    values = run(steps, inputs, recording)
    for name, operands in steps:
        a, b = [*(values[o] if isinstance(o, int) else o for o in operands), 0.0][:2]
        if name in ("hypot", "atan2") and (math.hypot(a, b) < 0.1 or (name == "atan2" and b < 0.1)):
            return False
        if name in KINKS and abs(a - b) < 1e-6:
            return False
    return all(abs(v) < 1e3 for v in values)


def second_reference(steps, inputs, direction):
    """The gradient's derivative in a direction, at 60 digits, by central differences of the gradient."""
    with mpmath.mp.workdps(120):
        step = mpf(10) ** -20
        moved = [[mpf(x) + sign * step * mpf(d) for x, d in zip(inputs, direction, strict=True)] for sign in (1, -1)]
        above, below = (differences(steps, point, mpf(10) ** -40) for point in moved)
        return [(a - b) / (2 * step) for a, b in zip(above, below, strict=True)]


def differences(steps, point, step):
    """The gradient by central differences."""
    gradient = []
    for k in range(len(point)):
        above, below = list(point), list(point)
        above[k] += step
        below[k] -= step
        gradient.append((run(steps, above, exact)[-1] - run(steps, below, exact)[-1]) / (2 * step))
    return gradient
