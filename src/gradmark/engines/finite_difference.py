"""Finite differences: an engine without rules, and so an independent oracle."""

from collections.abc import Mapping, Sequence
from functools import partial

from gradmark.engines.protocol import Capabilities, Session
from gradmark.engines.python_floats import FLOATS, bound
from gradmark.records import Param
from gradmark.workloads.workload import Workload

# The cube root of the rounding unit balances rounding and truncation of central differences; extrapolating them takes
# away what truncation is left for functions that bend faster than their scale.
STEP = 2.0**-17


class FiniteDifference:
    """Central differences at two steps, extrapolated (Richardson): four evaluations for each input."""

    name = "finite-difference"

    def capabilities(self) -> Capabilities:
        """Good to about ten digits at best; its own tolerance says so."""
        return Capabilities(tolerance=1e-6)

    def prepare(self, workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> Session:
        """Forward is one evaluation, backward the 4n others."""
        f = partial(workload.function, FLOATS, **params)
        found = [0.0] * len(inputs)

        def difference(k: int, step: float) -> float:
            moved = list(inputs)
            moved[k] = high = inputs[k] + step
            above = f(*moved)
            moved[k] = low = inputs[k] - step
            return float((above - f(*moved)) / (high - low))

        def backward() -> None:
            for k, x in enumerate(inputs):
                step = STEP * max(1.0, abs(x))
                found[k] = (4.0 * difference(k, step / 2) - difference(k, step)) / 3.0

        evaluate = bound(workload, FLOATS, inputs, params)
        return Session(primal=evaluate, forward=evaluate, backward=backward, gradients=lambda: found)
