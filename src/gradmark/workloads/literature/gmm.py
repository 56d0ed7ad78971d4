"""gmm: the log posterior of a mixture of Gaussians, with a Wishart prior on the precisions.

    Qₖ lower triangular: exp qₖ on its diagonal, lₖ below it, column by column
    βᵢₖ = αₖ + Σⱼ qₖⱼ - ½·|Qₖ(xᵢ - μₖ)|²
    likelihood = -n·(d/2·log 2π + logsumexp α) + Σᵢ logsumexp βᵢ
    prior = Σₖ (C - ½·|Qₖ|²),  C = ν·d·log(1/√2) - log Γ_d(ν/2),  ν = d + 1

for γ = 1 and m = 0, as published. GradBench adds the prior (`gmm`); ADBench subtracts it (`adbench_gmm`), a mistake
of sign that its published results have. Sources: GradBench, evals/gmm, which also generates the inputs; ADBench,
section 4.1 of https://arxiv.org/abs/1807.10129, and its data/gmm.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

from gradmark.workloads.literature import files
from gradmark.workloads.literature.lse import logsumexp
from gradmark.workloads.literature.streams import SEED
from gradmark.workloads.outline import Point
from gradmark.workloads.workload import workload

SIZES = {"d": [2, 10, 20, 32, 64], "k": [5, 10, 25, 50, 100], "n": [1000]}
ADBENCH_SIZES = {"d": [2, 10, 20, 32, 64, 128], "k": [5, 10, 25, 50, 100, 200], "n": [1000]}
# Where ADBench has so many observations.
FILES = {1000: "1k", 10_000: "10k", 2_500_000: "2.5M"}
QUICK: list[Point] = [{"d": 2, "k": 5, "n": 20}, {"d": 10, "k": 5, "n": 10}]
QUICK_ARRAYS: list[Point] = [{"d": 2, "k": 5, "n": 1000}, {"d": 10, "k": 5, "n": 1000}]


def _below(d: int) -> int:
    """Entries of a triangle below its diagonal."""
    return d * (d - 1) // 2


def generated(d: int, k: int, n: int) -> list[Any]:
    """Observations, α, μ, q and l as GradBench generates them: for each size from the same seed."""
    import numpy as np

    draw = np.random.default_rng(SEED)
    x, alpha = draw.normal(size=(n, d)), draw.normal(size=k)
    return [x, alpha, draw.uniform(size=(k, d)), draw.normal(size=(k, d)), draw.normal(size=(k, _below(d)))]


def read(d: int, k: int, n: int) -> list[Any]:
    """The same of ADBench: read from its file, or generated where gradmark does not have that."""
    path = None
    if (d, k, n) == (2, 3, 1):
        path = files.find("test.txt", "gmm")
    elif d in ADBENCH_SIZES["d"] and k in ADBENCH_SIZES["k"] and n in FILES:
        path = files.find(f"d{d}_K{k}.txt", "gmm", FILES[n])
    return generated(d, k, n) if path is None else parsed(path, d, k, n)


def parsed(path: Any, d: int, k: int, n: int) -> list[Any]:
    """What a file of ADBench says."""
    lines = files.Lines(path)
    lines.header(d=d, K=k, n=n)
    alpha = lines.block(k, 1, "a weight")[:, 0]
    mu = lines.block(k, d, "a mean")
    factors = lines.block(k, d + _below(d), "a factor of a precision")
    x = lines.block(n, d, "an observation")
    wishart = lines.take(2, "gamma and m")
    if wishart != [1.0, 0.0]:
        raise lines.wrong("gamma 1 and m 0", " ".join(f"{number:g}" for number in wishart))
    lines.end()
    return [x, alpha, mu, factors[:, :d], factors[:, d:]]


def _constants(d: int, k: int, n: int) -> tuple[float, float]:
    """What the likelihood and the prior are without their parameters."""
    nu = d + 1.0
    log_gamma = _below(d) / 2.0 * math.log(math.pi) + sum(math.lgamma((nu - j) / 2.0) for j in range(d))
    return -n * d / 2.0 * math.log(2.0 * math.pi), k * (nu * d * math.log(1.0 / math.sqrt(2.0)) - log_gamma)


def objective(ops: Any, numbers: Sequence[Any], x: Sequence[Sequence[float]], k: int, sign: float) -> Any:
    """Number by number. sign: of the prior."""
    n, d = len(x), len(x[0])
    alpha, means, q, below = (
        numbers[start:stop]
        for start, stop in ((0, k), (k, k + k * d), (k + k * d, k + 2 * k * d), (k + 2 * k * d, len(numbers)))
    )
    diagonals, heights, squares = [], [], []
    for c in range(k):
        own = q[c * d : (c + 1) * d]
        diagonal = [ops.exp(number) for number in own]
        total = own[0]
        for number in own[1:]:
            total = total + number
        square = diagonal[0] * diagonal[0]
        for entry in (*diagonal[1:], *below[c * _below(d) : (c + 1) * _below(d)]):
            square = square + entry * entry
        diagonals.append(diagonal)
        heights.append(alpha[c] + total)
        squares.append(square)
    likelihood: Any = None
    for point in x:
        betas = []
        for c in range(k):
            away = [coordinate - means[c * d + j] for j, coordinate in enumerate(point)]
            scaled = [entry * number for entry, number in zip(diagonals[c], away, strict=True)]
            place = c * _below(d)
            for column in range(d):
                for row in range(column + 1, d):
                    scaled[row] = scaled[row] + below[place] * away[column]
                    place += 1
            distance = scaled[0] * scaled[0]
            for number in scaled[1:]:
                distance = distance + number * number
            betas.append(heights[c] - 0.5 * distance)
        term = logsumexp(ops, betas)
        likelihood = term if likelihood is None else likelihood + term
    spread = squares[0]
    for square in squares[1:]:
        spread = spread + square
    of_likelihood, of_prior = _constants(d, k, n)
    return likelihood - n * logsumexp(ops, alpha) - sign * 0.5 * spread + (of_likelihood + sign * of_prior)


def _operations(d: int, k: int, n: int) -> int:
    return n * k * (d * d + 3 * d + 1) + k * (d * d + 3 * d - 1) + 4 * k * n + n - 1 + 4 * k + k + 4


@functools.cache
def _observations(d: int, k: int, n: int, *, adbench: bool, data: Any) -> list[list[float]]:  # noqa: ARG001  the key
    rows: list[list[float]] = (read if adbench else generated)(d, k, n)[0].tolist()
    return rows


def _flat(parts: Sequence[Any]) -> list[float]:
    return [number for part in parts[1:] for number in part.ravel().tolist()]


@workload(
    suite="literature",
    stresses="long straight-line code number by number; gradients by many parameters",
    sizes=SIZES,
    quick=QUICK,
    inputs=lambda draw, d, k, n: _flat(generated(d, k, n)),  # noqa: ARG005
    operations=_operations,
)
def gmm(ops: Any, *numbers: Any, d: int, k: int, n: int) -> Any:
    """A mixture of Gaussians, number by number."""
    return objective(ops, numbers, _observations(d, k, n, adbench=False, data=None), k, 1.0)


@workload(
    suite="literature",
    stresses="as gmm; the objective of ADBench, which subtracts the prior",
    sizes=ADBENCH_SIZES,
    quick=QUICK[1:],
    inputs=lambda draw, d, k, n: _flat(read(d, k, n)),  # noqa: ARG005
    operations=_operations,
)
def adbench_gmm(ops: Any, *numbers: Any, d: int, k: int, n: int) -> Any:
    """ADBench's mixture of Gaussians, number by number."""
    return objective(ops, numbers, _observations(d, k, n, adbench=True, data=files.given()), k, -1.0)


def _places(d: int) -> Any:
    """Where each entry of Q stands in the row of l, exp q and a zero."""
    import numpy as np

    places = np.full((d, d), _below(d) + d)
    columns, rows = np.triu_indices(d, 1)
    places[rows, columns] = np.arange(_below(d))
    np.fill_diagonal(places, _below(d) + np.arange(d))
    return places


def _with_places(parts: Sequence[Any], d: int) -> list[Any]:
    return [_places(d), *parts]


def of_arrays(ops: Any, places: Any, x: Any, alpha: Any, mu: Any, q: Any, below: Any, sign: float) -> Any:
    """With arrays: one product with all factors, side by side. sign: of the prior."""
    (n, d), k = x.shape, alpha.shape[0]
    none = 0.0 * ops.reshape(alpha, (k, 1))
    factors = ops.concatenate([below, ops.exp(q), none], axis=1)[:, places]
    centres = ops.reshape(ops.sum(factors * ops.reshape(mu, (k, 1, d)), axis=2), (k * d,))
    scaled = x @ ops.transpose(ops.reshape(factors, (k * d, d))) - centres
    distances = ops.sum(ops.square(ops.reshape(scaled, (n, k, d))), axis=2)
    betas = alpha + ops.sum(q, axis=1) - 0.5 * distances
    of_likelihood, of_prior = _constants(d, k, n)
    likelihood = ops.sum(ops.logsumexp(betas, axis=1)) - n * ops.logsumexp(alpha, axis=0)
    return likelihood - sign * 0.5 * ops.sum(ops.square(factors)) + (of_likelihood + sign * of_prior)


@workload(
    suite="literature",
    stresses="one large product, reductions: arithmetic (large d, k), overhead (small)",
    sizes=SIZES,
    quick=QUICK_ARRAYS,
    arrays=lambda draw, d, k, n: _with_places(generated(d, k, n), d),  # noqa: ARG005
    dtypes=("float64",),
    fixed=["x"],
    operations=lambda: 28,
    flops=lambda d, k, n: 4 * n * k * d * d,  # the observations are data: one derivative less
)
def gmm_array(ops: Any, places: Any, x: Any, alpha: Any, mu: Any, q: Any, below: Any, **_sizes: Any) -> Any:
    """A mixture of Gaussians, with arrays."""
    return of_arrays(ops, places, x, alpha, mu, q, below, 1.0)


@workload(
    suite="literature",
    stresses="as gmm_array; the objective of ADBench, which subtracts the prior",
    sizes=ADBENCH_SIZES,
    quick=QUICK_ARRAYS[1:],
    arrays=lambda draw, d, k, n: _with_places(read(d, k, n), d),  # noqa: ARG005
    dtypes=("float64",),
    fixed=["x"],
    operations=lambda: 28,
    flops=lambda d, k, n: 4 * n * k * d * d,
)
def adbench_gmm_array(ops: Any, places: Any, x: Any, alpha: Any, mu: Any, q: Any, below: Any, **_sizes: Any) -> Any:
    """ADBench's mixture of Gaussians, with arrays."""
    return of_arrays(ops, places, x, alpha, mu, q, below, -1.0)
