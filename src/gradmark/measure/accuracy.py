"""Accuracy: the exact gradient of a workload, and how far an engine's is from it.

In: a workload and its inputs. Out: the gradient at 50 digits, by central differences at higher precision: no derivative
rule is involved, so no rule can be wrong in the same way here.
"""

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from gradmark.engines.finite_difference import FiniteDifference
from gradmark.records import Accuracy, Param
from gradmark.workloads.workload import Workload

# 110 digits, a step of 1e-30: truncation takes 60 digits, cancellation leaves 80; both beyond the 50 that are promised.
DIGITS = 110
STEP_EXPONENT = -30
# Stands for an error without bound: a gradient that is not a number where it should be one.
HUGE = 1e300

Exact = list[tuple[float, float]]


def namespace() -> SimpleNamespace:
    """The scalar functions on mpmath's numbers."""
    from mpmath import mp

    return SimpleNamespace(
        exp=mp.exp,
        expm1=lambda x: mp.exp(x) - 1,
        log=mp.log,
        log1p=lambda x: mp.log(1 + x),
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
        softplus=lambda x: mp.log(1 + mp.exp(x)),
        relu=lambda x: max(x, mp.mpf(0)),
        erf=mp.erf,
        abs=abs,
        maximum=max,
        minimum=min,
        hypot=lambda x, y: mp.hypot(mp.mpf(x), mp.mpf(y)),
        where=lambda condition, x, y: x if condition else y,
        constant=mp.mpf,
    )


def exact_gradient(workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> Exact:
    """The gradient as pairs: the nearest double and what is left to the exact number."""
    from mpmath import mp

    with mp.workdps(DIGITS):
        ops = namespace()
        point = [mp.mpf(x) for x in inputs]
        found = []
        for k, x in enumerate(point):
            step = mp.mpf(10) ** STEP_EXPONENT * max(1, abs(x))
            above, below = list(point), list(point)
            above[k], below[k] = x + step, x - step
            rise = workload.function(ops, *above, **params) - workload.function(ops, *below, **params)
            slope = rise / (2 * step)
            high = float(slope)
            found.append((high, float(slope - high) if math.isfinite(high) else 0.0))
        return found


def reference_of(workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> tuple[Exact, str, bool]:
    """The reference gradient, its name, and whether it is exact. Functions that mpmath cannot run get differences."""
    try:
        return exact_gradient(workload, inputs, params), "mpmath, 50 digits", True
    except (TypeError, AttributeError, ValueError, ZeroDivisionError):
        session = FiniteDifference().prepare(workload, inputs, params)
        assert session.backward is not None
        assert session.gradients is not None
        session.backward()
        return [(float(g), 0.0) for g in session.gradients()], "central differences", False


def judge(got: Sequence[Any], exact: Exact, reference: str, tolerance: float, *, is_exact: bool = True) -> Accuracy:
    """The largest errors of a gradient. Entries that are zero are judged relative to the largest one."""
    if len(got) != len(exact):
        raise ValueError(f"expected {len(exact)} derivatives, one for each input, got {len(got)}")
    largest = max((abs(high) for high, _ in exact), default=0.0)
    relative, ulps = 0.0, 0.0
    for value, (high, low) in zip(got, exact, strict=True):
        error = abs((float(value) - high) - low)
        if float(value) == high or (math.isnan(float(value)) and math.isnan(high)):
            error = abs(low)
        if not math.isfinite(error):
            error = HUGE  # JSON has no infinity
        relative = max(relative, min(HUGE, error / max(abs(high), 1e-9 * largest, 1e-300)))
        ulps = max(ulps, min(HUGE, error / math.ulp(high)) if math.isfinite(high) else error)
    if not is_exact:
        tolerance = max(tolerance, FiniteDifference().capabilities().tolerance)
    return Accuracy(reference=reference, relative_error=relative, ulps=ulps if is_exact else None, tolerance=tolerance)
