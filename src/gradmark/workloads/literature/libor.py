"""libor: a portfolio of swaptions in the LIBOR market model, by paths of all forward rates.

Rates Lᵢ(0) = 5 %, i < n, volatility λ = 0.2, intervals δ = ¼. In step k < n/2, for all later rates i > k,

    vᵢ = Σ δ·λ·Lⱼ / (1 + δ·Lⱼ) over k < j ≤ i,  Lᵢ ← Lᵢ·exp(λ·δ·vᵢ + λ·(√δ·zₖ - ½·λ·δ))

then, with b and s the discount and the annuity of the rates that are left, up to a swaption's maturity,

    payoff = 100·Σ max(0, 1 - b - rate·s) over 15 swaptions, discounted by all 1 + δ·Lₖ, k < n/2

and the result is the mean over paths. Source: Giles and Glasserman, Smoking Adjoints: Fast Monte Carlo Greeks (Risk,
January 2006), with the portfolio of Giles's code for n = 80; of fewer rates, maturities are shorter in proportion.
The sums inside vᵢ use rates that this step has not moved yet: each vᵢ comes before its rate.
"""

import functools
import math
from typing import Any

from gradmark.workloads.literature.streams import SEED
from gradmark.workloads.workload import workload

RATES = 80
MATURITIES = [4, 4, 4, 8, 8, 8, 20, 20, 20, 28, 28, 28, 40, 40, 40]
STRIKES = [0.045, 0.05, 0.055] * 5
RATE, VOLATILITY, INTERVAL, NOTIONAL = 0.05, 0.2, 0.25, 100.0


def _normals(n: int, paths: int) -> Any:
    """One for each step, of each path."""
    import numpy as np

    return np.random.RandomState(SEED).standard_normal((paths, n // 2))


@functools.cache
def _steps(n: int, paths: int) -> list[list[float]]:
    rows: list[list[float]] = _normals(n, paths).tolist()
    return rows


def _last(n: int) -> list[int]:
    """The place of each swaption's last rate, among those that are left."""
    return [max(1, maturity * n // RATES) - 1 for maturity in MATURITIES]


def _operations(n: int, paths: int) -> int:
    moved = sum(n - 1 - k for k in range(n // 2))
    path = 9 * moved + 5 * (n - n // 2) + 5 * len(MATURITIES) + 3 * (n // 2)
    return paths * (path + 1)


@workload(
    suite="literature",
    stresses="a nested loop number by number: many sensitivities of one price",
    sizes={"n": [RATES], "paths": [1, 10, 100]},
    quick=[{"n": 20, "paths": 2}],
    inputs=lambda draw, n: [RATE] * n,  # noqa: ARG005
    operations=_operations,
)
def libor(ops: Any, *forwards: Any, n: int, paths: int) -> Any:
    """Swaptions, path by path and number by number."""
    total: Any = None
    for normals in _steps(n, paths):
        payoff = _payoff(ops, list(forwards), normals)
        total = payoff if total is None else total + payoff
    return total * (1.0 / paths)


def _payoff(ops: Any, rates: list[Any], normals: list[float]) -> Any:
    n, steps = len(rates), len(normals)
    drift = INTERVAL * VOLATILITY
    for k, normal in enumerate(normals):
        shock = VOLATILITY * (math.sqrt(INTERVAL) * normal - 0.5 * drift)
        v: Any = 0.0
        for i in range(k + 1, n):
            v = v + drift * rates[i] / (1.0 + INTERVAL * rates[i])
            rates[i] = rates[i] * ops.exp(drift * v + shock)
    b: Any = 1.0
    s: Any = 0.0
    discounts, annuities = [], []
    for rate in rates[steps:]:
        b = b / (1.0 + INTERVAL * rate)
        s = s + INTERVAL * b
        discounts.append(b)
        annuities.append(s)
    payoff: Any = None
    for strike, last in zip(STRIKES, _last(n), strict=True):
        gain = ops.relu(1.0 - (discounts[last] + strike * annuities[last]))
        payoff = gain if payoff is None else payoff + gain
    payoff = NOTIONAL * payoff
    for rate in rates[:steps]:
        payoff = payoff / (1.0 + INTERVAL * rate)
    return payoff


def _inputs(n: int, paths: int) -> list[Any]:
    import numpy as np

    return [_normals(n, paths), np.array(_last(n)), np.array(STRIKES), np.full(n, RATE)]


@workload(
    suite="literature",
    stresses="running sums over shrinking arrays: bandwidth (many paths), overhead (few)",
    sizes={"n": [RATES], "paths": [100, 1000, 10_000]},
    quick=[{"n": 20, "paths": 100}],
    arrays=lambda draw, n, paths: _inputs(n, paths),  # noqa: ARG005
    dtypes=("float64",),
    fixed=["normals", "strikes"],
    operations=lambda n: 14 * (n // 2) + 20,
)
def libor_array(ops: Any, normals: Any, last: Any, strikes: Any, forwards: Any, *, n: int, paths: int) -> Any:
    """Swaptions, all paths at once."""
    drift = INTERVAL * VOLATILITY
    shocks = VOLATILITY * (math.sqrt(INTERVAL) * normals - 0.5 * drift)
    rates = ops.broadcast_to(ops.reshape(forwards, (1, n)), (paths, n))
    growth: Any = 1.0
    for k in range(n // 2):
        growth = growth * (1.0 + INTERVAL * rates[:, 0])
        rates = rates[:, 1:]
        v = ops.cumsum(drift * rates / (1.0 + INTERVAL * rates), axis=1)
        rates = rates * ops.exp(drift * v + shocks[:, k : k + 1])
    discounts = ops.exp(-ops.cumsum(ops.log1p(INTERVAL * rates), axis=1))
    annuities = ops.cumsum(INTERVAL * discounts, axis=1)
    gains = ops.relu(1.0 - (discounts[:, last] + strikes * annuities[:, last]))
    return NOTIONAL * ops.mean(ops.sum(gains, axis=1) / growth)
