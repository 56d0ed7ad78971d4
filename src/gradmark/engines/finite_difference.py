"""Finite differences: an engine without rules, and so an independent oracle."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import Capabilities, Derivative, Session, bound
from gradmark.errors import UnsupportedError
from gradmark.records import DerivativeName, Param
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.workloads.workload import Workload

# The cube root of the rounding unit balances rounding and truncation of central differences; extrapolating them takes
# away what truncation is left for functions that bend faster than their scale.
STEP = 2.0**-17
# Of second derivatives the fourth root, and more because of the extrapolation: rounding is divided by the step twice.
SECOND_STEP = 2.0**-10
# Four evaluations for each entry: beyond this many entries a gradient takes longer than anybody waits for it.
MOST_ENTRIES = 2000
# Evaluations of a second derivative or a Jacobian, likewise.
MOST_EVALUATIONS = 40_000
# "differences" stands for all of them: no pass of an engine is one.
MODES: Mapping[DerivativeName, str] = dict.fromkeys(
    ("gradient", "jvp", "vjp", "jacobian", "hvp", "hessian"), "differences"
)
GRADIENT = Derivative()


class FiniteDifference:
    """Central differences at two steps, extrapolated (Richardson): four evaluations for each input, or entry of one."""

    name = "finite-difference"

    def capabilities(self) -> Capabilities:
        """Good to about ten digits at best; its own tolerance says so. float32 would leave three digits."""
        return Capabilities(kinds=("scalar", "tensor"), derivatives=MODES, tolerance=1e-6, second_tolerance=1e-4)

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """Forward is one evaluation, backward the 4n others."""
        if derivative.name != USUAL_DERIVATIVE:
            return derived(workload, inputs, params, derivative)
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


def _entries(array: Any) -> Any:
    import numpy as np

    return ((place, float(x)) for place, x in np.ndenumerate(array))


# --- other derivatives, on vectors


def derived(workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative) -> Session:
    """Any other derivative: the function as one of a vector, differenced along directions."""
    import numpy as np

    active = workload.active(inputs)
    point = list(inputs)
    if workload.kind == "scalar":
        primal = bound(workload, FLOATS, inputs, params)
        f = partial(workload.function, FLOATS, **params)
    else:
        from gradmark.engines.numpy_arrays import ARRAYS

        primal = bound(workload, ARRAYS, inputs, params)
        f = partial(workload.function, ARRAYS, **params)
    sizes = [np.size(inputs[place]) for place in active]
    ends, count = np.cumsum(sizes)[:-1], sum(sizes)
    _refuse_long(derivative, count)

    def evaluated(moved: Any) -> Any:
        if workload.kind == "scalar":
            return np.asarray(f(*moved.tolist()), dtype=np.float64)
        for place, part in zip(active, np.split(moved, ends), strict=True):
            point[place] = part.reshape(inputs[place].shape)
        return np.ravel(f(*point))

    def flat(parts: Sequence[Any]) -> Any:
        return np.concatenate([np.ravel(part) for part in parts])

    along = flat(derivative.tangents) if derivative.tangents else None
    weights = np.ravel(0.0 if derivative.cotangent is None else derivative.cotangent)
    units = np.eye(0 if derivative.name == "jvp" else count)
    computed: Any = None

    def total() -> None:
        nonlocal computed
        x = flat([inputs[place] for place in active])
        match derivative.name:
            case "jvp":
                computed = slope(evaluated, x, along)
            case "vjp":
                computed = np.array([np.dot(weights, np.atleast_1d(slope(evaluated, x, unit))) for unit in units])
            case "jacobian":
                computed = np.stack([slope(evaluated, x, unit) for unit in units], axis=1)
            case "hvp":
                computed = np.array([bend(evaluated, x, unit, along) for unit in units])
            case "hessian":
                computed = np.empty((count, count))
                for i, j in itertools.combinations_with_replacement(range(count), 2):
                    computed[i, j] = computed[j, i] = bend(evaluated, x, units[i], units[j])

    def result() -> Any:
        if derivative.name in ("vjp", "hvp"):
            if workload.kind == "scalar":
                return computed.tolist()
            parts = np.split(computed, ends)
            return [part.reshape(inputs[place].shape) for place, part in zip(active, parts, strict=True)]
        return computed.reshape(derivative.shape) if derivative.name == "jvp" else computed.reshape(-1, count)

    return Session(primal=primal, total=total, result=result, evaluations=lambda: _evaluations(derivative, count))


def slope(f: Callable[[Any], Any], x: Any, u: Any) -> Any:
    """The derivative of f along u: four evaluations."""
    step = STEP
    wide, near = ((f(x + h * u) - f(x - h * u)) / (2.0 * h) for h in (step, step / 2))
    return (4.0 * near - wide) / 3.0


def bend(f: Callable[[Any], Any], x: Any, u: Any, v: Any) -> float:
    """The mixed second derivative of f along u and v: eight evaluations."""
    wide, near = (
        (f(x + h * (u + v)) + f(x - h * (u + v)) - f(x + h * (u - v)) - f(x - h * (u - v))) / (4.0 * h * h)
        for h in (SECOND_STEP, SECOND_STEP / 2)
    )
    return float(((4.0 * near - wide) / 3.0).item())


def _evaluations(derivative: Derivative, count: int) -> int:
    """How often the function is evaluated."""
    return {"jvp": 4, "hvp": 8 * count, "hessian": 4 * count * (count + 1)}.get(derivative.name, 4 * count)


def _refuse_long(derivative: Derivative, count: int) -> None:
    needed = _evaluations(derivative, count)
    if needed > MOST_EVALUATIONS:
        raise UnsupportedError(
            f"finite-difference would evaluate the function {needed:,} times; at most {MOST_EVALUATIONS:,} times it "
            "does: choose a smaller size"
        )
