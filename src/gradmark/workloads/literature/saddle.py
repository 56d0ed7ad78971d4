"""saddle: the largest value over y of a function of x and y, found by a descent inside.

    F(x) = max over y of f(x, y),  f(x, y) = |x|² - |y|²,  x and y of two numbers

y starts at (1, 1) and goes uphill along ∂f/∂y, a derivative inside the function, taken in the mode `inner`; an
engine's jvp or gradient by x goes through the whole descent. The four pairs of modes are GradBench's ff, fr, rf and
rr, outer mode first. GradBench times the outer descent to the saddle at (0, 0); here a row is one derivative of it,
at its start, (1, 1). Source: GradBench, evals/saddle, after Pearlmutter and Siskind (2008),
https://doi.org/10.1007/978-3-540-68942-3_8.
"""

from collections.abc import Sequence
from typing import Any

from gradmark.workloads.literature.descent import lowest
from gradmark.workloads.workload import workload

START = (1.0, 1.0)


def highest(ops: Any, x: Sequence[Any], inner: str) -> Sequence[Any]:
    """Where f is largest for this x."""

    def fall(_ops: Any, u: Any, v: Any) -> Any:
        return (u * u + v * v) - (x[0] * x[0] + x[1] * x[1])

    start = [0.0 * number + one for number, one in zip(x, START, strict=True)]
    return lowest(ops, lambda y: fall(ops, *y), lambda y: ops.gradient_of(fall, list(y), inner), start)


@workload(
    suite="literature",
    stresses="a derivative inside a descent inside a function",
    sizes={"inner": ["forward", "reverse"]},
    quick={"inner": ["reverse"]},
    inputs=lambda draw: list(START),  # noqa: ARG005
    derivatives=["gradient", "jvp"],
)
def saddle(ops: Any, *x: Any, inner: str) -> Any:
    """The largest value over y."""
    u, v = highest(ops, x, inner)
    return (x[0] * x[0] + x[1] * x[1]) - (u * u + v * v)
