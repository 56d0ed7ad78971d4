"""kmeans: how far points are from the nearest of several centres.

    f(C) = Σᵢ minⱼ |pᵢ - cⱼ|²

With the points nearest to cⱼ, as many as nⱼ, the gradient is 2·(nⱼ·cⱼ - Σ pᵢ), and the Hessian is diagonal: 2·nⱼ. A
step of Newton's method divides the one by the other, and a Hessian times a vector of ones is its diagonal, so `hvp`
is what GradBench calls `dir` asks for beside the gradient. Source: GradBench, evals/kmeans, after Bottou and Bengio,
Convergence Properties of the K-Means Algorithms (1994). Points are uniform; the last k of them are the centres.
"""

import functools
from typing import Any

from gradmark.workloads.literature.streams import uniform
from gradmark.workloads.workload import workload

SIZES = {"k": [10, 100, 1000], "n": [1000, 10_000], "d": [8, 16]}


def generated(k: int, n: int, d: int) -> list[Any]:
    """Points and centres."""
    triples = [(a, b, c) for a in SIZES["k"] for b in SIZES["n"] for c in SIZES["d"]]
    order = sorted(triples, key=lambda size: size[0] * size[1] * size[2])
    points = uniform((k, n, d), n * d, published=[(size, size[1] * size[2]) for size in order]).reshape(n, d)
    return [points, points[-k:].copy()]


@functools.cache
def _points(k: int, n: int, d: int) -> list[list[float]]:
    rows: list[list[float]] = generated(k, n, d)[0].tolist()
    return rows


def _assigned(points: Any, centres: Any) -> tuple[Any, Any]:
    """How many points are nearest to each centre, and their sum."""
    import numpy as np

    nearest = (np.square(points).sum(1)[:, None] + np.square(centres).sum(1) - 2.0 * points @ centres.T).argmin(1)
    sums = np.zeros_like(centres)
    np.add.at(sums, nearest, points)
    return np.bincount(nearest, minlength=len(centres))[:, None], sums


def _gradient(points: Any, centres: Any) -> list[Any]:
    counts, sums = _assigned(points, centres)
    return [2.0 * (counts * centres - sums)]


def _product(centres: Any, v: Any, k: int, n: int, d: int) -> Any:
    """The Hessian of the function of numbers times a vector."""
    counts, _ = _assigned(generated(k, n, d)[0], centres.reshape(k, d))
    return (2.0 * counts * v.reshape(k, d)).ravel()


@workload(
    suite="literature",
    stresses="choices number by number; a Hessian that is a diagonal",
    sizes=SIZES,
    quick=[{"k": 5, "n": 40, "d": 4}],
    inputs=lambda draw, k, n, d: generated(k, n, d)[1].ravel().tolist(),  # noqa: ARG005
    operations=lambda k, n, d: n * k * (3 * d - 1) + n * (k - 1) + n - 1,
    derivatives=["gradient", "hvp", "sparse-hessian"],
    known={"hvp": _product},
)
def kmeans(ops: Any, *numbers: Any, k: int, n: int, d: int) -> Any:
    """Distances to the nearest centre, number by number."""
    centres = [numbers[d * j : d * (j + 1)] for j in range(k)]
    total: Any = None
    for point in _points(k, n, d):
        nearest: Any = None
        for centre in centres:
            away = point[0] - centre[0]
            distance = away * away
            for p, c in zip(point[1:], centre[1:], strict=True):
                away = p - c
                distance = distance + away * away
            nearest = distance if nearest is None else ops.minimum(nearest, distance)
        total = nearest if total is None else total + nearest
    return total


@workload(
    suite="literature",
    stresses="a large product, a minimum of each row; second derivatives of both",
    sizes=SIZES,
    quick=[{"k": 10, "n": 1000, "d": 8}],
    arrays=lambda draw, k, n, d: generated(k, n, d),  # noqa: ARG005
    dtypes=("float64",),
    fixed=["points"],
    operations=lambda: 9,
    flops=lambda k, n, d: 4 * k * n * d,  # the points are data: one derivative less
    gradient=_gradient,
    derivatives=["gradient", "hvp"],
    known={"hvp": lambda points, centres, v: [2.0 * _assigned(points, centres)[0] * v]},
)
def kmeans_array(ops: Any, points: Any, centres: Any, **_sizes: Any) -> Any:
    """Distances to the nearest centre, all at once: |p|² - 2·p·c + |c|²."""
    squares = ops.sum(ops.square(points), axis=1, keepdims=True)
    distances = squares - 2.0 * (points @ ops.transpose(centres)) + ops.sum(ops.square(centres), axis=1)
    return ops.sum(ops.min(distances, axis=1))
