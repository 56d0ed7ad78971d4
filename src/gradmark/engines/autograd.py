"""HIPS autograd: NumPy's functions, traced anew in each forward."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import autograd
import autograd.numpy as anp
import autograd.scipy.special as special

from gradmark.engines.composed import composed, same_names
from gradmark.engines.protocol import Capabilities, Session, bound, namespace
from gradmark.records import Param
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


def operations(kind: str) -> ModuleType:
    """autograd's own functions where it has them with a derivative."""
    names = [name for name in (SCALAR_FUNCTIONS if kind == "scalar" else TENSOR_FUNCTIONS) if name not in LACKING]
    return namespace({**same_names(anp, names), **composed(anp), **OTHERS}, "autograd")


class Autograd:
    """`make_vjp` evaluates and records; the function that it gives propagates, as often as one likes."""

    name = "autograd"

    def capabilities(self) -> Capabilities:
        """As NumPy."""
        return Capabilities(kinds=("scalar", "tensor"), dtypes=("float32", "float64"))

    def prepare(self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
        """Closures over the traced function."""
        ops = operations(workload.kind)
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
