"""The scalar suite: small functions of numbers, each hard on one part of an engine."""

import functools
import random
from collections.abc import Callable
from itertools import repeat
from typing import Any

from gradmark.workloads.workload import workload

# Three decades; seven sizes, because four do not show a small quadratic part.
SIZES = [10, 30, 100, 300, 1000, 3000, 10_000]
COEFFICIENTS = [1.0 / (k + 1) for k in range(SIZES[-1])]


def _with_coefficients(draw: random.Random, n: int) -> list[float]:
    """The input of `poly`. Larger sizes than the usual get their coefficients here, where nothing is timed.

    The last adjoint of Horner's rule is x to the power of n. Beyond 1,000 terms x moves towards 1, so that no adjoint
    becomes subnormal: some processors multiply subnormal numbers as fast as others at one moment and take twenty cycles
    more at the next.
    """
    COEFFICIENTS.extend(1.0 / (k + 1) for k in range(len(COEFFICIENTS), n))
    return [draw.uniform(0.5, 1.0) ** min(1.0, 1000.0 / n)]


# The function of a chain's step, and how many operations it is. A step is y + f(y)/100: with it the derivative stays
# near 1 over the whole chain; f(f(f(x))) would have one of 1e-30, of which nobody could say whether it is right.
STEPS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "exp": (lambda ops, y: ops.exp(-y), 2),
    "expm1": (lambda ops, y: ops.expm1(-y), 2),
    "log": (lambda ops, y: ops.log(y), 1),
    "log1p": (lambda ops, y: ops.log1p(y), 1),
    "sqrt": (lambda ops, y: ops.sqrt(y), 1),
    "sin": (lambda ops, y: ops.sin(y), 1),
    "cos": (lambda ops, y: ops.cos(y), 1),
    "tan": (lambda ops, y: ops.tan(y * 0.3), 2),
    "asin": (lambda ops, y: ops.asin(y * 0.25), 2),
    "acos": (lambda ops, y: ops.acos(y * 0.25), 2),
    "atan": (lambda ops, y: ops.atan(y), 1),
    "sinh": (lambda ops, y: ops.sinh(y * 0.3), 2),
    "cosh": (lambda ops, y: ops.cosh(y * 0.3), 2),
    "tanh": (lambda ops, y: ops.tanh(y), 1),
    "sigmoid": (lambda ops, y: ops.sigmoid(y), 1),
    "softplus": (lambda ops, y: ops.softplus(y), 1),
    "erf": (lambda ops, y: ops.erf(y), 1),
    "pow": (lambda ops, y: y**0.7, 1),  # noqa: ARG005  an operator
    "hypot": (lambda ops, y: ops.hypot(y, 1.0), 1),
    "atan2": (lambda ops, y: ops.atan2(y, 2.0), 1),
}
CHAIN = 100


@workload(suite="scalar", stresses="fixed cost of an evaluation", operations=lambda: 3)
def expression(ops: Any, x: Any) -> Any:
    """x² + sin x."""
    return x * x + ops.sin(x)


@workload(
    suite="scalar",
    stresses="recording, backward, scaling",
    sizes={"n": SIZES},
    quick={"n": [10, 100, 1000, 10_000]},
    inputs=_with_coefficients,
    operations=lambda n: 2 * n,
)
def poly(ops: Any, x: Any, *, n: int) -> Any:  # noqa: ARG001  plain arithmetic needs no ops
    """A polynomial of n terms by Horner's rule."""
    total = 0.0
    for c in COEFFICIENTS[:n]:
        total = total * x + c
    return total


@workload(suite="scalar", stresses="cheapest operation", sizes={"n": [1000]}, operations=lambda n: n)
def add_chain(ops: Any, x: Any, *, n: int) -> Any:  # noqa: ARG001
    """Repeated addition."""
    y = x
    for _ in repeat(None, n):  # not range: its numbers above 256 are allocations
        y = y + x
    return y


@workload(
    suite="scalar",
    stresses="operation that keeps both operands",
    sizes={"n": [1000]},
    inputs=lambda draw: [draw.uniform(0.9999, 1.0001)],
    operations=lambda n: n,
)
def mul_chain(ops: Any, x: Any, *, n: int) -> Any:  # noqa: ARG001
    """Repeated multiplication."""
    y = x
    for _ in repeat(None, n):
        y = y * x
    return y


@workload(
    suite="scalar",
    stresses="one function of the C library",
    sizes={"f": list(STEPS)},
    quick={"f": ["exp", "log", "sin", "tanh", "pow"]},
    operations=lambda f: CHAIN * (STEPS[f][1] + 2),
)
def chain(ops: Any, x: Any, *, f: str) -> Any:
    """A chain of 100 steps with one function each."""
    function, _ = STEPS[f]
    y = x
    for _ in range(CHAIN):
        y = y + 0.01 * function(ops, y)
    return y


@functools.cache
def leaves(depth: int) -> list[int]:
    """Which of the four inputs stands at each leaf; drawn once, because drawing costs more than evaluating."""
    draw = random.Random(depth)
    return [draw.randrange(4) for _ in range(2**depth)]


@functools.cache
def levels(depth: int) -> list[list[int]]:
    """The kind of each inner node, level by level from the leaves."""
    draw = random.Random(-depth)
    return [[draw.randrange(4) for _ in range(2**level)] for level in range(depth - 1, -1, -1)]


def combine(kind: int, ops: Any, left: Any, right: Any) -> Any:
    """One inner node: smooth everywhere, and nothing squares its operands, so that ten levels do not overflow."""
    if kind == 0:
        return left + right
    if kind == 1:
        return left - right
    return ops.sin(left) * right if kind == 2 else ops.tanh(left) + right


@workload(
    suite="scalar",
    stresses="branching expressions",
    sizes={"depth": [2, 4, 6, 8, 10]},
    quick={"depth": [2, 6, 10]},
    inputs=lambda draw: [draw.uniform(0.5, 1.0) for _ in range(4)],
    operations=lambda depth: sum(1 + (kind >= 2) for kinds in levels(depth) for kind in kinds),
)
def tree(ops: Any, *xs: Any, depth: int) -> Any:
    """A random binary expression over four inputs, the same for every engine."""
    values = [xs[leaf] for leaf in leaves(depth)]
    for kinds in levels(depth):
        values = [combine(kind, ops, values[2 * k], values[2 * k + 1]) for k, kind in enumerate(kinds)]
    return values[0]


@workload(suite="scalar", stresses="reuse of the tape's memory", also=[":fresh"], operations=lambda: 14)
def reuse(ops: Any, x: Any) -> Any:
    """Fourteen operations, on a reused and on a fresh tape."""
    y = ops.exp(-x * x)
    z = ops.sin(y + x) / (1.0 + y)
    return z * z + ops.sqrt(1.0 + x * y) - z * 0.5


@workload(
    suite="scalar",
    stresses="accumulation at shared values",
    sizes={"k": [4, 8, 16, 32]},
    quick={"k": [4, 16]},
    operations=lambda k: k + 1,
)
def shared(ops: Any, x: Any, *, k: int) -> Any:
    """sin x doubled k times: 2^k paths through k + 1 operations."""
    y = ops.sin(x)
    for _ in range(k):
        y = y + y
    return y


@workload(
    suite="scalar",
    stresses="operations that need no derivative",
    sizes={"n": [1000]},
    operations=lambda n: n // 100 * 100,
)
def constants(ops: Any, x: Any, *, n: int) -> Any:
    """99 operations on constants to each one on a variable."""
    y, c = x, ops.constant(1.0)
    for _ in range(n // 100):
        for _ in range(33):
            c = (c + 2.0) * 0.5 - 0.25
        y = y * c
    return y


@workload(
    suite="scalar",
    stresses="agreement with finite differences",
    inputs=lambda draw: [draw.uniform(0.5, 1.5) for _ in range(3)],
    also=["finite-difference"],
    operations=lambda: 13,
)
def difference_check(ops: Any, x: Any, y: Any, z: Any) -> Any:
    """Three inputs through most kinds of operations, beside central differences."""
    return ops.exp(x * 0.5) * ops.tanh(y - z) + ops.log(x + y * z) / ops.sqrt(z) + x**2.5
