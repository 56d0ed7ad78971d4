"""The check: are value and derivative right, and do they follow the inputs? Asked before anything is timed, and after.

In: a prepared engine and its job. Out: the error against the reference, or a wrong value or gradient with the reason.
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gradmark.measure.job import Expected, Job, Result
from gradmark.measure.reference import elsewhere
from gradmark.measure.reference import exact as accuracy
from gradmark.measure.worker.prepared import Prepared
from gradmark.records import Accuracy
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE

# Of float32, a thousand roundings of 6e-8, as of gradients. The engine's own tolerance counts where it is wider.
OF_FLOAT32 = 1e-4
# Of a slope in float64, by the order of the derivative: differences leave nine digits or so, of which the last two are
# not trusted; second differences half as many.
OF_SLOPES = {1: 1e-7, 2: 1e-5}


# Functions of more numbers are compared along directions: the reference of each derivative takes two evaluations.
MOST_NUMBERS = 200


def examine(prepared: Prepared, job: Job) -> tuple[accuracy.Exact, Accuracy | None, str]:
    """The reference, how far the last result is from it, and that in words; None if no number says how far."""
    workload, inputs, params = prepared.workload, prepared.inputs, job.cell.params
    if is_probed(prepared):
        return _probed(prepared, job)
    if workload.kind == "tensor":
        from gradmark.measure.reference import directional

        slopes = job.reference or directional.reference_of(workload, inputs, params)
        got = prepared.result()
        if infinite := not_finite(prepared, got):
            return slopes, None, infinite
        return slopes, *directional.judge(workload, inputs, params, got, slopes, prepared.tolerance)
    if job.reference is None:
        exact, name, is_exact = accuracy.reference_of(workload, inputs, params)
    else:
        exact, name, is_exact = job.reference, job.reference_name, job.reference_name == accuracy.EXACT
    got = prepared.result()
    if infinite := not_finite(prepared, got):
        return exact, None, infinite
    judged = accuracy.judge(got, exact, name, prepared.tolerance, is_exact=is_exact)
    return exact, judged, f"is off by {judged.relative_error:.1e} relative"


def is_probed(prepared: Prepared) -> bool:
    """Whether the result is compared along probes: all derivatives but the gradients of arrays and of few numbers."""
    if prepared.cell.derivative != USUAL_DERIVATIVE:
        return True
    return prepared.workload.kind == "scalar" and len(prepared.inputs) > MOST_NUMBERS


def _probed(prepared: Prepared, job: Job) -> tuple[accuracy.Exact, Accuracy | None, str]:
    from gradmark.measure.reference import along, flat, probes
    from gradmark.measure.worker.asked import whole

    workload, inputs, derivative = prepared.workload, prepared.inputs, prepared.derivative
    asked = probes.probes_of(derivative, workload.kind, flat.sizes_of(workload, inputs))
    if job.reference is None:
        reference = along.reference_of(workload, inputs, job.cell.params, derivative, asked)
    else:
        reference = along.Reference(job.reference, job.reference_name)
    got = prepared.result()
    if infinite := not_finite(prepared, got):
        return reference.numbers, None, infinite
    judged, group = along.judge(asked, whole(got), reference, derivative, prepared.dtype, prepared.tolerance)
    known = along.exactly(workload, inputs, job.cell.params, derivative)
    if known is not None and not asked.entries and judged.relative_error <= judged.tolerance:
        judged = along.judge_exactly(whole(got), known, reference, derivative, prepared.dtype, prepared.tolerance)
    part = prepared.parts()[group] if len(prepared.parts()) > group and workload.kind == "tensor" else ""
    return reference.numbers, judged, f"{part}is off by {judged.relative_error:.1e} relative"


def not_finite(prepared: Prepared, result: Sequence[Any]) -> str:
    """Which part of a result is no number, whatever it is compared with; empty if all are."""
    for words, part in zip(prepared.parts(), result, strict=True):
        if isinstance(part, float):
            if not math.isfinite(part):
                return f"{words}is {part}"
        else:
            import numpy as np

            from gradmark.measure.worker.asked import entries

            numbers = entries(part)
            infinite = numbers[~np.isfinite(numbers)]
            if infinite.size:
                return f"{words}has entries that are {infinite[0]}"
    return ""


def wrong(prepared: Prepared, words: str) -> str:
    """A wrong derivative in words."""
    return f"the {prepared.cell.derivative} {words}"


def check(prepared: Prepared, job: Job) -> Result | None:
    """A result if value or gradient of an iteration are wrong: asked before anything is timed, and once more after."""
    failed = check_value(prepared, job.expected, prepared.value(prepared.iterate()))
    if failed is not None or not prepared.differentiates:
        return failed
    if job.reference is None:
        infinite = not_finite(prepared, prepared.result())
        return Result(status="wrong-gradient", message=wrong(prepared, infinite)) if infinite else None
    _, judged, words = examine(prepared, job)
    if judged is not None and judged.relative_error <= judged.tolerance:
        return None
    return Result(status="wrong-gradient", message=wrong(prepared, words), accuracy=judged)


def check_value(prepared: Prepared, expected: Expected | None, value: float | None) -> Result | None:
    """A result if this value, at the inputs, is wrong; what nobody gives or knows is not."""
    if value is None or expected is None:
        return None
    words = _off(value, expected.value, expected.scale, tolerance(prepared))
    return Result(status="wrong-value", message=f"the value {words}") if words else None


def tolerance(prepared: Prepared) -> float:
    """The relative error above which a value is wrong."""
    own = prepared.tolerance
    return max(own, OF_FLOAT32) if prepared.cell.dtype == "float32" and prepared.workload.kind == "tensor" else own


def _off(value: float, right: float, scale: float, most: float) -> str:
    """How far a value is off, in words; empty if it is within the tolerance."""
    if not math.isfinite(value):
        return f"is {value}, expected {right:.9g}"
    error = abs(value - right) / scale
    return f"is {value:.9g}, expected {right:.9g}: it is off by {error:.1e} relative" if not error <= most else ""


# --- other inputs


class Route(NamedTuple):
    """Calls that are timed, one after the other, and whether they give the derivative."""

    name: str
    calls: tuple[Callable[[], Any], ...]
    differentiates: bool


class Reading(NamedTuple):
    """What a route gave."""

    value: float | None
    result: Sequence[Any] | None


def routes(prepared: Prepared) -> list[Route]:
    """Every way in which a session is timed: each must do its work for the inputs as they are then."""
    session, differentiates = prepared.session, prepared.differentiates
    ways = []
    if session.total is not None:
        ways.append(Route("total", (session.total,), differentiates))
    if session.forward is not None and session.backward is not None:
        ways.append(Route("forward and backward", (session.forward, session.backward), differentiates))
    elif session.forward is not None:
        ways.append(Route("forward", (session.forward,), False))
    if session.primal is not None:
        ways.append(Route("primal", (session.primal,), False))
    return ways


def follow(prepared: Prepared, expected: Expected | None) -> Result | None:
    """A result if a route does not follow the inputs. They are changed before it, and changed back before it is read.

    So what is computed when it is read, and not when it is timed, is the result of the wrong inputs.
    """
    if expected is None:
        return None
    first = prepared.copy_of_inputs()
    other = elsewhere.others(prepared.workload, first, expected.step)
    try:
        for route in routes(prepared):
            failed = _follow(prepared, route, expected, first, other)
            if failed is not None:
                return failed
    finally:
        prepared.move(first)
    return None


def _follow(
    prepared: Prepared, route: Route, expected: Expected, first: Sequence[Any], other: Sequence[Any]
) -> Result | None:
    prepared.move(other)
    returned = prepared.iterate(route.calls)
    prepared.move(first)
    early = None
    with contextlib.suppress(Exception):  # an engine may lose its results with the inputs: they are read again below
        early = _reading(prepared, route, returned)
        if _judged(prepared, route, expected, early, other) is None:
            return None
    prepared.move(other)
    failed = _judged(prepared, route, expected, _reading(prepared, route, prepared.iterate(route.calls)), other)
    if failed is not None:
        return failed
    prepared.move(first)
    later = _reading(prepared, route, prepared.iterate(route.calls))
    if early is None or not _alike(early, later, expected, tolerance(prepared)):
        return None
    return Result(
        status="untimed-work",
        message=f"what {route.name} gives is computed when it is read, not when it is timed: inputs that change in "
        "between change it",
    )


def _reading(prepared: Prepared, route: Route, returned: Any) -> Reading:
    """`value` reads what forward or total left: of primal, only what it returns counts."""
    value = prepared.number(returned) if route.name == "primal" else prepared.value(returned)
    return Reading(value, prepared.result() if route.differentiates else None)


def _judged(prepared: Prepared, route: Route, expected: Expected, got: Reading, other: Sequence[Any]) -> Result | None:
    """A result if value or gradient are not those of the other inputs."""
    after, of_route = "after its inputs changed", f"of {route.name}"
    stuck = "" if prepared.session.move else "; if the engine keeps inputs of its own, give its session `move`"
    if got.value is not None:
        words = _off(got.value, expected.other_value, expected.scale, tolerance(prepared))
        if words:
            return Result(status="wrong-value", message=f"{after}, the value {of_route} {words}{stuck}")
    if got.result is None or expected.other_slope is None:
        return None
    if infinite := not_finite(prepared, got.result):
        return Result(status="wrong-gradient", message=f"{after}, {wrong(prepared, infinite)}")
    error = _slope_error(prepared, got.result, expected.other_slope, other)
    order = FACTS[prepared.cell.derivative].order
    most = max(tolerance(prepared) * (10.0 if order == 2 else 1.0), OF_SLOPES[order])
    if error <= most:
        return None
    judged = Accuracy(reference="central differences, float64, at other inputs", relative_error=error, tolerance=most)
    message = f"{after}, the {prepared.cell.derivative} {of_route} is off by {error:.1e} relative{stuck}"
    return Result(status="wrong-gradient", message=message, accuracy=judged)


def _alike(one: Reading, other: Reading, expected: Expected, most: float) -> bool:
    """Whether two readings are of the same inputs, as far as each tells."""
    if one.value is not None and other.value is not None and _off(one.value, other.value, expected.scale, most):
        return False
    pairs = list(zip(one.result or (), other.result or (), strict=True))
    return all(_largest(a - b) <= most * _largest(b) for a, b in pairs)


def _largest(part: Any) -> float:
    if isinstance(part, float):
        return abs(part)
    from gradmark.measure.worker.asked import entries

    return float(abs(entries(part)).max(initial=0.0))


def _slope_error(prepared: Prepared, gradient: Sequence[Any], slope: float, other: Sequence[Any]) -> float:
    """The error of a derivative along one direction of all inputs, relative to what it is made of."""
    if prepared.cell.derivative != USUAL_DERIVATIVE:
        from gradmark.measure.reference import flat, probes
        from gradmark.measure.worker.asked import whole

        one = probes.overall(prepared.derivative, flat.sizes_of(prepared.workload, prepared.inputs))
        result = whole(gradient)
        size = one.size(result, 0)
        error = abs(float(one.read(result)[0]) - slope) / (max(abs(slope), size) or 1.0)
        return min(error, accuracy.HUGE) if math.isfinite(error) else accuracy.HUGE
    along = elsewhere.direction(prepared.workload, other)
    parts = [_product(part, along[place]) for place, part in zip(prepared.active, gradient, strict=True)]
    size = math.sqrt(sum(squares for _, squares in parts))
    error = abs(math.fsum(total for total, _ in parts) - slope) / (max(abs(slope), size) or 1.0)
    return min(error, accuracy.HUGE) if math.isfinite(error) else accuracy.HUGE


def _product(part: Any, along: Any) -> tuple[float, float]:
    """The sum of products, and of their squares."""
    product = part * along
    return (product, product**2) if isinstance(product, float) else (float(product.sum()), float((product**2).sum()))
