"""Derivatives other than gradients, by tapegrad's transforms: of functions of numbers and of arrays."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

import tapegrad
from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import Derivative, Session, bound, namespace
from gradmark.engines.tapegrad.operations import operations
from gradmark.records import DerivativeName, Param
from gradmark.records.derivative import FACTS
from gradmark.workloads.vocabulary import TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload
from tapegrad import tensor

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
    workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], derivative: Derivative
) -> Session:
    """A derivative by tapegrad's transforms: of the list of numbers, or of the arrays that vary."""
    scalar, active = workload.kind == "scalar", workload.active(inputs)
    points = (inputs,) if scalar else tuple(inputs[place] for place in active)
    tangents = (list(derivative.tangents),) if scalar else tuple(derivative.tangents)
    of_numbers, of_arrays = operations(float), namespace({n: getattr(tensor, n) for n in TENSOR_FUNCTIONS}, "tapegrad")

    def f(*varying: Any) -> Any:
        if scalar:
            return workload.function(of_numbers, *varying[0], **params)
        every = list(inputs)
        for place, array in zip(active, varying, strict=True):
            every[place] = array
        return workload.function(of_arrays, *every, **params)

    compute = transformed(f, points, tangents, derivative)
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
        primal=bound(workload, FLOATS, inputs, params) if scalar else partial(f, *points), total=total, result=result
    )


def transformed(
    f: Callable[..., Any], points: tuple[Any, ...], tangents: tuple[Any, ...], derivative: Derivative
) -> Callable[[], Any]:
    """The derivative of f at these points, as they are when it is called."""
    match derivative.name:
        case "jvp":
            return lambda: tapegrad.jvp(f, points, tangents)[1]
        case "vjp":
            return lambda: tapegrad.vjp(f, *points)[1](derivative.cotangent)
        case "hvp":
            return lambda: tapegrad.hvp(f, points, tangents)
        case "jacobian":
            parts = [tapegrad.jacobian(f, place) for place in range(len(points))]
            return lambda: [part(*points) for part in parts]
        case _ if len(points) == 1 and isinstance(points[0], list):
            return partial(tapegrad.hessian(f), *points)
        case _:
            return partial(tapegrad.hessian(lambda arrays: f(*arrays)), points)


def joined(blocks: Sequence[Sequence[Any]], points: Sequence[Any]) -> Any:
    """A Hessian as one matrix, from a block for each pair of arrays."""
    return np.block([[np.asarray(b).reshape(x.size, -1) for b in row] for row, x in zip(blocks, points, strict=True)])
