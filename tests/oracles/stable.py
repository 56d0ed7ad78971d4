"""What functions that overflow easily give in exact arithmetic: mpmath's values, and derivatives from differences."""

from collections.abc import Callable, Sequence

import mpmath
import numpy as np
from mpmath import mp, mpf

# Enough for e^-40 beside 1 to 60 digits; what is smaller than that beside 1 is 0 in float32.
DIGITS = 80

Row = Sequence[mpf]


def logsumexp(row: Row) -> mpf:
    largest = max(row)
    return largest + mpmath.log(mpmath.fsum(mpmath.exp(x - largest) for x in row))


def log_softmax(row: Row) -> list[mpf]:
    total = logsumexp(row)
    return [x - total for x in row]


def softmax(row: Row) -> list[mpf]:
    return [mpmath.exp(x) for x in log_softmax(row)]


def sigmoid(x: mpf) -> mpf:
    return 1 / (1 + mpmath.exp(-x))


def softplus(x: mpf) -> mpf:
    return mpmath.log(1 + mpmath.exp(x)) if x < 500 else x + mpmath.log(1 + mpmath.exp(-x))


def value_and_gradient(f: Callable[[Row], mpf], point: Sequence[float]) -> tuple[float, list[float]]:
    """f and all its derivatives at a point."""
    with mp.workdps(DIGITS):
        row = [mpf(float(x)) for x in point]

        def along(k: int) -> Callable[[mpf], mpf]:
            return lambda x: f([*row[:k], x, *row[k + 1 :]])

        step = mpf(10) ** (-DIGITS // 3)
        slopes = [(along(k)(x + step) - along(k)(x - step)) / (2 * step) for k, x in enumerate(row)]
        return float(f(row)), [float(slope) for slope in slopes]


def close(got: float, exact: float, dtype: type = np.float32, units: float = 4) -> bool:
    """Whether a result is right to its dtype's rounding: of itself, or of 1 where it came from numbers of that size."""
    return bool(abs(float(got) - exact) <= units * np.finfo(dtype).eps * max(1.0, abs(exact)))


# The largest is 10,000: squares of it fit float32, exponentials do not.
POINTS = [0.0, 1e-4, 0.5, 1.0, 3.0, 10.0, 16.0, 17.5, 40.0, 88.0, 89.0, 104.0, 1000.0, 1e4]
POINTS += [-x for x in POINTS]
ROWS = [
    [1e4, 1e4],
    [-1e4, -1e4],
    [1e4, -1e4, 0.0],
    [1e4, 9999.0, 9998.0],
    [-1e4, -9999.0, -9998.5],
    [0.0, 0.0, 0.0, 0.0],
    [-1e4, 1.0, 2.0],
    [88.0, 89.0, 90.0],
    [-104.0, 104.0],
    [1e4],
]
