"""Accuracy: the exact gradient of a workload, and how far an engine's is from it.

In: a workload and its inputs. Out: the gradient at 50 digits, by central differences at higher precision: no derivative
rule is involved, so no rule can be wrong in the same way here.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from gradmark.engines.finite_difference import FiniteDifference
from gradmark.engines.nested import gradient_of, while_loop
from gradmark.errors import InvalidWorkloadError, UnsupportedError
from gradmark.records import Accuracy, Param
from gradmark.workloads.workload import Workload

# 250 digits, a step of 1e-30 of the input: truncation takes 60 digits, the difference 30, and a function that is flat
# to 100 digits, such as sigmoid at 200, still leaves the 50 that are promised.
DIGITS = 250
STEP_EXPONENT = -30
# Slopes to the left and to the right that differ by more than this are two slopes.
KINK = 1e-15
# A slope that differs from that over a step so much smaller does not settle: it grows without bound, or is none.
CLOSER = 1e-10
# Slopes as large as these are looked at that closely: that of a cube root at 0 is the same on both sides.
STEEP = 1e6
# Entries below this many tolerances are judged as if they were that large: 1e-6 for most engines, so that an absolute
# error of 1e-15 passes and a wrong derivative of 1e-12 does not.
SMALL = 1e3
# Stands for an error without bound: a gradient that is not a number where it should be one.
HUGE = 1e300
# The name of the reference that is exact.
EXACT = "mpmath, 50 digits"

RANDOM = "two evaluations at the same inputs give different values: the function is random or keeps state"

Exact = list[tuple[float, float]]


def namespace() -> SimpleNamespace:
    """The scalar functions on mpmath's numbers."""
    from mpmath import mp

    ops = SimpleNamespace(
        exp=mp.exp,
        expm1=mp.expm1,
        log=mp.log,
        log1p=mp.log1p,
        sqrt=mp.sqrt,
        sin=mp.sin,
        cos=mp.cos,
        tan=mp.tan,
        asin=mp.asin,
        acos=mp.acos,
        atan=mp.atan,
        atan2=mp.atan2,
        sinh=mp.sinh,
        cosh=mp.cosh,
        tanh=mp.tanh,
        sigmoid=lambda x: 1 / (1 + mp.exp(-x)),
        softplus=lambda x: mp.log1p(mp.exp(x)),
        relu=lambda x: max(x, mp.mpf(0)),
        erf=mp.erf,
        abs=abs,
        maximum=max,
        minimum=min,
        hypot=lambda x, y: mp.hypot(mp.mpf(x), mp.mpf(y)),
        where=lambda condition, x, y: x if condition else y,
        constant=mp.mpf,
        while_loop=while_loop,
    )
    ops.gradient_of = gradient_of(ops)
    return ops


class NoReferenceError(Exception):
    """There is no gradient to compare with, and why."""


def exact_gradient(workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> Exact:
    """The gradient as pairs: the nearest double and what is left to the exact number."""
    from mpmath import mp

    with mp.workdps(DIGITS):
        f = partial(workload.function, namespace(), **params)
        point = [mp.mpf(x) for x in inputs]
        middle = mp.mpmathify(f(*point))
        gradient = []
        for k, x in enumerate(point):
            size = mp.mpf(10) ** STEP_EXPONENT * (abs(x) or 1)
            slopes = [_one_sided(f, point, k, step, middle) for step in (size, -size)]
            right, left = slopes
            if None in slopes or abs(right - left) > KINK * max(abs(right), abs(left), 1) or abs(right) > STEEP:
                if f(*point) != middle:
                    raise InvalidWorkloadError(RANDOM)
                closer = [_one_sided(f, point, k, CLOSER * step, middle) for step in (size, -size)]
                _refuse(slopes, closer, f"input {k} = {inputs[k]!r}")
            slope = (left + right) / 2
            high = float(slope)
            if not math.isfinite(high):
                raise InvalidWorkloadError(not_finite(f"input {k} = {inputs[k]!r}"))
            gradient.append((high, float(slope - high)))
        return gradient


def _one_sided(f: Callable[..., Any], point: Sequence[Any], k: int, step: Any, middle: Any) -> Any:
    """The slope over one step; None where the function is not defined on that side, or not real."""
    from mpmath import mp

    try:
        slope = (f(*point[:k], point[k] + step, *point[k + 1 :]) - middle) / step
    except (ArithmeticError, ValueError, TypeError):  # complex numbers have no order
        return None
    return slope if isinstance(slope, mp.mpf) and mp.isfinite(slope) else None


def _refuse(slopes: Sequence[Any], closer: Sequence[Any], place: str) -> None:
    """Raises unless the slopes on both sides are the same and settle."""
    pairs = [(far, near) for far, near in zip(slopes, closer, strict=True) if far is not None and near is not None]
    if any(abs(near - far) > KINK * max(abs(near), abs(far), 1) for far, near in pairs):
        raise InvalidWorkloadError(not_finite(place))
    if len(pairs) < 2:
        raise NoReferenceError(f"the function is not defined on both sides of {place}")
    (right, _), (left, _) = pairs
    if abs(right - left) > KINK * max(abs(right), abs(left), 1):
        raise NoReferenceError(f"the function has a kink at {place}")


def not_finite(place: str) -> str:
    """What is said of a derivative without bound."""
    return f"the derivative with respect to {place} is not finite; choose other inputs"


def reference_of(workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> tuple[Exact, str, bool]:
    """The reference gradient, its name, and whether it is exact. Functions that mpmath cannot run get differences."""
    try:
        return exact_gradient(workload, inputs, params), EXACT, True
    except (TypeError, AttributeError, ValueError, ZeroDivisionError) as first:
        session = FiniteDifference().prepare(workload, inputs, params)
        assert session.backward is not None
        assert session.gradients is not None
        try:
            session.backward()
        except (ArithmeticError, ValueError, TypeError, AttributeError, UnsupportedError) as error:
            raise NoReferenceError(f"neither mpmath ({first}) nor finite differences ({error}) give one") from error
        differences = [float(g) for g in session.gradients()]
        if not all(map(math.isfinite, differences)):
            raise NoReferenceError("finite differences give no finite gradient") from first
        return [(g, 0.0) for g in differences], "central differences", False


def judge(got: Sequence[Any], exact: Exact, reference: str, tolerance: float, *, is_exact: bool = True) -> Accuracy:
    """The largest errors of a gradient, relative to the exact entry, or to `SMALL` where that is smaller.

    A derivative that should cancel to zero leaves roundings of the terms that cancelled, which are not known here.
    """
    smallest = SMALL * tolerance
    if len(got) != len(exact):
        raise ValueError(f"expected {len(exact)} derivatives, one for each input, got {len(got)}")
    relative, ulps = 0.0, 0.0
    for value, (high, low) in zip(got, exact, strict=True):
        error = abs((float(value) - high) - low)
        if float(value) == high or (math.isnan(float(value)) and math.isnan(high)):
            error = abs(low)
        if not math.isfinite(error):
            error = HUGE  # JSON has no infinity
        relative = max(relative, min(HUGE, error / max(abs(high), smallest)))
        ulps = max(ulps, min(HUGE, error / math.ulp(max(abs(high), smallest))))
    if not is_exact:
        tolerance = max(tolerance, FiniteDifference().capabilities().tolerance)
    return Accuracy(reference=reference, relative_error=relative, ulps=ulps if is_exact else None, tolerance=tolerance)
