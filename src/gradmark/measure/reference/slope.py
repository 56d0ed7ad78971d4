"""The slope of a function of one number, by differences in float64: no derivative rule is involved.

In: the function. Out: its derivative at 0, or the mixed second one of a function of two, and how far that may be off.
"""

import math
from collections.abc import Callable

# The sweep: from where a smooth function is extrapolated without loss to where no kink is crossed any more.
FIRST_STEP, SHRINK, STEPS = 2.0**-4, 4.0, 10
# A slope is settled when extrapolating once more changes it by less than this part of it.
SETTLED = 1e-11
EPSILON = 2.0**-52


def slope(f: Callable[[float], float], first_step: float = FIRST_STEP) -> tuple[float, float]:
    """The derivative of f at 0 and its error: central differences, extrapolated over a sweep of steps (Ridders).

    Of all extrapolations that one is taken which differs least from the two that it is made of. What rounding of f may
    add counts as a difference too: at small steps a few roundings can agree by chance.
    """

    def central(step: float) -> tuple[float, float]:
        high, low = f(step), f(-step)
        return (high - low) / (2.0 * step), EPSILON * max(abs(high), abs(low)) / step

    return extrapolated(central, first_step)


def mixed(f: Callable[[float, float], float], first_step: float = FIRST_STEP) -> tuple[float, float]:
    """The derivative of f at (0, 0) by both numbers, and its error: differences over squares, extrapolated."""

    def central(step: float) -> tuple[float, float]:
        corners = [f(step, step), f(-step, -step), f(step, -step), f(-step, step)]
        total = corners[0] + corners[1] - corners[2] - corners[3]
        return total / (4.0 * step * step), EPSILON * max(map(abs, corners)) / (step * step)

    return extrapolated(central, first_step)


def extrapolated(difference: Callable[[float], tuple[float, float]], first_step: float) -> tuple[float, float]:
    """What a difference over a step tends to, and its error. The difference says itself what rounding may add to it."""
    best, error = math.nan, math.inf
    row: list[float] = []
    step = first_step
    for _ in range(STEPS):
        estimate, rounding = difference(step)
        above, row = row, [estimate]
        factor = 1.0
        for before in above:
            factor *= SHRINK * SHRINK
            row.append((factor * row[-1] - before) / (factor - 1.0))
            change = rounding + max(abs(row[-1] - row[-2]), abs(row[-1] - before))
            if change <= error:
                best, error = row[-1], change
        if error <= max(SETTLED * abs(best), rounding):
            break
        step /= SHRINK
    return best, error
