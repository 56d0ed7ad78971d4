"""The suite of derivatives: functions whose tangents, products with Hessians and sparse matrices people ask for.

Sizes go over three decades. Functions of numbers have counterparts on arrays, for the libraries that only know these.
"""

import dataclasses
import itertools
import random
from typing import Any

from gradmark.workloads import networks, tensor
from gradmark.workloads.workload import workload

SIZES = [10, 30, 100, 300, 1000, 3000, 10_000]
# Entries of the short side of a map that is much longer than wide.
SHORT = 10
SAMPLES = 1000  # of the regression
# The oscillator: stiff enough to bend, over a time in which its trajectory stays smooth.
DURATION = 2.0


def _away(draw: random.Random, n: int) -> list[float]:
    """Numbers around the valley of Rosenbrock's function, none at its minimum."""
    return [draw.uniform(0.5, 1.5) for _ in range(n)]


def _rosenbrock_product(x: Any, v: Any) -> Any:
    """The Hessian of Rosenbrock's function times a vector."""
    product, bend = 0.0 * v, -400.0 * x[:-1]
    product[:-1] += (1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0) * v[:-1] + bend * v[1:]
    product[1:] += bend * v[:-1] + 200.0 * v[1:]
    return product


@workload(
    suite="derivatives",
    stresses="second derivatives; a Hessian of three diagonals",
    sizes={"n": SIZES},
    quick={"n": [10, 100, 1000]},
    inputs=_away,
    operations=lambda n: 8 * (n - 1),
    derivatives=["gradient", "hvp", "sparse-hessian"],
    known={"hvp": _rosenbrock_product},
)
def rosenbrock(ops: Any, *xs: Any, n: int) -> Any:  # noqa: ARG001  plain arithmetic needs no ops, and `xs` know n
    """Rosenbrock's function of n numbers, each coupled with the next."""
    total = 0.0
    for x, following in itertools.pairwise(xs):
        bend, away = following - x * x, 1.0 - x
        total = total + (100.0 * (bend * bend) + away * away)
    return total


@workload(
    suite="derivatives",
    stresses="second derivatives of a few operations on slices",
    sizes={"n": [*SIZES, 100_000]},
    quick={"n": [100, 10_000]},
    arrays=lambda draw, n: [draw.uniform(0.5, 1.5, size=n)],
    operations=lambda: 10,
    derivatives=["gradient", "hvp"],
    known={"hvp": lambda x, v: [_rosenbrock_product(x, v)]},
)
def rosenbrock_array(ops: Any, x: Any, *, n: int) -> Any:
    """Rosenbrock's function of one array."""
    before, after = x[: n - 1], x[1:]
    bend, away = after - ops.square(before), 1.0 - before
    return ops.sum(100.0 * ops.square(bend) + ops.square(away))


def _broyden_matrix(x: Any) -> Any:
    """The Jacobian of Broyden's equations."""
    from scipy.sparse import diags

    return diags([[-1.0] * (len(x) - 1), 3.0 - 4.0 * x, [-2.0] * (len(x) - 1)], [-1, 0, 1], format="csr")


@workload(
    suite="derivatives",
    stresses="a sparse Jacobian of three diagonals",
    sizes={"n": SIZES},
    quick={"n": [10, 100, 1000]},
    inputs=_away,
    operations=lambda n: 7 * n - 3,
    result="array",
    derivatives=["jvp", "sparse-jacobian"],
    known={"sparse-jacobian": _broyden_matrix},
)
def broyden(ops: Any, *xs: Any, n: int) -> Any:  # noqa: ARG001
    """Broyden's tridiagonal equations."""
    results = []
    for k in range(n):
        y = (3.0 - 2.0 * xs[k]) * xs[k] + 1.0
        if k > 0:
            y = y - xs[k - 1]
        if k < n - 1:
            y = y - 2.0 * xs[k + 1]
        results.append(y)
    return results


@workload(
    suite="derivatives",
    stresses="a sparse Jacobian that one colouring cannot compress: a full row, column and diagonal",
    sizes={"n": SIZES},
    quick={"n": [10, 100]},
    inputs=_away,
    operations=lambda n: 5 * n - 4,
    result="array",
    derivatives=["jvp", "sparse-jacobian"],
)
def arrowhead(ops: Any, *xs: Any, n: int) -> Any:  # noqa: ARG001
    """The sum of all squares, and the product of each number with the first, and its square."""
    total = xs[0] * xs[0]
    for x in xs[1:]:
        total = total + x * x
    return [total, *(xs[0] * x + x * x for x in xs[1:])]


def _layer_matrix(a: Any, x: Any) -> Any:
    """The Jacobian of a dense layer: 1 - tanh² times the matrix."""
    import numpy as np

    return (1.0 - np.tanh(a @ x) ** 2)[:, None] * a


def _matrix(draw: Any, rows: int, columns: int) -> list[Any]:
    return [draw.normal(size=(rows, columns)) / columns**0.5, draw.normal(size=columns)]


@workload(
    suite="derivatives",
    stresses="which mode wins: many inputs, few results",
    sizes={"n": [10, 100, 1000, 10_000]},
    quick={"n": [100, 1000]},
    arrays=lambda draw, n: _matrix(draw, SHORT, n),
    fixed=["a"],
    operations=lambda: 2,
    result="array",
    derivatives=["jvp", "vjp", "jacobian"],
    known={
        "jvp": lambda a, x, v: _layer_matrix(a, x) @ v,
        "vjp": lambda a, x, w: [_layer_matrix(a, x).T @ w],
        "jacobian": _layer_matrix,
    },
)
def wide_map(ops: Any, a: Any, x: Any, **_sizes: Any) -> Any:
    """Ten results of n inputs: a dense layer."""
    return ops.tanh(a @ x)


@workload(
    suite="derivatives",
    stresses="which mode wins: few inputs, many results",
    sizes={"m": [10, 100, 1000, 10_000]},
    quick={"m": [100, 1000]},
    arrays=lambda draw, m: _matrix(draw, m, SHORT),
    fixed=["a"],
    operations=lambda: 2,
    result="array",
    derivatives=["jvp", "vjp", "jacobian"],
    known={
        "jvp": lambda a, x, v: _layer_matrix(a, x) @ v,
        "vjp": lambda a, x, w: [_layer_matrix(a, x).T @ w],
        "jacobian": _layer_matrix,
    },
)
def tall_map(ops: Any, a: Any, x: Any, **_sizes: Any) -> Any:
    """The results of ten inputs, m of them: a dense layer."""
    return ops.tanh(a @ x)


def _logistic_hessian(features: Any, labels: Any, weights: Any) -> Any:
    """Σ s(1 - s)·x·xᵀ over the mean, of s the sigmoid of each margin."""
    import numpy as np

    s = 0.5 + 0.5 * np.tanh(0.5 * labels * (features @ weights))
    return features.T @ ((s * (1.0 - s))[:, None] * features) / len(labels)


@workload(
    suite="derivatives",
    stresses="second derivatives of a product with a matrix; a dense Hessian",
    sizes={"n": [2, 10, 50, 200, 1000, 2000]},
    quick={"n": [10, 100]},
    arrays=lambda draw, n: [
        draw.normal(size=(SAMPLES, n)),
        draw.choice([-1.0, 1.0], size=SAMPLES),
        draw.normal(size=n) / n**0.5,
    ],
    fixed=["features", "labels"],
    operations=lambda: 4,
    derivatives=["gradient", "hvp", "hessian"],
    known={
        "hvp": lambda features, labels, weights, v: [_logistic_hessian(features, labels, weights) @ v],
        "hessian": _logistic_hessian,
    },
)
def logistic(ops: Any, features: Any, labels: Any, weights: Any, **_sizes: Any) -> Any:
    """Logistic regression: the mean loss over a thousand samples."""
    return ops.mean(ops.softplus(-(labels * (features @ weights))))


@workload(
    suite="derivatives",
    stresses="tangents through a loop",
    sizes={"steps": [10, 30, 100, 300, 1000, 3000, 10_000]},
    quick={"steps": [10, 100, 1000]},
    inputs=lambda draw: [draw.uniform(1.0, 2.0), draw.uniform(-0.5, 0.5), draw.uniform(0.5, 1.5)],
    operations=lambda steps: 50 * steps,
    result="array",
    derivatives=["jvp", "jacobian"],
)
def oscillator(ops: Any, x: Any, speed: Any, damping: Any, *, steps: int) -> Any:  # noqa: ARG001
    """Van der Pol's oscillator, by the Runge-Kutta method: where it is after two seconds."""
    step = DURATION / steps

    def force(x: Any, speed: Any) -> Any:
        return damping * (1.0 - x * x) * speed - x

    for _ in range(steps):
        k1, l1 = speed, force(x, speed)
        k2, l2 = speed + 0.5 * step * l1, force(x + 0.5 * step * k1, speed + 0.5 * step * l1)
        k3, l3 = speed + 0.5 * step * l2, force(x + 0.5 * step * k2, speed + 0.5 * step * l2)
        k4, l4 = speed + step * l3, force(x + step * k3, speed + step * l3)
        x = x + step / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
        speed = speed + step / 6.0 * (l1 + 2.0 * (l2 + l3) + l4)
    return [x, speed]


# Networks of the tensor suite, whose losses are differentiated twice.
mlp = dataclasses.replace(
    tensor.mlp_step,
    name="mlp",
    suite="derivatives",
    stresses="tangents and second derivatives of a classifier",
    derivatives=["gradient", "jvp", "hvp"],
    module=__name__,
)
transformer = dataclasses.replace(
    networks.transformer_block,
    name="transformer",
    suite="derivatives",
    stresses="tangents and second derivatives of all that a transformer is made of",
    quick=[{"batch": 2, "length": 16, "width": 64}],
    derivatives=["gradient", "jvp", "hvp"],
    extra=False,
    module=__name__,
)
