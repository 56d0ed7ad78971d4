"""The function on plain numbers, at its inputs and at others nearby: what values must be, and results must follow.

In: a workload and its inputs. Out: `Expected`, made without any engine, and the other inputs that it speaks of.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gradmark.engines.protocol import Derivative
from gradmark.errors import UnsupportedError
from gradmark.measure.job import Expected
from gradmark.measure.reference.exact import NoReferenceError
from gradmark.measure.reference.slope import slope
from gradmark.records import Param
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
from gradmark.workloads.workload import Workload

# How far away the other inputs are, as a share of each. Far enough that what was computed for the first ones is wrong
# there by much more than any tolerance; nearer where the function is not finite so far away, or takes another branch.
STEPS = (2.0**-6, 2.0**-10, 2.0**-14)
# How far fresh inputs are from each other, in steps: no two are alike, so that a cache of any size has none of them.
APART = 2.0**-4
# The slope is taken over shorter ways, so that no other branch is met. One that leaves more doubt than a third of the
# tolerance in float64 is not used, nor one that is another over a very short way: a branch was met all the same.
NEARER, USABLE = 2.0**-3, 3e-8
CLOSE, SAME = 2.0**-24, 1e-3
GRADIENT = Derivative()


def expected(
    workload: Workload,
    inputs: Sequence[Any],
    other: Sequence[Any],
    params: Mapping[str, Param],
    step: float,
    derivative: Derivative = GRADIENT,
) -> Expected:
    """What is expected at the inputs and at others that are a step away; `NoReferenceError` says why nobody knows.

    Of another derivative than the gradient, the slope is what its one probe of everything must give.
    """
    f = _plain(workload, params)
    value, other_value = _evaluated(f, inputs), _evaluated(f, other)
    if not (math.isfinite(value) and math.isfinite(other_value)):
        raise NoReferenceError(f"plain numbers give {value} at the inputs and {other_value} near them")
    steepness, settled = (
        _slope(workload, f, other, step)
        if derivative.name == USUAL_DERIVATIVE
        else _of_probe(workload, other, params, step, derivative)
    )
    # A sum that cancels is small beside its terms, and rounded as they are: they show in how it changes.
    sizes = (abs(value), abs(other_value), abs(other_value - value) / step)
    return Expected(
        value=value,
        scale=max(size for size in sizes if math.isfinite(size)) or 1.0,
        step=step,
        other_value=other_value,
        other_slope=steepness if settled else None,
    )


def _slope(workload: Workload, f: Callable[..., Any], other: Sequence[Any], step: float) -> tuple[float, bool]:
    """The slope along one direction of all inputs, and whether it settles."""
    along = direction(workload, other)

    def shifted(t: float) -> float:
        return _evaluated(f, [x if d is None else x + t * d for x, d in zip(_doubles(other), along, strict=True)])

    steepness, doubt = slope(shifted, step * NEARER)
    close = (shifted(CLOSE) - shifted(-CLOSE)) / (2 * CLOSE)
    return steepness, doubt <= USABLE * abs(steepness) and abs(close - steepness) <= SAME * abs(steepness)


def _of_probe(
    workload: Workload, other: Sequence[Any], params: Mapping[str, Param], step: float, derivative: Derivative
) -> tuple[float, bool]:
    """What a derivative must give along one direction of everything, and whether differences say so surely."""
    from gradmark.measure.reference import along, flat, probes

    one = probes.overall(derivative, flat.sizes_of(workload, other))
    f, point = flat.in_floats(workload, other, params), flat.point_of(workload, other)
    try:
        number, doubt = along.difference(f, point, derivative, one, 0, step)
        nearer, _ = along.difference(f, point, derivative, one, 0, step * NEARER)
    except (ArithmeticError, ValueError):
        return math.nan, False
    order = FACTS[derivative.name].order
    return number, doubt <= along.USABLE[order] * abs(number) and abs(nearer - number) <= SAME * abs(number)


def others(workload: Workload, inputs: Sequence[Any], step: float, number: int = 0) -> list[Any]:
    """Inputs a step away from the given ones, each in a direction of its own; the number tells several such apart.

    What is not differentiated stays as it is.
    """
    share = step * (1.0 + number * APART)
    away = direction(workload, inputs, seed=1)
    return [x if d is None else _like(x, x + share * d) for x, d in zip(inputs, away, strict=True)]


def direction(workload: Workload, inputs: Sequence[Any], seed: int = 2) -> list[Any]:
    """Of each input that is differentiated a change as large as itself, with either sign; None of the others."""
    active = set(workload.active(inputs))
    draw = random.Random(seed)
    return [_change(x, draw) if k in active else None for k, x in enumerate(inputs)]


def _change(x: Any, draw: random.Random) -> Any:
    if isinstance(x, float):
        return (abs(x) or 1.0) * math.copysign(draw.uniform(0.5, 1.0), draw.random() - 0.5)
    import numpy as np

    numbers = np.random.default_rng(draw.getrandbits(64)).uniform(-0.5, 0.5, size=x.shape)
    sizes = np.abs(x.astype(np.float64))
    usual = float(sizes.mean()) if sizes.size else 0.0
    return (numbers + np.copysign(0.5, numbers)) * np.where(sizes > 0.0, sizes, usual or 1.0)


def _like(x: Any, changed: Any) -> Any:
    return changed if isinstance(x, float) else changed.astype(x.dtype)


def _plain(workload: Workload, params: Mapping[str, Param]) -> Callable[..., Any]:
    if workload.kind == "scalar":
        from gradmark.engines.floats import FLOATS

        return partial(workload.function, FLOATS, **params)
    from gradmark.engines.numpy_arrays import ARRAYS

    return partial(workload.function, ARRAYS, **params)


def _doubles(inputs: Sequence[Any]) -> list[Any]:
    return [x if isinstance(x, float) or x.dtype.kind != "f" else x.astype("float64") for x in inputs]


def _evaluated(f: Callable[..., Any], inputs: Sequence[Any]) -> float:
    """The function's value; not a number where it is not defined."""
    try:
        result = f(*_doubles(inputs))
        if not isinstance(result, list | tuple) and getattr(result, "shape", None) in ((), None):
            return float(result)
        from gradmark.measure.reference.flat import weighted

        return weighted(result)
    except (ArithmeticError, ValueError):
        return math.nan
    except (UnsupportedError, TypeError, AttributeError) as error:
        raise NoReferenceError(f"plain numbers cannot run the function: {error}") from error
