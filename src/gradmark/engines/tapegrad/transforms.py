"""Derivatives other than gradients, by tapegrad's transforms: of functions of numbers and of arrays."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

import tapegrad
from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import Derivative, Session, bound
from gradmark.engines.tapegrad.operations import array_operations, operations
from gradmark.records import DerivativeName, Param
from gradmark.records.derivative import FACTS
from gradmark.workloads.workload import Workload

# A dense Jacobian is computed forward or in reverse, whichever has fewer passes.
MODES: Mapping[DerivativeName, str] = {
    "gradient": "rev",
    "jvp": "fwd",
    "vjp": "rev",
    "jacobian": "fwd or rev",
    "hvp": "fwd-over-rev",
    "hessian": "fwd-over-rev",
}


def functional_session(
    workload: Workload,
    inputs: Sequence[Any],
    params: Mapping[str, Param],
    derivative: Derivative,
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda f: f,
) -> Session:
    """A derivative by tapegrad's transforms: of the list of numbers, or of the arrays that vary.

    compiled: what is done to the function that computes it.
    """
    scalar, active = workload.kind == "scalar", workload.active(inputs)
    points = (inputs,) if scalar else tuple(inputs[place] for place in active)
    tangents = (list(derivative.tangents),) if scalar else tuple(derivative.tangents)
    of_numbers, of_arrays = operations(float), array_operations()

    def evaluate(given: Sequence[Any], *varying: Any) -> Any:
        if scalar:
            return workload.function(of_numbers, *varying[0], **params)
        every = list(given)
        for place, array in zip(active, varying, strict=True):
            every[place] = array
        return workload.function(of_arrays, *every, **params)

    def derive(given: Sequence[Any], points: Any, tangents: Any) -> Any:
        return transformed(partial(evaluate, given), derivative)(points, tangents)

    compute = partial(compiled(derive), list(inputs), points, tangents)
    computed: Any = None

    def total() -> None:
        nonlocal computed
        computed = compute()

    def result() -> Any:
        form, rows = FACTS[derivative.name].form, prod(derivative.shape)
        if form == "result":
            return np.asarray(computed)
        if form == "inputs":
            return list(computed[0]) if scalar else [np.asarray(part) for part in computed]
        if derivative.name == "jacobian":
            return np.concatenate([np.asarray(part).reshape(rows, -1) for part in computed], axis=1)
        return np.asarray(computed) if scalar else joined(computed, points)

    return Session(
        primal=bound(workload, FLOATS, inputs, params) if scalar else partial(evaluate, inputs, *points),
        total=total,
        result=result,
    )


def transformed(f: Callable[..., Any], derivative: Derivative) -> Callable[[Any, Any], Any]:
    """The derivative of f, as a function of points and tangents."""
    match derivative.name:
        case "jvp":
            return lambda points, tangents: tapegrad.jvp(f, points, tangents)[1]
        case "vjp":
            return lambda points, tangents: tapegrad.vjp(f, *points)[1](derivative.cotangent)  # noqa: ARG005
        case "hvp":
            return lambda points, tangents: tapegrad.hvp(f, points, tangents)
        case "jacobian":
            return lambda points, tangents: [  # noqa: ARG005
                tapegrad.jacobian(f, place)(*points) for place in range(len(points))
            ]
    return lambda points, tangents: hessian_of(f, points)  # noqa: ARG005


def hessian_of(f: Callable[..., Any], points: tuple[Any, ...]) -> Any:
    """All second derivatives: of a list of numbers, or of arrays."""
    if len(points) == 1 and isinstance(points[0], list):
        return tapegrad.hessian(f)(*points)
    return tapegrad.hessian(lambda arrays: f(*arrays))(points)


def joined(blocks: Sequence[Sequence[Any]], points: Sequence[Any]) -> Any:
    """A Hessian as one matrix, from a block for each pair of arrays."""
    return np.block([[np.asarray(b).reshape(x.size, -1) for b in row] for row, x in zip(blocks, points, strict=True)])
