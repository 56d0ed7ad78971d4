"""XAD: a tape of its own, reused; cleared before each recording, without which recordings become slower and slower."""

from collections.abc import Mapping, Sequence
from typing import Any

import xad.adj_1st
import xad.math

from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import Capabilities, Session, bound, namespace
from gradmark.records import Param, TapeSize
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


class Xad:
    """One tape, cleared and recorded anew in each forward."""

    name = "xad"

    def capabilities(self) -> Capabilities:
        """Numbers in double precision."""
        return Capabilities()

    def prepare(self, workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> Session:
        """A thread has one active tape, so a session makes its own the active one before it records."""
        tape = xad.adj_1st.Tape()
        real, f = xad.adj_1st.Real, workload.function
        xs: list[Any] = []
        y: Any = None
        gradients: list[float] = []

        def forward() -> None:
            nonlocal xs, y
            if not tape.isActive():
                active = xad.adj_1st.Tape.getActive()
                if active is not None:
                    active.deactivate()
                tape.activate()
            tape.clearAll()
            xs = [real(x) for x in inputs]
            for x in xs:
                tape.registerInput(x)
            tape.newRecording()
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
