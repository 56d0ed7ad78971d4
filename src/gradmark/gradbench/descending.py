"""Descending: GradBench's particle and saddle are whole descents; every step of them asks for a derivative.

In: an engine, the function that goes down, and the modes: outer of the descent, inner of the derivatives inside the
function. Out: a function that goes down from the start to the end, and gives where that is.
"""

from collections.abc import Callable, Sequence
from typing import Any

from gradmark.engines.floats import FLOATS
from gradmark.gradbench.point import Asked, Point, Run, differentiating, finished
from gradmark.workloads.gradbench.descents import Descent
from gradmark.workloads.literature.descent import lowest
from gradmark.workloads.workload import Workload

# By the letters of a function: `fr` goes down by forward mode on a function that has reverse mode inside.
WORDS = {"f": "forward", "r": "reverse"}
MODES = tuple(outer + inner for outer in WORDS for inner in WORDS)
Value = Callable[[Sequence[float]], float]
Slope = Callable[[Sequence[float]], Sequence[float]]


def prepared(asked: Asked, workload: Workload, descent: Descent, function: str, given: Any) -> Run:
    """The descent of a function of the eval, ready to be run; it gives where each of its parts ends."""
    outer, inner = WORDS[function[0]], WORDS[function[1]]
    start = descent.start(given)
    value, slope = _sides(Point(asked, workload, list(start), {"inner": inner}), outer)

    def run() -> list[float]:
        end = [float(x) for x in lowest(FLOATS, value, slope, start)]
        if descent.inside is None:
            return end
        within = _sides(Point(asked, descent.inside(workload, end), list(start), {"inner": inner}), outer)
        return [*end, *(float(y) for y in lowest(FLOATS, *within, start))]

    return run


def _sides(point: Point, mode: str) -> tuple[Value, Slope]:
    """A function and its gradient wherever they are asked for, by one gradient or by a tangent for each input."""
    evaluating = point.evaluating()
    assert evaluating.primal is not None  # `evaluating` has seen to it
    evaluate = finished(evaluating, [evaluating.primal])
    units = [[float(k == j) for k in range(len(point.inputs))] for j in range(len(point.inputs))]
    sessions = [point.session()] if mode == "reverse" else [point.session("jvp", unit) for unit in units]
    runs = [differentiating(session) for session in sessions]

    def value(x: Sequence[float]) -> float:
        point.move([evaluating], x)
        return float(point.value(evaluate()))

    def slope(x: Sequence[float]) -> Sequence[float]:
        point.move(sessions, x)
        for run in runs:
            run()
        if mode == "reverse":
            return [float(g) for g in sessions[0].gradients()]  # type: ignore[misc]  # sessions of gradients give them
        return [float(session.result()) for session in sessions]  # type: ignore[misc]

    return value, slope
