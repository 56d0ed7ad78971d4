"""Testing: is a gradient what the function's own values say it is?

In: a function and a point. Out: nothing, or a `GradientError` that names the input and both numbers.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import GradientError
from tapegrad.tensor.differentiate import flat, rebuilt
from tapegrad.transforms import value_and_grad

# Step sizes from a quarter of the scale down; each is half the one before. Twelve of them reach 1e-4, where the
# rounding of central differences (1e-16/1e-4) is below what extrapolation has gained.
FIRST_STEP = 0.25
STEPS = 12


def check_grads(f: Callable[..., Any], *args: Any, tolerance: float = 1e-6) -> None:
    """Raises `GradientError` unless the gradient of f at args agrees with f's own values.

    Every input is moved by itself: central differences over a sweep of steps, extrapolated to step zero (Ridders'
    method), which also estimates its own error. The derivative must agree within `tolerance` relative to the larger
    of it and 1. Where the differences do not settle to that, the function is not smooth there, and that is an error
    too: doubt is not a pass. f is called with plain numbers as well as with `Var`s.

    >>> import tapegrad, tapegrad.testing
    >>> tapegrad.testing.check_grads(lambda x, y: x * tapegrad.exp(y), 2.0, 0.5)
    """
    value, gradients = value_and_grad(f, tuple(range(len(args))))(*args)
    plain = float(f(*args))
    if not math.isfinite(value):
        raise GradientError(f"the function gives {value!r} there, which has no derivative: check at another point")
    if not _close(value, plain, 1e-12):
        raise GradientError(f"the function gives {value!r} on Vars and {plain!r} on plain numbers at the same point")
    numbers = _numbers(args)
    for index, (number, derivative) in enumerate(zip(numbers, _numbers(gradients), strict=True)):

        def along(moved: float, index: int = index) -> float:
            return float(f(*_replaced(args, index, moved)))

        # on the scale of 1 first; if that does not settle, on the scale of the input: at 1e-4, log bends within 1e-4
        expected, error = ridders(along, number, max(1.0, abs(number)))
        if not _settled(expected, error, tolerance) and number:
            expected, error = ridders(along, number, abs(number))
        if not _settled(expected, error, tolerance):
            raise GradientError(
                f"finite differences do not settle at input {index} = {number!r}: {expected!r} ± {error:.1e}; "
                "the function is not smooth there or its values are noisy: check at another point"
            )
        if not _close(derivative, expected, tolerance):
            raise GradientError(
                f"the derivative with respect to input {index} = {number!r} is {derivative!r}, "
                f"but the function's values give {expected!r} ± {error:.1e}"
            )


def _settled(slope: float, error: float, tolerance: float) -> bool:
    return error <= tolerance * max(1.0, abs(slope))


def ridders(f: Callable[[float], float], x: float, scale: float) -> tuple[float, float]:
    """The derivative of f at x by Ridders' extrapolated central differences, and an estimate of its error.

    scale: the distance over which f may bend; the first step is a quarter of it.
    """
    best, error = float("nan"), float("inf")
    above: list[float] = []
    for level in range(STEPS):
        step = FIRST_STEP * 0.5**level * scale
        step = (x + step) - x  # exactly representable, so that x ± step is where we think it is
        row = [(f(x + step) - f(x - step)) / (2.0 * step)]
        for order, coarser in enumerate(above, start=1):
            # errors of central differences go with step², step⁴, …; halving the step divides them by 4, 16, …
            row.append(row[-1] + (row[-1] - coarser) / (4.0**order - 1.0))
            apart = max(abs(row[-1] - row[-2]), abs(row[-1] - coarser))
            if apart < error:
                best, error = row[-1], apart
        above = row
    return best, error


def _close(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * max(1.0, abs(b))


def _numbers(tree: Any) -> list[float]:
    """All numbers of a structure, those of its arrays in order."""
    return [x for value in flat(tree) for x in np.asarray(value, dtype=np.float64).ravel().tolist()]


def _replaced(tree: Any, index: int, number: float) -> Any:
    """The structure with its number at this position replaced; arrays become float64, or the step would be lost."""
    leaves: list[Any] = []
    position = 0
    for old in flat(tree):
        start, position = position, position + np.size(old)
        inside = start <= index < position
        if isinstance(old, np.ndarray):
            leaves.append(old.astype(np.float64))
            if inside:
                leaves[-1].flat[index - start] = number
        else:
            leaves.append(number if inside else old)
    return rebuilt(tree, iter(leaves))
