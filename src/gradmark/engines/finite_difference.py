"""Finite differences: an engine without rules, and so an independent oracle."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import Capabilities, Session, bound
from gradmark.errors import UnsupportedError
from gradmark.records import Param
from gradmark.workloads.workload import Workload

# The cube root of the rounding unit balances rounding and truncation of central differences; extrapolating them takes
# away what truncation is left for functions that bend faster than their scale.
STEP = 2.0**-17
# Four evaluations for each entry: beyond this many entries a gradient takes longer than anybody waits for it.
MOST_ENTRIES = 2000


class FiniteDifference:
    """Central differences at two steps, extrapolated (Richardson): four evaluations for each input, or entry of one."""

    name = "finite-difference"

    def capabilities(self) -> Capabilities:
        """Good to about ten digits at best; its own tolerance says so. float32 would leave three digits."""
        return Capabilities(kinds=("scalar", "tensor"), tolerance=1e-6)

    def prepare(self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
        """Forward is one evaluation, backward the 4n others."""
        if workload.kind == "tensor":
            return self._tensors(workload, inputs, params)
        f = partial(workload.function, FLOATS, **params)
        gradients = [0.0] * len(inputs)

        def evaluated(k: int, value: float) -> float:
            moved = list(inputs)
            moved[k] = value
            return float(f(*moved))

        def backward() -> None:
            for k, x in enumerate(inputs):
                gradients[k] = difference(evaluated, k, x)

        evaluate = bound(workload, FLOATS, inputs, params)
        return Session(primal=evaluate, forward=evaluate, backward=backward, gradients=lambda: gradients)

    def _tensors(self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
        from gradmark.engines.numpy_arrays import ARRAYS

        active = workload.active(inputs)
        entries = sum(inputs[k].size for k in active)
        if entries > MOST_ENTRIES:
            raise UnsupportedError(
                f"finite-difference evaluates four times for each of {entries} entries; at most {MOST_ENTRIES} are "
                "differenced: choose a smaller size"
            )
        point = [x.copy() for x in inputs]
        gradients = [inputs[k].copy() for k in active]
        f = bound(workload, ARRAYS, point, params)

        def evaluated(place: tuple[int, tuple[int, ...]], value: float) -> float:
            k, entry = place
            point[k][entry] = value
            result = float(f())
            point[k][entry] = inputs[k][entry]
            return result

        def move(new: Sequence[Any]) -> None:
            for kept, array in zip(point, new, strict=True):
                kept[...] = array

        def backward() -> None:
            for k, gradient in zip(active, gradients, strict=True):
                for entry, x in _entries(inputs[k]):
                    gradient[entry] = difference(evaluated, (k, entry), x)

        evaluate = bound(workload, ARRAYS, inputs, params)
        return Session(primal=evaluate, forward=evaluate, backward=backward, gradients=lambda: gradients, move=move)


def difference(f: Callable[[Any, float], float], place: Any, x: float) -> float:
    """The derivative of f(place, ·) at x."""
    step = STEP * max(1.0, abs(x))
    return (4.0 * _central(f, place, x, step / 2) - _central(f, place, x, step)) / 3.0


def _central(f: Callable[[Any, float], float], place: Any, x: float, step: float) -> float:
    high, low = x + step, x - step
    return (f(place, high) - f(place, low)) / (high - low)


def _entries(array: Any) -> Iterator[tuple[tuple[int, ...], float]]:
    import numpy as np

    return ((place, float(x)) for place, x in np.ndenumerate(array))
