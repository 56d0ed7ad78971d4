"""Plain Python floats: the function without derivatives, and what finite differences are made of.

Out: `FLOATS`, the operations of a scalar workload on floats; `gradmark.plain.floats` to those who write a `primal`.
"""

import math
from collections.abc import Mapping, Sequence

from gradmark.engines.nested import gradient_of
from gradmark.engines.protocol import Capabilities, Session, bound, namespace
from gradmark.records import Param
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS
from gradmark.workloads.workload import Workload


def sigmoid(x: float) -> float:
    """1/(1 + e^-x), without overflow."""
    e = math.exp(-abs(x))
    return (1.0 if x >= 0 else e) / (1.0 + e)


def softplus(x: float) -> float:
    """log(1 + e^x), without overflow."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


OTHERS = {
    "sigmoid": sigmoid,
    "softplus": softplus,
    "relu": lambda x: max(x, 0.0),
    "abs": abs,
    "maximum": max,
    "minimum": min,
    "where": lambda condition, x, y: x if condition else y,
    "constant": float,
}
FLOATS = namespace({name: OTHERS.get(name) or getattr(math, name) for name in SCALAR_FUNCTIONS}, "python-floats")
FLOATS.gradient_of = gradient_of(FLOATS)  # type: ignore[attr-defined]


class PythonFloats:
    """The function alone, on floats and Python's math module."""

    name = "python-floats"

    def capabilities(self) -> Capabilities:
        """Only the primal."""
        return Capabilities(gradients=False, reason="python-floats evaluates only")

    def prepare(self, workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> Session:
        """The bound function."""
        return Session(primal=bound(workload, FLOATS, inputs, params))
