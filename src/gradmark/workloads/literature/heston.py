"""heston: the price of a call option when volatility is random too, by many paths, and its sensitivities.

    dS/S = r·dt + √v·dW,  dv = κ·(θ - v)·dt + σ·√v·dW',  correlation of W and W' ρ
    price = e^(-r·T)·mean max(0, S(T) - K)

by Euler's method for log S and v, with v at least 10⁻⁸ wherever it is used (full truncation, but for a slope of √
that is finite). Inputs are S₀, v₀, κ, θ, σ, ρ and r. Sources: Heston, A Closed-Form Solution for Options with
Stochastic Volatility (1993), whose parameters these are (κ 2, θ and v₀ 0.01, σ 0.1, ρ -0.5, S₀ and K 100, T ½); Lord,
Koekkoek and van Dijk, A Comparison of Biased Simulation Schemes (2010).
"""

import functools
from typing import Any

from gradmark.workloads.literature.streams import SEED
from gradmark.workloads.workload import workload

PARAMETERS = [100.0, 0.01, 2.0, 0.01, 0.1, -0.5, 0.0]
STRIKE, DURATION, LEAST = 100.0, 0.5, 1e-8


def _normals(paths: int, steps: int) -> Any:
    """Two for each step, of each path."""
    import numpy as np

    return np.random.RandomState(SEED).standard_normal((steps, 2, paths))


@functools.cache
def _of_paths(paths: int, steps: int) -> list[list[list[float]]]:
    rows: list[list[list[float]]] = _normals(paths, steps).transpose(2, 0, 1).tolist()
    return rows


@workload(
    suite="literature",
    stresses="the same short code for many paths, number by number",
    sizes={"paths": [10, 100, 1000], "steps": [100]},
    quick=[{"paths": 10, "steps": 20}],
    inputs=lambda draw: PARAMETERS,  # noqa: ARG005
    operations=lambda paths, steps: paths * (19 * steps + 5) + 6,
)
def heston(
    ops: Any, spot: Any, v0: Any, kappa: Any, theta: Any, sigma: Any, rho: Any, r: Any, *, paths: int, steps: int
) -> Any:
    """A call option, path by path."""
    h = DURATION / steps
    rest = ops.sqrt(1.0 - rho * rho)
    total: Any = None
    for path in _of_paths(paths, steps):
        x, v = 0.0, v0
        for one, other in path:
            used = ops.maximum(v, LEAST)
            root = ops.sqrt(h * used)
            x = x + h * (r - 0.5 * used) + root * one
            v = v + h * (kappa * (theta - used)) + sigma * (root * (rho * one + rest * other))
        gain = ops.relu(spot * ops.exp(x) - STRIKE)
        total = gain if total is None else total + gain
    return ops.exp(-DURATION * r) * (total * (1.0 / paths))


@workload(
    suite="literature",
    stresses="a loop over long arrays: bandwidth (many paths), overhead (few)",
    sizes={"paths": [1000, 10_000, 100_000], "steps": [100]},
    quick={"paths": [1000], "steps": [20]},
    arrays=lambda draw, paths, steps: [_normals(paths, steps), PARAMETERS],  # noqa: ARG005
    dtypes=("float64",),
    fixed=["normals"],
    operations=lambda steps: 19 * steps + 20,
)
def heston_array(ops: Any, normals: Any, parameters: Any, *, steps: int, **_sizes: Any) -> Any:
    """A call option, all paths at once."""
    spot, v0, kappa, theta, sigma, rho, r = (parameters[k] for k in range(len(PARAMETERS)))
    h = DURATION / steps
    rest = ops.sqrt(1.0 - rho * rho)

    def step(carry: Any, normals: Any) -> Any:
        x, v = carry
        used = ops.maximum(v, LEAST)
        root = ops.sqrt(h * used)
        shock = rho * normals[0] + rest * normals[1]
        x = x + h * (r - 0.5 * used) + root * normals[0]
        return (x, v + h * (kappa * (theta - used)) + sigma * (root * shock)), None

    none = 0.0 * normals[0, 0]
    (x, _), _ = ops.scan(step, (none, none + v0), normals)
    return ops.exp(-DURATION * r) * ops.mean(ops.relu(spot * ops.exp(x) - STRIKE))
