"""micrograd: one class of scalars. It has arithmetic, constant powers and relu, and visits its graph by recursion."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from micrograd.engine import Value

from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import Capabilities, Session, bound, namespace
from gradmark.errors import UnsupportedError
from gradmark.records import Param
from gradmark.workloads.workload import Workload

OPS = namespace({"relu": Value.relu, "constant": Value}, "micrograd")


class Micrograd:
    """A second backward on one recording would add to the first, so the two phases go together."""

    name = "micrograd"

    def capabilities(self) -> Capabilities:
        """Numbers."""
        return Capabilities()

    def prepare(self, workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> Session:
        """A new graph in each forward."""
        xs: list[Any] = []
        y: Any = None

        def forward() -> None:
            nonlocal xs, y
            xs = [Value(x) for x in inputs]
            y = workload.function(OPS, *xs, **params)

        def total() -> None:
            forward()
            try:
                y.backward()
            except RecursionError:
                raise UnsupportedError(
                    f"micrograd visits its graph by recursion, and this one is deeper than Python's limit of "
                    f"{sys.getrecursionlimit()}"
                ) from None

        return Session(
            primal=bound(workload, FLOATS, inputs, params),
            forward=forward,
            total=total,
            gradients=lambda: [float(x.grad) for x in xs],
            value=lambda: y.data,
        )
