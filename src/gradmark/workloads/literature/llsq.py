"""llsq: how far a polynomial is from the sign function, by least squares.

    f(x) = ½ Σᵢ (sign tᵢ - Σⱼ xⱼ tᵢʲ)²,  tᵢ = -1 + 2i / (n - 1)

for i < n and j < m. With V the matrix of powers, the gradient is -Vᵀ(sign t - V·x). Source: GradBench, evals/llsq,
after `llsq_obj` of cmpad (https://cmpad.readthedocs.io).
"""

from typing import Any

from gradmark.workloads.literature.streams import uniform
from gradmark.workloads.workload import workload

SIZES = {"n": [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8196, 16392], "m": [128]}


def _coefficients(n: int, m: int) -> Any:
    return uniform((n, m), m, published=[((size, m), m) for size in SIZES["n"]] if m in SIZES["m"] else ())


def _sign(t: float) -> float:
    return float(t > 0.0) - float(t < 0.0)


@workload(
    suite="literature",
    stresses="products with constants and long sums, number by number",
    sizes=SIZES,
    quick=[{"n": 16, "m": 16}, {"n": 64, "m": 16}],
    inputs=lambda draw, n, m: _coefficients(n, m).tolist(),  # noqa: ARG005
    operations=lambda n, m: 2 * n * (m + 1) + 1,
)
def llsq(ops: Any, *xs: Any, n: int, m: int) -> Any:  # noqa: ARG001
    """Least squares with a polynomial, number by number."""
    total = 0.0
    for i in range(n):
        t = -1.0 + 2.0 * i / (n - 1)
        left, power = _sign(t), 1.0
        for x in xs:
            left = left - x * power
            power = power * t
        total = total + left * left
    return 0.5 * total


def _powers(n: int, m: int) -> list[Any]:
    """The signs and the matrix of powers of t, each power the one before it times t."""
    import numpy as np

    t = -1.0 + 2.0 * np.arange(n) / (n - 1)
    rows = np.ones((n, m))
    rows[:, 1:] = t[:, None]
    return [np.sign(t), np.cumprod(rows, axis=1)]


@workload(
    suite="literature",
    stresses="products of a matrix with a vector, forward and transposed: bandwidth",
    sizes=SIZES,
    quick=[{"n": 128, "m": 128}, {"n": 1024, "m": 128}],
    arrays=lambda draw, n, m: [*_powers(n, m), _coefficients(n, m)],  # noqa: ARG005
    dtypes=("float64",),
    fixed=["signs", "powers"],
    operations=lambda: 5,
    flops=lambda n, m: 4 * n * m,
    bytes=lambda n, m: 2 * n * m,  # the matrix is read twice
    gradient=lambda signs, powers, x: [powers.T @ (powers @ x - signs)],
)
def llsq_array(ops: Any, signs: Any, powers: Any, x: Any, **_sizes: Any) -> Any:
    """Least squares with a polynomial, its powers given as a matrix."""
    return 0.5 * ops.sum(ops.square(signs - powers @ x))
