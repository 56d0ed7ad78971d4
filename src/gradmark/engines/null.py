"""The null engine: does nothing. Its times are the cost of the harness itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from gradmark.engines.protocol import Capabilities, Session
from gradmark.records import Param
from gradmark.workloads.workload import Workload


class Null:
    """Every call returns at once."""

    name = "null"

    def capabilities(self) -> Capabilities:
        """No gradients: there is nothing to differentiate."""
        return Capabilities(
            kinds=("scalar", "tensor"), dtypes=("float32", "float64"), gradients=False, reason="null computes nothing"
        )

    def prepare(self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:  # noqa: ARG002
        """Empty functions."""

        def nothing() -> None:
            pass

        return Session(primal=nothing, forward=nothing, backward=nothing)
