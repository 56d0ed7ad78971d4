"""hierarchical: the log posterior of a logistic regression whose intercept differs from group to group.

    ηᵢ = μ + e^t·z_g(i) + xᵢ·β,  log p = Σ yᵢ·ηᵢ - log(1 + e^ηᵢ) - ½·(μ² + t² + |z|² + |β|²)

Parameters are μ, t (the logarithm of how far groups are apart), z and β, each normal before anything is seen. Source:
Gelman and Hill, Data Analysis Using Regression and Multilevel/Hierarchical Models (2007), chapter 14, in the form
without centring that samplers prefer. Data are drawn from the model.
"""

import functools
from typing import Any

from gradmark.workloads.literature.streams import SEED
from gradmark.workloads.workload import workload

FEATURES = 5


def generated(n: int, groups: int) -> list[Any]:
    """Features, labels, the group of each, and parameters to start from."""
    import numpy as np

    draw = np.random.RandomState(SEED)
    x, group = draw.standard_normal((n, FEATURES)), draw.randint(groups, size=n)
    beta, z = draw.standard_normal(FEATURES), draw.standard_normal(groups)
    chance = 1.0 / (1.0 + np.exp(-(0.5 + z[group] + x @ beta)))
    labels = (draw.random_sample(n) < chance).astype(float)
    return [x, labels, group, *(0.5 * draw.standard_normal(size) for size in (2, groups, FEATURES))]


@functools.cache
def _data(n: int, groups: int) -> tuple[list[Any], ...]:
    return tuple(part.tolist() for part in generated(n, groups)[:3])


@workload(
    suite="literature",
    stresses="a long sum number by number; parameters that few terms share",
    sizes={"n": [1000, 10_000, 100_000], "groups": [50]},
    quick=[{"n": 200, "groups": 10}],
    inputs=lambda draw, n, groups: [x for part in generated(n, groups)[3:] for x in part.tolist()],  # noqa: ARG005
    operations=lambda n, groups: n * (2 * FEATURES + 4) + 2 * groups + 2 * (2 + groups + FEATURES) + 1,
)
def hierarchical(ops: Any, *numbers: Any, n: int, groups: int) -> Any:
    """A logistic regression with groups, number by number."""
    features, labels, group = _data(n, groups)
    centre, spread = numbers[0], ops.exp(numbers[1])
    intercepts = [centre + spread * z for z in numbers[2 : 2 + groups]]
    slopes = numbers[2 + groups :]
    total: Any = None
    for row, label, g in zip(features, labels, group, strict=True):
        eta = intercepts[g]
        for x, slope in zip(row, slopes, strict=True):
            eta = eta + x * slope
        term = label * eta - ops.softplus(eta)
        total = term if total is None else total + term
    squares = numbers[0] * numbers[0]
    for number in numbers[1:]:
        squares = squares + number * number
    return total - 0.5 * squares


@workload(
    suite="literature",
    stresses="parameters looked up by number, scattered back: bandwidth",
    sizes={"n": [1000, 10_000, 100_000], "groups": [50]},
    quick={"n": [5000], "groups": [50]},
    arrays=lambda draw, n, groups: generated(n, groups),  # noqa: ARG005
    dtypes=("float64",),
    fixed=["features", "labels"],
    operations=lambda: 20,
    flops=lambda n: 4 * n * FEATURES,
)
def hierarchical_array(
    ops: Any, features: Any, labels: Any, group: Any, overall: Any, z: Any, beta: Any, **_sizes: Any
) -> Any:
    """A logistic regression with groups, with arrays."""
    intercepts = overall[0] + ops.exp(overall[1]) * z
    eta = intercepts[group] + features @ beta
    squares = ops.sum(ops.square(overall)) + ops.sum(ops.square(z)) + ops.sum(ops.square(beta))
    return ops.sum(labels * eta - ops.softplus(eta)) - 0.5 * squares
