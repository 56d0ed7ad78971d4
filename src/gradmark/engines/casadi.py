"""CasADi: scalar expressions (`SX`), built once and evaluated through its buffer interface."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi
import numpy as np

from gradmark.engines.protocol import Capabilities, Derivative, Session, namespace
from gradmark.errors import UnsupportedError
from gradmark.records import DerivativeName, Param, Sparsity, TapeSize
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
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
# Matrices come from coloured sweeps over the expression, when it is built; what is evaluated is the result of those.
MODES: Mapping[DerivativeName, str] = {
    "gradient": "rev",
    "jvp": "fwd",
    "vjp": "rev",
    "hvp": "fwd-over-rev",
    "jacobian": "coloured",
    "hessian": "coloured",
    "sparse-jacobian": "coloured",
    "sparse-hessian": "coloured",
}
GRADIENT = Derivative()


class Casadi:
    """An expression and its derivative as functions; nothing is recorded when they are evaluated."""

    name = "casadi"

    def capabilities(self) -> Capabilities:
        """Symbols stand for numbers; the expression is its compilation."""
        return Capabilities(compiled=True, derivatives=MODES)

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[float],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """Builds the expression and its derivative."""
        x = casadi.SX.sym("x", len(inputs))
        if derivative.name != USUAL_DERIVATIVE:
            return derived(x, workload, inputs, params, derivative)
        y = workload.function(OPS, *casadi.vertsplit(x), **params)
        value = casadi.Function("value", [x], [y])
        both = casadi.Function("both", [x], [y, casadi.gradient(y, x)])
        point, result, slopes = np.array(inputs), np.zeros(1), np.zeros(len(inputs))
        evaluate = _evaluator(value, [point], [result])
        total = _evaluator(both, [point], [result, slopes])
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


def derived(
    x: Any, workload: Workload, inputs: Sequence[float], params: Mapping[str, Param], derivative: Derivative
) -> Session:
    """Any other derivative: an expression of the inputs and a direction, evaluated without recording."""
    result = workload.function(OPS, *casadi.vertsplit(x), **params)
    y = casadi.vertcat(*result) if workload.result == "array" else result
    along = np.array(derivative.tangents or derivative.cotangent or [], dtype=np.float64).ravel()
    v = casadi.SX.sym("v", along.size)
    expression = _expression(derivative.name, y, x, v)
    value, compute = casadi.Function("value", [x], [y]), casadi.Function("compute", [x, v], [expression])
    point, primal, numbers = np.array(inputs), np.zeros(y.numel()), np.zeros(expression.nnz())
    total = _evaluator(compute, [point, along], [numbers])
    size = TapeSize(instructions=compute.n_instructions(), values=compute.sz_w(), saved_bytes=8 * compute.sz_w())
    form, shape = FACTS[derivative.name].form, expression.shape
    sparsity = expression.sparsity()
    if form == "sparse":
        matrix = _sparse(numbers, sparsity)

    def move(new: Sequence[float]) -> None:
        point[:] = new

    def read() -> Any:
        if form == "sparse":
            return matrix  # its numbers are those that are written
        if form == "matrix":
            return numbers.reshape(shape, order="F")
        return numbers.tolist() if form == "inputs" or derivative.shape else numbers[0]

    return Session(
        primal=_evaluator(value, [point], [primal]),
        total=total,
        result=read,
        move=move,
        tape=lambda: size,
        sparsity=(lambda: Sparsity(nonzeros=expression.nnz(), colours=_colours(sparsity, derivative)))
        if form == "sparse"
        else None,
    )


def _expression(name: DerivativeName, y: Any, x: Any, v: Any) -> Any:
    """The derivative as an expression: dense, unless it is a sparse matrix."""
    match name:
        case "jvp":
            return casadi.densify(casadi.jtimes(y, x, v))
        case "vjp":
            return casadi.densify(casadi.jtimes(y, x, v, True))
        case "hvp":
            return casadi.densify(casadi.jtimes(casadi.gradient(y, x), x, v))
        case "jacobian":
            return casadi.densify(casadi.jacobian(y, x))
        case "sparse-jacobian":
            return casadi.jacobian(y, x)
        case "hessian":
            return casadi.densify(casadi.hessian(y, x)[0])
        case "sparse-hessian":
            return casadi.hessian(y, x)[0]
    raise UnsupportedError(f"casadi has no {name}")


def _sparse(numbers: Any, sparsity: Any) -> Any:
    from scipy.sparse import csc_matrix

    shape = (sparsity.size1(), sparsity.size2())
    matrix = csc_matrix((numbers, np.array(sparsity.row()), np.array(sparsity.colind())), shape=shape, copy=False)
    matrix.data = numbers  # the very array, into which CasADi writes
    return matrix


def _colours(sparsity: Any, derivative: Derivative) -> int:
    """The colours that CasADi itself finds: of columns or rows, whichever are fewer; of a Hessian, stars."""
    if derivative.name == "sparse-hessian":
        return int(sparsity.star_coloring().size2())
    return int(min(sparsity.uni_coloring().size2(), sparsity.T.uni_coloring().size2()))


def _evaluator(function: Any, points: list[Any], results: list[Any]) -> Callable[[], Any]:
    buffer, evaluate = function.buffer()
    for place, point in enumerate(points):
        buffer.set_arg(place, memoryview(point))
    for place, result in enumerate(results):
        buffer.set_res(place, memoryview(result))

    def call(_kept: Any = (function, buffer, points, results)) -> None:  # CasADi only points to them
        evaluate()

    return call
