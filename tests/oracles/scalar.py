"""What the scalar operations should give, from mpmath: values from its functions, derivatives from their differences.

No derivative rule is written down here, so a wrong rule in the engine cannot be wrong here in the same way.
"""

import math
import random
from collections.abc import Callable, Iterator

import mpmath
from mpmath import mp, mpf

# Digits beyond 50, because softplus and sigmoid far from 0 lose as many as the answer is smaller than 1.
DIGITS = 450
# Central differences with this relative step are exact to some 100 digits.
STEP = mpf(10) ** -60

UNARY: dict[str, Callable[[mpf], mpf]] = {
    "neg": lambda x: -x,
    "exp": mpmath.exp,
    "expm1": lambda x: mpmath.exp(x) - 1,
    "log": mpmath.log,
    "log1p": lambda x: mpmath.log(1 + x),
    "sqrt": mpmath.sqrt,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
    "relu": lambda x: max(x, mpf(0)),
    "erf": mpmath.erf,
    "abs": abs,
}
BINARY: dict[str, Callable[[mpf, mpf], mpf]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": lambda x, y: mpmath.power(x, y),
    "atan2": lambda x, y: mpmath.atan2(x, y),
    "hypot": lambda x, y: mpmath.hypot(x, y),
    "maximum": max,
    "minimum": min,
}
OPERATIONS = UNARY | BINARY

MAGNITUDES = [5e-324, 2.3e-308, 1e-300, 1e-154, 1e-20, 1e-8, 1e-3, 0.1, 0.5, 0.7, 1 - 2**-53, 1.0, 1 + 2**-52]
MAGNITUDES += [1.5, math.pi / 2, 2.0, 3.0, math.pi, 5.5, 10.0, 19.0, 26.0, 36.0, 100.0, 350.0, 700.0, 709.5, 740.0]
MAGNITUDES += [1e5, 1e8, 1e10, 1e16, 1e20, 1e150, 1e300, 1.7e308]
AWKWARD = [0.0, *MAGNITUDES, *(-x for x in MAGNITUDES)]


def points(name: str, count: int, seed: int = 0) -> Iterator[tuple[float, ...]]:
    """Awkward points first, then random ones of all magnitudes, for one operation."""
    draw = random.Random(f"{name}/{seed}")

    def number() -> float:
        kind = draw.random()
        if kind < 0.4:
            return draw.uniform(-3.0, 3.0)
        if kind < 0.7:
            return draw.uniform(-50.0, 50.0)
        return draw.choice((-1.0, 1.0)) * 10.0 ** draw.uniform(-12.0, 12.0)

    if name in UNARY:
        yield from ((x,) for x in AWKWARD)
        yield from ((number(),) for _ in range(count))
    else:
        yield from ((x, y) for x in AWKWARD[::3] for y in AWKWARD[::4])
        yield from ((number(), number()) for _ in range(count))


def value(name: str, point: tuple[float, ...]) -> mpf | None:
    """The exact value; None where it is not a real number."""
    with mp.workdps(DIGITS + _digits(point)):
        return _real(name, [mpf(x) for x in point])


def derivative(name: str, point: tuple[float, ...], argument: int) -> mpf | None:
    """The exact derivative with respect to one argument; None where the operation is not smooth or not real."""
    with mp.workdps(DIGITS + _digits(point)):
        exact = [mpf(x) for x in point]
        if (name == "pow" and not point[0]) or (name == "atan2" and not any(point)):
            return None  # differences at 0 do not tell (x**3: step² instead of 0); the special points have these
        step = STEP * min([mpf(1), *(abs(x) for x in exact if x)])
        sides = []
        for sign in (-1, 1):
            moved = list(exact)
            moved[argument] += sign * step
            sides.append(_real(name, moved))
        middle = _real(name, exact)
        if middle is None or None in sides:
            return None
        left, right = (middle - sides[0]) / step, (sides[1] - middle) / step
        if abs(left - right) > mpf(10) ** -30 * (abs(left) + abs(right)):
            return None  # a kink
        return (sides[1] - sides[0]) / (2 * step)


def second(name: str, point: tuple[float, ...], argument: int, other: int) -> mpf | None:
    """The exact second derivative; None where the operation is not smooth or not real."""
    if any(derivative(name, point, k) is None for k in {argument, other}):
        return None
    with mp.workdps(2 * (DIGITS + _digits(point))):  # differences of differences lose twice as many
        exact = [mpf(x) for x in point]
        step = STEP * min([mpf(1), *(abs(x) for x in exact if x)])
        total = mpf(0)
        for first in (-1, 1):
            for last in (-1, 1):
                moved = list(exact)
                moved[argument] += first * step
                moved[other] += last * step
                value = _real(name, moved)
                if value is None:
                    return None
                total += first * last * value
        return total / (4 * step * step)


def ulps(got: float, exact: mpf) -> float:
    """The error in units in the last place of the exact result, rounded; infinite if that overflows alone."""
    with mp.workdps(60):
        rounded = float(exact)
        if math.isinf(rounded) or not math.isfinite(got):
            return 0.0 if got == rounded else math.inf
        return float(abs(mpf(got) - exact) / mpf(math.ulp(rounded)))


def _real(name: str, point: list[mpf]) -> mpf | None:
    try:
        result = OPERATIONS[name](*point)
    except (ZeroDivisionError, ValueError):
        return None
    if isinstance(result, mpmath.mpc) or not mpmath.isfinite(result):
        return None
    return result


def _digits(point: tuple[float, ...]) -> int:
    """Further digits: sin of something huge loses as many, and differences of cos at something tiny twice as many."""
    return max(3 * abs(math.frexp(x)[1]) // 10 for x in point) * 5 // 2
