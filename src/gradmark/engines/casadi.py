"""CasADi: scalar expressions (`SX`), built once and evaluated through its buffer interface."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi
import numpy as np

from gradmark.engines.protocol import Capabilities, Session, namespace
from gradmark.records import Param, TapeSize
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS
from gradmark.workloads.workload import Workload

OTHERS: dict[str, Any] = {
    "sigmoid": lambda x: 0.5 + 0.5 * casadi.tanh(0.5 * x),
    "softplus": lambda x: casadi.fmax(x, 0) + casadi.log1p(casadi.exp(-casadi.fabs(x))),
    "relu": lambda x: casadi.fmax(x, 0),
    "abs": casadi.fabs,
    "maximum": casadi.fmax,
    "minimum": casadi.fmin,
    "where": casadi.if_else,
    "constant": casadi.SX,
}
OPS = namespace({name: OTHERS.get(name) or getattr(casadi, name) for name in SCALAR_FUNCTIONS}, "casadi")


class Casadi:
    """An expression and its gradient as functions; nothing is recorded when they are evaluated."""

    name = "casadi"

    def capabilities(self) -> Capabilities:
        """Symbols stand for numbers; the expression is its compilation."""
        return Capabilities(compiled=True)

    def prepare(self, workload: Workload, inputs: Sequence[float], params: Mapping[str, Param]) -> Session:
        """Builds the expression and its gradient."""
        x = casadi.SX.sym("x", len(inputs))
        y = workload.function(OPS, *casadi.vertsplit(x), **params)
        value = casadi.Function("value", [x], [y])
        both = casadi.Function("both", [x], [y, casadi.gradient(y, x)])
        point, result, slopes = np.array(inputs), np.zeros(1), np.zeros(len(inputs))
        evaluate = _evaluator(value, point, [result])
        total = _evaluator(both, point, [result, slopes])
        size = TapeSize(instructions=both.n_instructions(), values=both.sz_w(), saved_bytes=8 * both.sz_w())

        def move(new: Sequence[float]) -> None:
            point[:] = new

        return Session(
            primal=evaluate,
            forward=evaluate,
            total=total,
            gradients=lambda: slopes.tolist(),
            value=lambda: result[0],
            move=move,
            tape=lambda: size,
        )


def _evaluator(function: Any, point: Any, results: list[Any]) -> Callable[[], Any]:
    buffer, evaluate = function.buffer()
    buffer.set_arg(0, memoryview(point))
    for place, result in enumerate(results):
        buffer.set_res(place, memoryview(result))

    def call(_kept: Any = (function, buffer, point, results)) -> None:  # CasADi only points to them
        evaluate()

    return call
