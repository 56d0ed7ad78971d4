"""particle: where a charge crosses the axis that two others push it towards, and how that depends on one of them.

    p(x; w) = 1/|x - (10, 0)| + 1/|x - (10, 10 - w)|,  x'' = -∇p,  x(0) = (0, 8),  x'(0) = (¾, 0)

by Euler's method with steps of 0.1 until x₁ < 0, from the last point before it in a straight line. The result is the
square of where it crosses, at w = 0. ∇p is a derivative inside the function, taken in the mode `inner`, and an
engine's jvp or gradient by w goes through it: the four pairs of modes are GradBench's ff, fr, rf and rr, outer mode
first. GradBench times the whole descent to the best w, 0.2071918746; here a row is one derivative of it. Source:
GradBench, evals/particle, after Pearlmutter and Siskind (2008), https://doi.org/10.1007/978-3-540-68942-3_8.
"""

from typing import Any

from gradmark.workloads.workload import workload

STEP = 0.1


@workload(
    suite="literature",
    stresses="a derivative inside a function, in a loop that ends when a number says so",
    sizes={"inner": ["forward", "reverse"]},
    quick={"inner": ["reverse"]},
    inputs=lambda draw: [0.0],  # noqa: ARG005
    derivatives=["gradient", "jvp"],
)
def particle(ops: Any, w: Any, *, inner: str) -> Any:
    """The square of where a charge crosses the axis."""

    def potential(ops: Any, x: Any, y: Any) -> Any:
        one, other = x - 10.0, y - (10.0 - w)
        return 1.0 / ops.sqrt(one * one + y * y) + 1.0 / ops.sqrt(one * one + other * other)

    def step(state: Any) -> Any:
        x, y, speed_x, speed_y = state
        slope_x, slope_y = ops.gradient_of(potential, [x, y], inner)
        return x + STEP * speed_x, y + STEP * speed_y, speed_x - STEP * slope_x, speed_y - STEP * slope_y

    none = 0.0 * w  # the state is of the same kind of numbers as w from the start, as GradBench's
    start = (none, none + 8.0, none + 0.75, none)
    x, y, speed_x, speed_y = ops.while_loop(lambda state: state[1] + STEP * state[3] >= 0.0, step, start)
    crossing = x - y / speed_y * speed_x
    return crossing * crossing
