"""Finite differences: an engine without rules, and so an independent oracle."""

from collections.abc import Mapping, Sequence
from functools import partial

from gradmark.engines.protocol import Capabilities, Session
from gradmark.engines.python_floats import FLOATS, bound
from gradmark.records import Param
from gradmark.workloads.workload import Workload

# The cube root of the rounding unit balances rounding and truncation of central differences.
STEP = 2.0**-17


class FiniteDifference:
    """Central differences: two evaluations for each input."""

    name = "finite-difference"

    def capabilities(self) -> Capabilities:
        """Good to about ten digits at best; its own tolerance says so."""
        return Capabilities(tolerance=1e-6)

    def prepare(self, workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> Session:
        """Forward is one evaluation, backward the 2n others."""
        f = partial(workload.function, FLOATS, **params)
        found = [0.0] * len(inputs)

        def backward() -> None:
            for k, x in enumerate(inputs):
                moved = list(inputs)
                moved[k] = x + STEP * max(1.0, abs(x))
                above, high = f(*moved), moved[k]
                moved[k] = x - STEP * max(1.0, abs(x))
                found[k] = (above - f(*moved)) / (high - moved[k])

        evaluate = bound(workload, FLOATS, inputs, params)
        return Session(primal=evaluate, forward=evaluate, backward=backward, gradients=lambda: found)
