"""Descent: the gradient descent of GradBench's `particle` and `saddle`, whose path is part of what they compute.

Its steps grow after ten that went down, and halve when one did not. Source: GradBench, cpp/gradbench/gd.hpp, after
Pearlmutter and Siskind, Using Programming Language Theory to Make Automatic Differentiation Sound and Efficient
(2008), https://doi.org/10.1007/978-3-540-68942-3_8.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

START, NEAR, DOWN = 1e-5, 1e-5, 10


class _Path(NamedTuple):
    point: Sequence[Any]
    value: Any
    slope: Sequence[Any]
    rate: float
    steps: int  # that went down at this rate
    arrived: bool


def _length(ops: Any, xs: Sequence[Any]) -> Any:
    total = xs[0] * xs[0]
    for x in xs[1:]:
        total = total + x * x
    return ops.sqrt(total)


def lowest(
    ops: Any, f: Callable[[Sequence[Any]], Any], slope: Callable[[Sequence[Any]], Sequence[Any]], start: Sequence[Any]
) -> Sequence[Any]:
    """Where a function is smallest, from a point on."""

    def step(path: _Path) -> _Path:
        if path.steps == DOWN:
            return path._replace(rate=2.0 * path.rate, steps=0)
        following = [x - path.rate * s for x, s in zip(path.point, path.slope, strict=True)]
        if _length(ops, [x - y for x, y in zip(path.point, following, strict=True)]) <= NEAR:
            return path._replace(arrived=True)
        value = f(following)
        if not value < path.value:
            return path._replace(rate=0.5 * path.rate, steps=0)
        return _at(following, value, slope(following), path.rate, path.steps + 1)

    def _at(point: Sequence[Any], value: Any, slopes: Sequence[Any], rate: float, steps: int) -> _Path:
        return _Path(point, value, slopes, rate, steps, bool(_length(ops, slopes) <= NEAR))

    first = _at(start, f(start), slope(start), START, 0)
    path: _Path = ops.while_loop(lambda path: not path.arrived, step, first)
    return path.point
