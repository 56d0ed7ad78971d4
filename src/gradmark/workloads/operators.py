"""The operators: every scalar operation alone, in the same loop, beside the loop without it."""

from collections.abc import Callable
from typing import Any

from gradmark.workloads.vocabulary import BINARY, UNARY
from gradmark.workloads.workload import workload

POINTS = 50
# The loop alone: what is measured of an operation is what it adds to this.
BASELINE = "nothing"

OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    BASELINE: lambda ops, x, y: x,  # noqa: ARG005
    "add": lambda ops, x, y: x + y,  # noqa: ARG005
    "sub": lambda ops, x, y: x - y,  # noqa: ARG005
    "mul": lambda ops, x, y: x * y,  # noqa: ARG005
    "div": lambda ops, x, y: x / y,  # noqa: ARG005
    "pow": lambda ops, x, y: x**y,  # noqa: ARG005
    "neg": lambda ops, x, y: -x,  # noqa: ARG005
}


def _unary(name: str) -> Callable[[Any, Any, Any], Any]:
    return lambda ops, x, y: getattr(ops, name)(x)  # noqa: ARG005


def _binary(name: str) -> Callable[[Any, Any, Any], Any]:
    return lambda ops, x, y: getattr(ops, name)(x, y)


OPERATIONS.update({name: _unary(name) for name in UNARY})
OPERATIONS.update({name: _binary(name) for name in BINARY})
OPERATIONS["where"] = lambda ops, x, y: ops.where(x < y, x, y)


@workload(
    suite="operators",
    stresses="one operation",
    sizes={"operation": list(OPERATIONS)},
    inputs=lambda draw: [draw.uniform(0.1, 0.9) for _ in range(2 * POINTS)],
    operations=lambda operation: 2 * POINTS,  # noqa: ARG005  the operation and an addition, at each point
)
def operator(ops: Any, *xs: Any, operation: str) -> Any:
    """The sum of an operation over 50 pairs of inputs: each derivative is that of one operation."""
    apply = OPERATIONS[operation]
    total = 0.0
    for x, y in zip(xs[:POINTS], xs[POINTS:], strict=True):
        total = total + apply(ops, x, y)
    return total
