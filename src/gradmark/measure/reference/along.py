"""Along: the reference of every derivative, along the directions of its probes. No derivative rule is involved.

In: a workload, its inputs, what was asked for and the probes. Out: what each probe must give: of numbers at 50 digits,
by one-sided differences at higher precision; of arrays by differences in float64, extrapolated. And how far a result is
off.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradmark.engines.numpy_arrays import in_doubles
from gradmark.engines.protocol import Derivative
from gradmark.errors import InvalidWorkloadError, UnsupportedError
from gradmark.measure.reference import exact
from gradmark.measure.reference.directional import TOLERANCE
from gradmark.measure.reference.exact import DIGITS, EXACT, HUGE, KINK, RANDOM, STEP_EXPONENT, Exact, NoReferenceError
from gradmark.measure.reference.flat import Vector, in_floats, joined, point_of
from gradmark.measure.reference.probes import DIRECTIONS, Probes
from gradmark.measure.reference.slope import FIRST_STEP, mixed, slope
from gradmark.records import Accuracy, Param
from gradmark.records.derivative import FACTS, SPARSE_ONES
from gradmark.workloads.workload import Workload

DIFFERENCES = f"central differences, float64, {DIRECTIONS} directions of each input"
# Differences that leave more doubt than this, relative to the largest of their group, are no reference: a third of the
# tolerance of float64. Second differences lose half of what first ones keep.
USABLE = {1: 3e-8, 2: 3e-7}
# A number below a hundredth of the largest is judged as if it were that: what cancels is made of roundings.
SMALL = 0.01
# By how much wider second derivatives are judged: a product more, and a cancellation.
SECOND = 10.0


@dataclass(frozen=True)
class Reference:
    """What each probe must give: a number and, of exact ones, what is left to it, else how far it may be off."""

    numbers: Exact
    name: str

    @property
    def is_exact(self) -> bool:
        """Whether it has more digits than a double."""
        return EXACT in self.name


def reference_of(
    workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative, probes: Probes
) -> Reference:
    """The reference. Functions of numbers that mpmath cannot run get differences."""
    if workload.kind == "scalar":
        try:
            numbers = _at_50_digits(workload, inputs, params, derivative, probes)
            several = "s" * (len(numbers) != 1)
            return Reference(numbers, EXACT if probes.entries else f"{EXACT}, {len(numbers)} direction{several}")
        except (TypeError, AttributeError, ValueError, ZeroDivisionError):
            pass
    return Reference(_by_differences(workload, inputs, params, derivative, probes), DIFFERENCES)


# --- 50 digits


class _Digits:
    """The function of numbers at high precision, at a step along directions; each point is evaluated once."""

    def __init__(self, workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> None:
        from mpmath import mp

        self.mp = mp
        self.f = functools.partial(workload.function, exact.namespace(), **params)
        self.point = [mp.mpf(x) for x in inputs]
        self.step = mp.mpf(10) ** STEP_EXPONENT
        self.kept: dict[tuple[bytes, ...], list[Any]] = {}
        self.points: dict[tuple[bytes, ...], list[Any]] = {}

    def at(self, side: int, *directions: Vector) -> list[Any]:
        """The results a step away along all of the directions together; not numbers where it is not defined."""
        key = (bytes([side + 1]), *(direction.tobytes() for direction in directions))
        if key not in self.kept:
            try:
                result = self.f(*self._moved(side, *directions))
            except (ArithmeticError, ValueError):
                raise NoReferenceError("the function is not defined on both sides of its inputs") from None
            numbers = [self.mp.mpmathify(y) for y in (result if isinstance(result, list | tuple) else [result])]
            if not all(isinstance(y, self.mp.mpf) for y in numbers):  # complex numbers have no order
                raise NoReferenceError("the function is not real on both sides of its inputs")
            self.kept[key] = numbers
        return self.kept[key]

    def _moved(self, side: int, *directions: Vector) -> list[Any]:
        """The point moved along one direction after another: the sum of two would be rounded as doubles are."""
        if not directions:
            return self.point
        key = (bytes([side + 1]), *(direction.tobytes() for direction in directions))
        if key not in self.points:
            before, step = self._moved(side, *directions[:-1]), side * self.step
            self.points[key] = [x + step * d if d else x for x, d in zip(before, directions[-1].tolist(), strict=True)]
        return self.points[key]

    def first(self, side: int, u: Vector) -> list[Any]:
        """The slopes of all results along u, to one side."""
        return [(y - z) / (side * self.step) for y, z in zip(self.at(side, u), self.at(0), strict=True)]

    def second(self, side: int, u: Vector, v: Vector) -> Any:
        """The mixed second derivative along u and v, to one side: 60 of the 250 digits are lost."""
        corners = (self.at(side, v, u), self.at(side, u), self.at(side, v), self.at(0))
        both, one, other, middle = (values[0] for values in corners)
        return ((both - one) - (other - middle)) / self.step**2

    def refuse_kinks(self, name: str, *directions: Vector) -> None:
        """Raises where a first derivative jumps: to both sides, the second ones may be the same all the same."""
        for direction in directions:
            right, left = (self.first(side, direction)[0] for side in (1, -1))
            if abs(right - left) > KINK * max(abs(right), abs(left), 1):
                raise NoReferenceError(kink(name))


def _at_50_digits(
    workload: Workload, inputs: Sequence[float], params: Mapping[str, Param], derivative: Derivative, probes: Probes
) -> Exact:
    from mpmath import mp

    with mp.workdps(DIGITS):
        digits = _Digits(workload, inputs, params)
        if digits.at(0) != [mp.mpmathify(y) for y in _as_list(digits.f(*digits.point))]:
            raise InvalidWorkloadError(RANDOM)
        numbers = []
        for along, beside in zip(probes.along, probes.beside, strict=True):
            if FACTS[derivative.name].order == 1:
                right, left = (_weighted(digits.first(side, along), beside) for side in (1, -1))
            else:
                digits.refuse_kinks(derivative.name, along, beside)
                right, left = (digits.second(side, along, beside) for side in (1, -1))
            if not (mp.isfinite(right) and mp.isfinite(left)):
                raise NoReferenceError(f"the {derivative.name} is not finite at the inputs")
            if abs(right - left) > KINK * max(abs(right), abs(left), 1):
                raise NoReferenceError(kink(derivative.name))
            number = (right + left) / 2
            high = float(number)
            if not math.isfinite(high):
                raise NoReferenceError(f"the {derivative.name} is not finite at the inputs")
            numbers.append((high, float(number - high)))
        return numbers


def kink(name: str) -> str:
    """Why there is no reference where a derivative jumps."""
    return f"the function has a kink at its inputs: the {name} does not settle"


def _as_list(result: Any) -> Sequence[Any]:
    return result if isinstance(result, list | tuple) else [result]


def _weighted(results: Sequence[Any], weights: Vector) -> Any:
    return sum(y * weight for y, weight in zip(results, weights.tolist(), strict=True) if weight)


# --- float64


def _by_differences(
    workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative, probes: Probes
) -> Exact:
    try:
        f = in_floats(workload, inputs, params)
        point = point_of(workload, inputs)
        if not np.array_equal(f(point), f(point), equal_nan=True):
            raise InvalidWorkloadError(RANDOM)
        numbers = [difference(f, point, derivative, probes, place) for place in range(len(probes.lefts))]
    except (UnsupportedError, ArithmeticError, ValueError, TypeError, AttributeError) as error:
        raise NoReferenceError(f"plain numbers give no reference: {error}") from error
    scales = scales_of([value for value, _ in numbers], probes.groups)
    for (value, doubt), scale in zip(numbers, scales, strict=True):
        if not doubt <= USABLE[FACTS[derivative.name].order] * scale:  # and if one is not a number
            raise NoReferenceError(f"differences do not settle: a number is {value:.6g} ± {doubt:.1g}")
    return numbers


def difference(
    f: Callable[[Vector], Vector],
    point: Vector,
    derivative: Derivative,
    probes: Probes,
    place: int,
    first_step: float = FIRST_STEP,
) -> tuple[float, float]:
    """What one probe must give, and how far that may be off."""
    along, beside = probes.along[place], probes.beside[place]
    if FACTS[derivative.name].order == 1:
        return slope(lambda t: float(f(point + t * along) @ beside), first_step)
    return mixed(lambda s, t: float(f(point + s * along + t * beside)[0]), first_step)


def exactly(
    workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative
) -> Vector | None:
    """The exact derivative, where the workload has one, as a vector or a matrix in doubles."""
    directions = [np.asarray(part, dtype=np.float64) for part in derivative.tangents]
    if derivative.cotangent is not None:
        directions = [np.asarray(derivative.cotangent, dtype=np.float64)]
    if workload.kind == "scalar":
        point, directions = [point_of(workload, inputs)], [np.array(directions)] if derivative.tangents else directions
    else:
        point = in_doubles(workload, inputs, params)[1]
    known = workload.exactly(derivative.name, point, directions, params)
    if known is None or FACTS[derivative.name].form in ("matrix", "sparse"):
        return known
    return joined(known if isinstance(known, list | tuple) else [known])


def judge_exactly(
    result: Vector, known: Vector, reference: Reference, derivative: Derivative, dtype: str, tolerance: float
) -> Accuracy:
    """How far the worst entry of a result is from the exact derivative, relative to the largest.

    The name keeps that of the reference before it, by which the next process knows how many digits that has.
    """
    if derivative.name in SPARSE_ONES:  # their differences are sparse too
        from scipy.sparse import csr_matrix

        known = csr_matrix(known)
    apart = abs(result - known).max() / (abs(known).max() or 1.0)
    widest = TOLERANCE[dtype] if dtype != "float64" else 0.0
    error = float(apart) if math.isfinite(apart) else HUGE
    return Accuracy(
        reference=f"exact {derivative.name}, float64; {reference.name.rpartition('; ')[2]}",
        relative_error=min(error, HUGE),
        tolerance=max(tolerance, widest * (SECOND if FACTS[derivative.name].order == 2 else 1.0)),
    )


def scales_of(values: Sequence[float], groups: Sequence[int]) -> list[float]:
    """What the error of each number is relative to: the largest of its group."""
    sizes = [abs(value) for value in values]
    least = SMALL * max(sizes) or 1.0
    largest: dict[int, float] = {}
    for size, group in zip(sizes, groups, strict=True):
        largest[group] = max(least, size, largest.get(group, 0.0))
    return [largest[group] for group in groups]


# --- judging


def judge(
    probes: Probes, result: Vector, reference: Reference, derivative: Derivative, dtype: str, tolerance: float
) -> tuple[Accuracy, int]:
    """How far a result is from its reference, and in which group of numbers most."""
    order = FACTS[derivative.name].order
    if not reference.is_exact:
        widest = TOLERANCE.get(dtype, 0.0) * (SECOND if order == 2 else 1.0)
        tolerance = max(tolerance, widest)
    got = probes.read(result)
    if reference.is_exact and probes.entries:
        return exact.judge(got.tolist(), reference.numbers, reference.name, tolerance), 0
    scales = scales_of([value for value, _ in reference.numbers], probes.groups)
    errors = []
    for value, (high, rest), scale, group in zip(got.tolist(), reference.numbers, scales, probes.groups, strict=True):
        apart = abs((value - high) - (rest if reference.is_exact else 0.0)) / scale
        errors.append((min(apart, HUGE) if math.isfinite(apart) else HUGE, group))
    error, group = max(errors)
    return Accuracy(reference=reference.name, relative_error=error, tolerance=tolerance), group
