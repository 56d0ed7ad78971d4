"""Functions of tensors, compiled by tapegrad's jit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import tapegrad
from gradmark.engines.protocol import Capabilities, Derivative, Session, namespace
from gradmark.engines.tapegrad.transforms import MODES, functional_session
from gradmark.records import Param
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.workloads.vocabulary import TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload
from tapegrad import tensor

GRADIENT = Derivative()


class TapegradJit:
    """Functions of tensors, traced and compiled with their derivatives in the first call."""

    name = "tapegrad:jit"

    def capabilities(self) -> Capabilities:
        """Tensors only: programs are what functions of numbers compile to."""
        return Capabilities(kinds=("tensor",), dtypes=("float32", "float64"), compiled=True, derivatives=MODES)

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """One compiled function for value and gradients, and one for the value; other arrays are arguments too."""
        ops = namespace({n: getattr(tensor, n) for n in TENSOR_FUNCTIONS}, "tapegrad")
        active = workload.active(inputs)

        def f(*arrays: Any) -> Any:
            return workload.function(ops, *arrays, **params)

        primal = tapegrad.jit(f)
        if derivative.name != USUAL_DERIVATIVE:
            eager = functional_session(workload, inputs, params, derivative, tapegrad.jit)
            return replace(eager, primal=lambda: primal(*inputs))
        both = tapegrad.jit(tapegrad.value_and_grad(f, tuple(active)))
        gradients: Any = None

        def total() -> Any:
            nonlocal gradients
            value, gradients = both(*inputs)
            return value

        def forward() -> Any:
            return primal(*inputs)

        return Session(primal=forward, forward=forward, total=total, gradients=lambda: list(gradients))
