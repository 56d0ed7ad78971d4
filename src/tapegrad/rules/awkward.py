"""Helpers of the rules: what the plain formulas of table.py need where floating-point numbers are awkward.

In: numbers. Out: numbers, as expressions of the language; code.py makes a C function of each.
"""

from dataclasses import dataclass

from .language import (
    Expression,
    a,
    b,
    equal,
    function,
    hypot,
    log,
    power,
    unequal,
    v,
    where,
)

SMALLEST_NORMAL = 2.0**-1022
LARGEST = (2.0 - 2.0**-52) * 2.0**1023
# Steps that C and Python both have: the exponent of x as frexp gives it, and x * 2^y, exactly.
exponent, scaled = function("exponent"), function("scaled")


@dataclass(frozen=True)
class Helper:
    """A function of doubles; `rare` ones are kept out of the way of the registers of the sweeps."""

    name: str
    operands: tuple[str, ...]
    value: Expression
    rare: bool
    note: str


def _ordinary(x: Expression) -> Expression:
    return (abs(x) >= SMALLEST_NORMAL) & (abs(x) <= LARGEST)


def _square_error() -> Expression:
    """a*a - b without rounding, for b = a*a rounded."""
    up = 134217729.0 * a
    high = up - (up - a)
    low = a - high
    return ((high * high - b) + 2.0 * high * low) + low * low


def _exact_less(x: Expression) -> tuple[Expression, Expression]:
    """x - 1 rounded, and what the rounding lost."""
    rounded = x - 1.0
    part = rounded - x
    return rounded, (x - (rounded - part)) + (-1.0 - part)


def _corrected(result: Expression, error: Expression) -> Expression:
    return where(unequal(error, 0.0) & (a > 0.0) & _ordinary(result), result + result * (error * log(a)), result)


def _power_da() -> Expression:
    last, error = _exact_less(b)
    direct, tiny = v * b / a, b / a * v
    return where(
        equal(b, 0.0),
        0.0,
        where(
            _ordinary(v) & _ordinary(v * b) & _ordinary(direct),
            direct,
            where(_ordinary(v) & _ordinary(b / a) & _ordinary(tiny), tiny, _corrected(b * power(a, last), error)),
        ),
    )


def _power_less() -> Expression:
    last, error = _exact_less(b)
    return _corrected(power(a, last), error)


def _shrunk() -> Expression:
    return unequal(a, 0.0) & (b > 0.0) & (b <= LARGEST) & ((b < SMALLEST_NORMAL) | (abs(a / b) < SMALLEST_NORMAL))


def _over_square() -> Expression:
    size = exponent(where(abs(a) < abs(b), abs(b), abs(a)))
    length = hypot(scaled(a, -size), scaled(b, -size))
    return scaled(scaled(a, -exponent(a)) / length / length, exponent(a) - 2.0 * size)


HELPERS = [
    Helper("ordinary", ("a",), _ordinary(a), False, "Neither 0 nor subnormal nor infinite nor a nan."),
    Helper(
        "square_error",
        ("a", "b"),
        _square_error(),
        False,
        "a*a - b without rounding, for b = a*a rounded: Veltkamp's split and Dekker's product.",
    ),
    Helper(
        "power_da",
        ("a", "b", "v"),
        _power_da(),
        True,
        "d(a^b)/da where v/a*b overflows, underflows or is not a number. Last of all b*a^(b-1): Knuth's two-sum keeps\n"
        "what the rounding of b - 1 lost, and a to that power is put back to first order.",
    ),
    Helper("power_less", ("a", "b"), _power_less(), True, "a^(b-1) where v/a does not give it; see power_da."),
    Helper(
        "power_db",
        ("a", "v"),
        where((a >= 0.0) & equal(v, 0.0), 0.0, v * log(a)),
        True,
        "d(a^b)/db where v*log(a) is not the answer: 0^b is flat for b > 0, a negative base has no derivative.",
    ),
    Helper(
        "shrunk",
        ("a", "b"),
        _shrunk(),
        False,
        "Whether a / b / b, for the length b of a vector with the coordinate a, loses bits to underflow on the way.",
    ),
    Helper(
        "over_square_scaled",
        ("a", "b"),
        _over_square(),
        True,
        "a / (a*a + b*b) for those: a and b are scaled by a power of two, which is exact, and so is the way back.",
    ),
]
