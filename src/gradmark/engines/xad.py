"""XAD: a tape of its own, reused; cleared before each recording, without which recordings become slower and slower."""

from collections.abc import Mapping, Sequence
from typing import Any

import xad.adj_1st
import xad.fwd_1st
import xad.math

from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import Capabilities, Derivative, Session, bound, namespace
from gradmark.records import DerivativeName, Param, TapeSize
from gradmark.records.derivative import USUAL_DERIVATIVE
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS
from gradmark.workloads.workload import Workload

OTHERS: dict[str, Any] = {
    "sigmoid": lambda x: 0.5 + 0.5 * xad.math.tanh(0.5 * x),
    "softplus": lambda x: xad.math.max(x, 0.0) + xad.math.log1p(xad.math.exp(-xad.math.abs(x))),
    "relu": lambda x: xad.math.max(x, 0.0),
    "maximum": xad.math.max,
    "minimum": xad.math.min,
    "where": lambda condition, x, y: x if condition else y,
    "constant": float,
}
OPS = namespace({name: OTHERS.get(name) or getattr(xad.math, name) for name in SCALAR_FUNCTIONS}, "xad")


# Its Python package has numbers with a tangent and numbers on a tape, but neither inside the other: XAD's second
# derivatives are in C++ only.
MODES: Mapping[DerivativeName, str] = {"gradient": "rev", "jvp": "fwd", "vjp": "rev", "jacobian": "fwd or rev"}
GRADIENT = Derivative()


class Xad:
    """One tape, cleared and recorded anew in each forward."""

    name = "xad"

    def capabilities(self) -> Capabilities:
        """Numbers in double precision."""
        return Capabilities(derivatives=MODES)

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[float],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """A thread has one active tape, so a session makes its own the active one before it records."""
        if derivative.name != USUAL_DERIVATIVE:
            return derived(workload, inputs, params, derivative)
        tape = xad.adj_1st.Tape()
        f = workload.function
        xs: list[Any] = []
        y: Any = None
        gradients: list[float] = []

        def forward() -> None:
            nonlocal xs, y
            xs = begun(tape, inputs, xs)
            y = f(OPS, *xs, **params)
            tape.registerOutput(y)

        def backward() -> None:
            nonlocal gradients
            tape.clearDerivatives()
            y.derivative = 1.0
            tape.computeAdjoints()
            gradients = [x.derivative for x in xs]

        return Session(
            primal=bound(workload, FLOATS, inputs, params),
            forward=forward,
            backward=backward,
            gradients=lambda: gradients,
            value=lambda: y.value,
            tape=lambda: TapeSize(saved_bytes=tape.getMemory()),
        )


def begun(tape: Any, inputs: Sequence[float], before: list[Any]) -> list[Any]:
    """The variables of a new recording on this tape.

    Those of the recording before are gone by then: variables that end later give places back that are the new ones'.
    """
    if not tape.isActive():
        active = xad.adj_1st.Tape.getActive()
        if active is not None:
            active.deactivate()
        tape.activate()
    tape.clearAll()
    xs = [xad.adj_1st.Real(x) for x in inputs]
    before.clear()
    for x in xs:
        tape.registerInput(x)
    tape.newRecording()
    return xs


def derived(
    workload: Workload, inputs: Sequence[float], params: Mapping[str, Param], derivative: Derivative
) -> Session:
    """Tangents on numbers that carry them; cotangents on a tape. A Jacobian takes the mode with fewer passes."""
    tape = xad.adj_1st.Tape()
    forward = derivative.name == "jvp" or (derivative.name == "jacobian" and len(inputs) <= derivative.shape[0])
    computed: Any = None

    def tangent(direction: Sequence[float]) -> list[float]:
        xs = [xad.fwd_1st.Real(x) for x in inputs]
        for x, slope in zip(xs, direction, strict=True):
            x.derivative = slope
        result = workload.function(OPS, *xs, **params)
        return [_slope(y) for y in (result if isinstance(result, list) else [result])]

    def recorded() -> tuple[list[Any], list[Any]]:
        xs = begun(tape, inputs, [])
        result = workload.function(OPS, *xs, **params)
        ys = result if isinstance(result, list) else [result]
        for y in ys:
            tape.registerOutput(y)
        return xs, ys

    def cotangent(xs: Sequence[Any], ys: Sequence[Any], weights: Sequence[float]) -> list[float]:
        tape.clearDerivatives()
        for y, weight in zip(ys, weights, strict=True):
            y.derivative = weight
        tape.computeAdjoints()
        return [x.derivative for x in xs]

    def total() -> None:
        nonlocal computed
        if derivative.name == "jvp":
            slopes = tangent(derivative.tangents)
            computed = slopes if derivative.shape else slopes[0]
        elif derivative.name == "vjp":
            weights = derivative.cotangent if derivative.shape else [derivative.cotangent]
            computed = cotangent(*recorded(), weights)
        elif forward:
            computed = list(zip(*(tangent(unit) for unit in _units(len(inputs))), strict=True))
        else:
            xs, ys = recorded()
            computed = [cotangent(xs, ys, unit) for unit in _units(len(ys))]

    return Session(
        primal=bound(workload, FLOATS, inputs, params),
        total=total,
        result=lambda: computed,
        mode="fwd" if forward else "rev",
    )


def _slope(y: Any) -> float:
    """The tangent of a result; of one that does not depend on the inputs it is zero."""
    return float(y.derivative) if hasattr(y, "derivative") else 0.0


def _units(count: int) -> list[list[float]]:
    return [[float(k == j) for k in range(count)] for j in range(count)]
