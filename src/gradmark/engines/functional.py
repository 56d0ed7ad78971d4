"""Functional: derivatives beyond gradients, for libraries whose transforms give functions: JAX and torch.func.

In: such a library, a workload and what was asked for. Out: one function of the inputs and directions, its mode, and its
result as the laboratory reads it. Numbers go in as one vector, as somebody who wants a Jacobian of them would write it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from gradmark.engines.protocol import Derivative
from gradmark.errors import UnsupportedError
from gradmark.records import DerivativeName, Param
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
from gradmark.workloads.workload import Workload

# What both libraries have, and how. A dense Jacobian is computed forward or in reverse, whichever has fewer passes.
MODES: Mapping[DerivativeName, str] = {
    "gradient": "rev",
    "jvp": "fwd",
    "vjp": "rev",
    "jacobian": "fwd or rev",
    "hvp": "fwd-over-rev",
    "hessian": "fwd-over-rev",
}


@dataclass(frozen=True)
class Library:
    """The transforms of a library, and how a vector becomes numbers and numbers a vector."""

    jvp: Callable[..., Any]  # (f, primals, tangents) to value and tangent
    vjp: Callable[..., Any]  # (f, *primals) to value and pullback
    grad: Callable[..., Any]
    jacfwd: Callable[..., Any]
    jacrev: Callable[..., Any]
    unstack: Callable[[Any], Sequence[Any]]
    stack: Callable[[Sequence[Any]], Any]
    one: Callable[[Any], Any]  # like a value


def takes_transforms(workload: Workload, derivative: Derivative) -> bool:
    """Whether a derivative is computed here: all but gradients, and these too of functions measured for others.

    Their numbers are one vector in every row, so that a product with a Hessian is compared with a gradient of the same.
    """
    others = any(name != USUAL_DERIVATIVE for name in workload.derivatives)
    return derivative.name != USUAL_DERIVATIVE or (others and workload.kind == "scalar")


@dataclass(frozen=True)
class Asked:
    """A function of its differentiated inputs, and one that computes its derivative: `compute(inputs, along)`."""

    workload: Workload
    derivative: Derivative
    primal: Callable[..., Any]
    compute: Callable[[tuple[Any, ...], Any], Any]
    mode: str

    @property
    def along(self) -> Any:
        """The directions as arrays of NumPy: a list for the inputs, one for the result, or nothing."""
        scalar, derivative = self.workload.kind == "scalar", self.derivative
        if derivative.tangents:
            return [np.array(derivative.tangents)] if scalar else list(derivative.tangents)
        return None if derivative.cotangent is None else np.array(derivative.cotangent)

    def points(self, inputs: Sequence[Any]) -> list[Any]:
        """The differentiated inputs as arrays of NumPy: of numbers one vector."""
        if self.workload.kind == "scalar":
            return [np.array(inputs)]
        return [inputs[place] for place in self.workload.active(inputs)]

    def read(self, computed: Any) -> Any:
        """What `compute` gave, on the host, as sessions give it. Of a gradient the value is left out."""
        if self.derivative.name == USUAL_DERIVATIVE:
            computed = computed[1]
        form = FACTS[self.derivative.name].form
        if form == "result":
            return np.asarray(computed)
        if form == "inputs":
            parts = [np.asarray(part) for part in computed]
            return parts[0].tolist() if self.workload.kind == "scalar" else parts
        order = FACTS[self.derivative.name].order
        if order == 1:
            rows = prod(self.derivative.shape)
            return np.concatenate([np.asarray(part).reshape(rows, -1) for part in computed], axis=1)
        return np.concatenate([_block_row(row, place) for place, row in enumerate(computed)])


def _block_row(row: Sequence[Any], place: int) -> Any:
    """The rows of a Hessian that belong to one input."""
    blocks = [np.asarray(block) for block in row]
    rows = round(blocks[place].size ** 0.5)  # its own block is square
    return np.concatenate([block.reshape(rows, -1) for block in blocks], axis=1)


def function_of(
    library: Library,
    ops: Any,
    workload: Workload,
    inputs: Sequence[Any],
    fixed: Sequence[Any],
    params: Mapping[str, Param],
) -> Callable[..., Any]:
    """A workload as a function of what varies, numbers as one vector. `fixed`: all inputs as the library has them."""
    active, several = workload.active(inputs), workload.result == "array"

    def of_numbers(x: Any) -> Any:
        result = workload.function(ops, *library.unstack(x), **params)
        return library.stack(result) if several else result

    def of_arrays(*values: Any) -> Any:
        every = list(fixed)
        for place, value in zip(active, values, strict=True):
            every[place] = value
        return workload.function(ops, *every, **params)

    return of_numbers if workload.kind == "scalar" else of_arrays


def asked_of(
    library: Library,
    ops: Any,
    workload: Workload,
    inputs: Sequence[Any],
    fixed: Sequence[Any],
    params: Mapping[str, Param],
    derivative: Derivative,
) -> Asked:
    """The derivative of a workload. `fixed` are all inputs as the library has them; those that vary are replaced."""
    active, scalar = workload.active(inputs), workload.kind == "scalar"
    f = function_of(library, ops, workload, inputs, fixed, params)
    count = 1 if scalar else len(active)
    columns = len(inputs) if scalar else sum(int(np.size(inputs[place])) for place in active)
    compute, mode = _computing(library, f, derivative, tuple(range(count)), columns)
    return Asked(workload, derivative, f, compute, mode)


def _computing(
    library: Library, f: Callable[..., Any], derivative: Derivative, every: tuple[int, ...], columns: int
) -> tuple[Callable[[tuple[Any, ...], Any], Any], str]:
    def vjp(xs: tuple[Any, ...], along: Any) -> Any:
        _, pullback = library.vjp(f, *xs)
        return pullback(along)

    def gradient(xs: tuple[Any, ...], _along: Any) -> Any:
        value, pullback = library.vjp(f, *xs)
        return value, pullback(library.one(value))

    match derivative.name:
        case "gradient":
            return gradient, MODES["gradient"]
        case "jvp":
            return lambda xs, along: library.jvp(f, xs, tuple(along))[1], MODES["jvp"]
        case "vjp":
            return vjp, MODES["vjp"]
        case "hvp":
            slopes = library.grad(f, argnums=every)
            return lambda xs, along: library.jvp(slopes, xs, tuple(along))[1], MODES["hvp"]
        case "jacobian":
            forward = columns <= prod(derivative.shape)
            jacobian = (library.jacfwd if forward else library.jacrev)(f, argnums=every)
            return lambda xs, _along: jacobian(*xs), "fwd" if forward else "rev"
        case "hessian":
            hessian = library.jacfwd(library.jacrev(f, argnums=every), argnums=every)
            return lambda xs, _along: hessian(*xs), MODES["hessian"]
    raise UnsupportedError(f"no {derivative.name}: it has {', '.join(MODES)}")
