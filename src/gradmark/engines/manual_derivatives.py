"""Hand-written derivatives of the suite of derivatives: closed forms on plain floats, beside which engines are seen.

In: inputs, read anew in each call, and a direction. Out: the derivative as a session gives it, with how sparse it is.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradmark.engines.floats import FLOATS
from gradmark.engines.protocol import Derivative, Session, bound
from gradmark.errors import UnsupportedError
from gradmark.records import DerivativeName, Param, Sparsity
from gradmark.records.derivative import SPARSE_ONES, USUAL_DERIVATIVE
from gradmark.workloads.workload import Workload

Floats = Sequence[float]


def rosenbrock_gradient(xs: Floats) -> tuple[float, list[float]]:
    """Of 100(y - x²)² + (1 - x)²: itself; -400x(y - x²) - 2(1 - x) by x, 200(y - x²) by y."""
    value, gradient = 0.0, [0.0] * len(xs)
    for k in range(len(xs) - 1):
        x = xs[k]
        bend, away = xs[k + 1] - x * x, 1.0 - x
        value += 100.0 * bend * bend + away * away
        gradient[k] += -400.0 * x * bend - 2.0 * away
        gradient[k + 1] += 200.0 * bend
    return value, gradient


def rosenbrock_diagonals(xs: Floats) -> tuple[list[float], list[float]]:
    """The Hessian: 1200x² - 400y + 2 by x twice, 200 by y twice, -400x by both."""
    count = len(xs)
    middle, beside = [0.0] * count, [-400.0 * x for x in xs[:-1]]
    for k in range(count - 1):
        x = xs[k]
        middle[k] += 1200.0 * x * x - 400.0 * xs[k + 1] + 2.0
        middle[k + 1] = 200.0
    return middle, beside


def rosenbrock_product(xs: Floats, vs: Floats) -> list[float]:
    """The Hessian times a vector, without the Hessian."""
    product = [0.0] * len(xs)
    for k in range(len(xs) - 1):
        x, v, w = xs[k], vs[k], vs[k + 1]
        cross = -400.0 * x
        product[k] += (1200.0 * x * x - 400.0 * xs[k + 1] + 2.0) * v + cross * w
        product[k + 1] += cross * v + 200.0 * w
    return product


def broyden_diagonal(xs: Floats) -> list[float]:
    """3 - 4x; beside it are -1 and -2."""
    return [3.0 - 4.0 * x for x in xs]


def broyden_tangent(xs: Floats, vs: Floats) -> list[float]:
    """(3 - 4x)·v, less the tangent before and twice the one after."""
    tangents = [(3.0 - 4.0 * x) * v for x, v in zip(xs, vs, strict=True)]
    for k in range(1, len(xs)):
        tangents[k] -= vs[k - 1]
        tangents[k - 1] -= 2.0 * vs[k]
    return tangents


def tridiagonal(count: int) -> Any:
    """A matrix of SciPy of three diagonals: its numbers are, row by row, middle, above, below, in turns."""
    from scipy.sparse import diags

    return diags([[1.0] * (count - 1), [1.0] * count, [1.0] * (count - 1)], [-1, 0, 1], format="csr")


def rosenbrock_matrix(xs: Floats, matrix: Any) -> Any:
    """The Hessian, written into a sparse matrix."""
    middle, beside = rosenbrock_diagonals(xs)
    matrix.data[0::3], matrix.data[1::3], matrix.data[2::3] = middle, beside, beside
    return matrix


def broyden_matrix(xs: Floats, matrix: Any) -> Any:
    """The Jacobian, written into a sparse matrix."""
    matrix.data[0::3], matrix.data[1::3], matrix.data[2::3] = broyden_diagonal(xs), -2.0, -1.0
    return matrix


WRITTEN: Mapping[tuple[str, DerivativeName], Callable[..., Any]] = {
    ("rosenbrock", "gradient"): rosenbrock_gradient,
    ("rosenbrock", "hvp"): rosenbrock_product,
    ("rosenbrock", "sparse-hessian"): rosenbrock_matrix,
    ("broyden", "jvp"): broyden_tangent,
    ("broyden", "sparse-jacobian"): broyden_matrix,
}
MODES: Mapping[DerivativeName, str] = {name: "by hand" for _, name in WRITTEN}


def derived(workload: Workload, inputs: Floats, params: Mapping[str, Param], derivative: Derivative) -> Session:
    """A derivative that one call computes; nobody has written most."""
    ours = workload.function.__module__ == "gradmark.workloads.derivatives"  # a user's may have the same name
    written = WRITTEN.get((workload.name, derivative.name)) if ours else None
    if written is None:
        raise UnsupportedError(f"there is no hand-written {derivative.name} of {workload.name}")
    is_sparse, is_gradient = derivative.name in SPARSE_ONES, derivative.name == USUAL_DERIVATIVE
    along = [tridiagonal(len(inputs))] if is_sparse else [derivative.tangents] if derivative.tangents else []
    computed: Any = None

    def total() -> None:
        nonlocal computed
        computed = written(inputs, *along)

    return Session(
        primal=bound(workload, FLOATS, inputs, params),
        total=total,
        result=None if is_gradient else lambda: computed,
        gradients=(lambda: computed[1]) if is_gradient else None,
        value=(lambda: computed[0]) if is_gradient else None,
        sparsity=(lambda: Sparsity(nonzeros=computed.nnz)) if is_sparse else None,
    )
