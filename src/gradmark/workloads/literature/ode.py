"""ode: a chain of differential equations, by the Runge-Kutta method of fourth order.

    y₀' = x₀,  yᵢ' = xᵢ·yᵢ₋₁,  y(0) = 0,  from t = 0 to 2 in s steps

The result is Σ yᵢ(2). Source: GradBench, evals/ode, after `an_ode` of cmpad (https://cmpad.readthedocs.io). There it
is the last entry alone, which depends on nothing: a step takes a change four entries further, so after s ≤ 100 steps
the last of n ≥ 1000 entries is still 0, with a gradient of zeros. The sum does the same work, and its gradient can be
wrong.
"""

from typing import Any

from gradmark.workloads.literature.streams import uniform
from gradmark.workloads.workload import workload

SIZES = {"n": [1000, 10_000, 100_000], "s": [1, 10, 100]}
DURATION = 2.0


def _coefficients(n: int, s: int) -> Any:
    pairs = sorted(((size, steps) for size in SIZES["n"] for steps in SIZES["s"]), key=lambda pair: pair[0] * pair[1])
    return uniform((n, s), n, published=[(pair, pair[0]) for pair in pairs])


def _slopes(xs: Any, ys: Any) -> list[Any]:
    return [xs[0], *(x * y for x, y in zip(xs[1:], ys, strict=False))]


@workload(
    suite="literature",
    stresses="a loop of products and sums, number by number: the length of the recording",
    sizes=SIZES,
    quick=[{"n": 50, "s": 1}, {"n": 50, "s": 10}],
    inputs=lambda draw, n, s: _coefficients(n, s).tolist(),  # noqa: ARG005
    operations=lambda n, s: s * (16 * n - 4) + n - 1,
)
def ode(ops: Any, *xs: Any, n: int, s: int) -> Any:  # noqa: ARG001
    """A chain of differential equations, number by number."""
    h = DURATION / s
    ys: list[Any] = [0.0] * n
    for _ in range(s):
        k1 = _slopes(xs, ys)
        k2 = _slopes(xs, [y + 0.5 * h * k for y, k in zip(ys, k1, strict=True)])
        k3 = _slopes(xs, [y + 0.5 * h * k for y, k in zip(ys, k2, strict=True)])
        k4 = _slopes(xs, [y + h * k for y, k in zip(ys, k3, strict=True)])
        ys = [y + h / 6.0 * (a + 2.0 * (b + c) + d) for y, a, b, c, d in zip(ys, k1, k2, k3, k4, strict=True)]
    total = ys[0]
    for y in ys[1:]:
        total = total + y
    return total


def states_of_arrays(ops: Any, x: Any, start: Any, s: int) -> Any:
    """All states at the end."""
    h = DURATION / s
    one = start[:1] + 1.0

    def slopes(y: Any) -> Any:
        return x * ops.concatenate([one, y[:-1]])

    def step(y: Any, _: Any) -> Any:
        k1 = slopes(y)
        k2 = slopes(y + 0.5 * h * k1)
        k3 = slopes(y + 0.5 * h * k2)
        k4 = slopes(y + h * k3)
        return y + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4), None

    last, _ = ops.scan(step, start, None, length=s)
    return last


@workload(
    suite="literature",
    stresses="a loop over operations on shifted arrays: overhead (n=1000), bandwidth (n=100000)",
    sizes=SIZES,
    quick=[{"n": 1000, "s": 1}, {"n": 1000, "s": 10}],
    arrays=lambda draw, n, s: [_coefficients(n, s), 0.0 * _coefficients(n, s)],  # noqa: ARG005
    dtypes=("float64",),
    fixed=["start"],
    operations=lambda s: 24 * s + 1,
    bytes=lambda n, s: 100 * n * s,  # 24 operations, each of two arrays to one, with two derivatives of half of them
)
def ode_array(ops: Any, x: Any, start: Any, *, s: int, **_sizes: Any) -> Any:
    """A chain of differential equations, of one array of coefficients and one of states."""
    return ops.sum(states_of_arrays(ops, x, start, s))
