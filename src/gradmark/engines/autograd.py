"""HIPS autograd: NumPy's functions, traced anew in each forward."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from types import ModuleType
from typing import Any

import autograd
import autograd.numpy as anp
import autograd.scipy.special as special
import numpy as np

from gradmark.engines.composed import composed, same_names
from gradmark.engines.protocol import Capabilities, Derivative, Session, bound, namespace
from gradmark.records import DerivativeName, Param
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload

# What autograd's NumPy has without a derivative, and what this adapter does not make of other functions.
LACKING = ["take_along_axis", "conv2d", "max_pool2d", "avg_pool2d", "dropout"]
OTHERS: dict[str, Any] = {
    "erf": special.erf,
    "logsumexp": special.logsumexp,
    "dot": anp.dot,
    "outer": anp.outer,
    "constant": lambda value: value,
}
# Second derivatives are reverse over reverse: few of its functions have tangents of their cotangents.
MODES: Mapping[DerivativeName, str] = {
    "gradient": "rev",
    "jvp": "fwd",
    "vjp": "rev",
    "jacobian": "rev",
    "hvp": "rev-over-rev",
    "hessian": "rev-over-rev",
}
GRADIENT = Derivative()


def operations(kind: str) -> ModuleType:
    """autograd's own functions where it has them with a derivative."""
    names = [name for name in (SCALAR_FUNCTIONS if kind == "scalar" else TENSOR_FUNCTIONS) if name not in LACKING]
    ops = namespace({**same_names(anp, names), **composed(anp), **OTHERS}, "autograd")

    def gradient_of(f: Any, xs: Any, mode: str) -> list[Any]:
        if mode == "reverse":
            return list(autograd.grad(lambda point: f(ops, *point))(tuple(xs)))
        return [autograd.make_jvp(partial(f, ops), argnum=place)(*xs)(1.0)[1] for place in range(len(xs))]

    ops.gradient_of = gradient_of  # type: ignore[attr-defined]
    return ops


class Autograd:
    """`make_vjp` evaluates and records; the function that it gives propagates, as often as one likes."""

    name = "autograd"

    def capabilities(self) -> Capabilities:
        """As NumPy."""
        return Capabilities(kinds=("scalar", "tensor"), dtypes=("float32", "float64"), derivatives=MODES)

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """Closures over the traced function."""
        ops = operations(workload.kind)
        if derivative.name != USUAL_DERIVATIVE:
            return derived(ops, workload, inputs, params, derivative)
        active = workload.active(inputs)
        trace = autograd.make_vjp(lambda *xs: workload.function(ops, *xs, **params), active)
        scalar = workload.kind == "scalar"
        vjp: Any = None
        y: Any = None
        gradients: Any = None

        def forward() -> None:
            nonlocal vjp, y
            vjp = y = None
            vjp, y = trace(*inputs)

        def backward() -> None:
            nonlocal gradients
            gradients = vjp(1.0 if scalar else anp.ones_like(y))

        return Session(
            primal=bound(workload, ops, inputs, params),
            forward=forward,
            backward=backward,
            gradients=lambda: [float(g) for g in gradients] if scalar else [anp.asarray(g) for g in gradients],
            value=lambda: y,
        )


def derived(
    ops: ModuleType, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative
) -> Session:
    """Any other derivative, of one tuple of inputs: autograd's transforms take one argument."""
    active, scalar = workload.active(inputs), workload.kind == "scalar"
    several = workload.result == "array"
    along = tuple(derivative.tangents)
    # a list of numbers is propagated into as an array
    cotangent = anp.array(derivative.cotangent) if several else derivative.cotangent
    computed: Any = None

    def f(xs: Any) -> Any:
        every = list(inputs)
        for place, x in zip(active, xs, strict=True):
            every[place] = x
        result = workload.function(ops, *every, **params)
        return anp.array(result) if scalar and several else result

    def point() -> tuple[Any, ...]:
        return tuple(inputs[place] for place in active)

    def slope(xs: Any) -> Any:
        return sum(anp.sum(g * t) for g, t in zip(autograd.grad(f)(xs), along, strict=True))

    steps: dict[str, Callable[[], Any]] = {
        "jvp": lambda: autograd.make_jvp(f)(point())(along)[1],
        "vjp": lambda: autograd.make_vjp(f)(point())[0](cotangent),
        "hvp": lambda: autograd.grad(slope)(point()),
        "jacobian": lambda: _rows(autograd.make_vjp(f)(point())[0], derivative.shape),
        "hessian": lambda: _hessian(f, point()),
    }
    step = steps[derivative.name]

    def total() -> None:
        nonlocal computed
        computed = step()

    def result() -> Any:
        if FACTS[derivative.name].form == "inputs":
            return [float(part) for part in computed] if scalar else [np.asarray(part) for part in computed]
        return np.asarray(computed)

    return Session(primal=bound(workload, ops, inputs, params), total=total, result=result)


def _flat(parts: Sequence[Any]) -> Any:
    return anp.concatenate([anp.reshape(part, (-1,)) for part in parts])


def _rows(pull: Callable[[Any], Any], shape: tuple[int, ...]) -> Any:
    """A row of a Jacobian for each entry of the result, as autograd's own `jacobian` has it of one array."""
    return np.stack([_flat(pull(unit.reshape(shape))) for unit in np.eye(prod(shape))])


def _hessian(f: Callable[[Any], Any], xs: tuple[Any, ...]) -> Any:
    pull, gradient = autograd.make_vjp(lambda ys: _flat(autograd.grad(f)(ys)))(xs)
    return _rows(pull, gradient.shape)
