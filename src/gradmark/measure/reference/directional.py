"""Directional derivatives: the reference for tensors, whose gradients are too large to be differenced entry by entry.

In: a tensor workload and its inputs. Out: its slope along random directions of each input, by central differences in
float64 on plain NumPy, and how far a gradient is from these slopes and from the exact gradient where there is one.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradmark.engines.numpy_arrays import in_doubles
from gradmark.errors import InvalidWorkloadError, UnsupportedError
from gradmark.measure.reference.exact import HUGE, RANDOM, NoReferenceError, not_finite
from gradmark.measure.reference.slope import EPSILON, slope
from gradmark.records import Accuracy, Param
from gradmark.workloads.workload import Workload

# Directions of each input. One alone may be nearly at right angles to an error; three hardly all are.
DIRECTIONS = 3
# Differences that leave more doubt than this are no reference: a third of the tolerance in float64.
USABLE = 3e-8
# Steps over which a slope to one side is followed, to see whether it settles or grows without bound.
CLOSER_STEPS = (2.0**-16, 2.0**-24, 2.0**-32)
# Slopes to both sides that differ by this part over the second of these steps are looked at over the third: those of a
# smooth function come together.
KINK = 0.01
# Differences of so many roundings may be chance.
ROUNDINGS = 100.0
# An input whose slopes are below a hundredth of the largest is judged as if they were that: a gradient that cancels, as
# that of a bias before a softmax does, is made of roundings of what cancelled.
SMALL = 0.01
# Largest relative errors. float64: differences leave nine digits or so, of which the last two are not trusted.
# float32: a thousand roundings of 6e-8, which is what the sums of these workloads (products of length 1024, means over
# a batch) can add up to. The engine's own tolerance counts where it is wider.
TOLERANCE = {"float64": 1e-7, "float32": 1e-4}

Slopes = list[tuple[float, float]]


@functools.cache  # a gradient is checked before it is timed and after, and to draw them takes as long as to use them
def directions(shape: tuple[int, ...], place: int) -> list[Any]:
    """Directions in which every entry counts, with either sign, and not all alike: else equal errors would cancel."""
    draws = (np.random.default_rng([place, number]) for number in range(DIRECTIONS))
    numbers = [draw.uniform(-1.0, 1.0, size=shape) for draw in draws]
    return [number + np.copysign(0.5, number) for number in numbers]


def reference_of(workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Slopes:
    """The slopes along each direction of each active input, one input after another, with the error of each."""
    f, point = in_doubles(workload, inputs, params)

    def along(place: int, direction: Any, step: float) -> float:
        return float(f(*point[:place], point[place] + step * direction, *point[place + 1 :]))

    names = workload.names(len(inputs))
    lines = [
        (place, functools.partial(along, place, direction))
        for place in workload.active(inputs)
        for direction in directions(inputs[place].shape, place)
    ]
    try:
        slopes = [slope(line) for _, line in lines]
    except UnsupportedError as lacking:
        raise NoReferenceError(f"plain NumPy cannot run the function: {lacking}") from lacking
    for (value, error), scale, (place, line) in zip(slopes, scales(slopes), lines, strict=True):
        if not error <= USABLE * scale:  # and if one is not a number
            if line(0.0) != line(0.0):
                raise InvalidWorkloadError(RANDOM)
            refuse_bends(functools.partial(along, place, abs(line.args[1])), 0.0, names[place])
            raise NoReferenceError(f"differences do not settle: a slope is {value:.6g} ± {error:.1g}")
    for (place, line), scale in list(zip(lines, scales(slopes), strict=True))[::DIRECTIONS]:
        # every entry the same way, else those at a kink could cancel
        refuse_bends(functools.partial(along, place, abs(line.args[1])), scale, names[place])
    return slopes


def refuse_bends(f: Callable[[float], float], scale: float, name: str) -> None:
    """Raises if f has a kink at 0 or no finite slope: central differences pass over both where they are symmetric."""
    middle = f(0.0)
    right, left = ([(f(side * step) - middle) / (side * step) for step in CLOSER_STEPS] for side in (1.0, -1.0))
    far, near = (ROUNDINGS * EPSILON * abs(middle) / step for step in CLOSER_STEPS[1:])
    if abs(right[1] - left[1]) <= KINK * scale + far:  # not if one is not a number
        return
    for first, second, third in (right, left):
        if abs(third - second) > max(0.5 * abs(second - first), near):
            raise InvalidWorkloadError(not_finite(name))
    if math.isnan(right[2] + left[2]):
        raise NoReferenceError(f"the function is not defined on both sides of {name}")
    if abs(right[2] - left[2]) > max(0.5 * abs(right[1] - left[1]), near):
        raise NoReferenceError(f"the function has a kink at {name}")


def scales(slopes: Slopes) -> list[float]:
    """What the error of each slope is relative to: the largest slope of the same input.

    Not each slope by itself: a direction nearly at right angles to the gradient says little of its size.
    """
    sizes = [abs(value) for value, _ in slopes]
    least = SMALL * max(sizes) or 1.0
    return [max(least, *sizes[k - k % DIRECTIONS :][:DIRECTIONS]) for k in range(len(sizes))]


def judge(
    workload: Workload,
    inputs: Sequence[Any],
    params: Mapping[str, Param],
    got: Sequence[Any],
    slopes: Slopes,
    tolerance: float,
) -> tuple[Accuracy | None, str]:
    """How far a gradient is from the slopes, and from the exact gradient where there is one; and that in words.

    None for a gradient of another shape: it is no number away.
    """
    places, names = workload.active(inputs), workload.names(len(inputs))
    if len(got) != len(places):
        raise ValueError(f"expected {len(places)} gradients, one for each differentiated input, got {len(got)}")
    gradients = [np.asarray(g) for g in got]
    for gradient, place in zip(gradients, places, strict=True):
        if gradient.shape != inputs[place].shape:
            return None, f"with respect to {names[place]} has shape {gradient.shape}, expected {inputs[place].shape}"
    dtype = inputs[places[0]].dtype.name
    error, place = max(_along(gradients, places, slopes))
    judged = Accuracy(
        reference=f"central differences, float64, {DIRECTIONS} directions of each input",
        relative_error=error,
        tolerance=max(tolerance, TOLERANCE[dtype]),
    )
    exact = workload.exact(in_doubles(workload, inputs, params)[1], params)
    if exact is not None and judged.relative_error <= judged.tolerance:
        error, place = max((_apart(g, e), place) for g, e, place in zip(gradients, exact, places, strict=True))
        judged = Accuracy(
            reference="exact gradient, float64",
            relative_error=error,
            tolerance=tolerance if dtype == "float64" else max(tolerance, TOLERANCE[dtype]),
        )
    return judged, f"with respect to {names[place]} is off by {error:.1e} relative"


def _along(gradients: Sequence[Any], places: Sequence[int], slopes: Slopes) -> Iterator[tuple[float, int]]:
    """The error along each direction, and the place of its input."""
    relative_to = scales(slopes)
    for k, (gradient, place) in enumerate(zip(gradients, places, strict=True)):
        for number, direction in enumerate(directions(gradient.shape, place), DIRECTIONS * k):
            own_slope = float(np.sum(gradient * direction, dtype=np.float64))
            yield _finite(abs(own_slope - slopes[number][0]) / relative_to[number]), place


def _apart(gradient: Any, exact: Any) -> float:
    """The largest error of an entry, relative to the largest entry."""
    return _finite(float(np.max(np.abs(gradient - exact))) / (float(np.max(np.abs(exact))) or 1.0))


def _finite(error: float) -> float:
    """An error that JSON can hold and that can be compared: not a number is without bound."""
    return min(error, HUGE) if math.isfinite(error) else HUGE
