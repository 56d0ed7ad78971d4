"""lse: the logarithm of a sum of exponentials.

    f(x) = log Σ exp(xᵢ), computed as max x + log Σ exp(xᵢ - max x)

Its gradient is the softmax of x. Source: GradBench, evals/lse, where numbers are uniform from 0 to 1.
"""

from collections.abc import Sequence
from typing import Any

from gradmark.workloads.literature.streams import uniform
from gradmark.workloads.workload import workload

SIZES = [2500 * 2**k for k in range(10)]


def _numbers(n: int) -> Any:
    return uniform(n, n, published=[(size, size) for size in SIZES])


def logsumexp(ops: Any, xs: Sequence[Any]) -> Any:
    """The same of a list of numbers, wherever a problem needs it."""
    largest = xs[0]
    for x in xs[1:]:
        largest = ops.maximum(largest, x)
    total = ops.exp(xs[0] - largest)
    for x in xs[1:]:
        total = total + ops.exp(x - largest)
    return ops.log(total) + largest


def operations(n: int) -> int:
    """Of `logsumexp`: maxima, differences, exponentials and sums; a logarithm, a sum."""
    return 4 * n


@workload(
    suite="literature",
    stresses="a reduction number by number: the speed of recording",
    sizes={"n": SIZES},
    quick={"n": [100, 1000]},
    inputs=lambda draw, n: _numbers(n).tolist(),  # noqa: ARG005
    operations=operations,
)
def lse(ops: Any, *xs: Any, **_sizes: Any) -> Any:
    """The logarithm of a sum of exponentials, number by number."""
    return logsumexp(ops, xs)


def _softmax(x: Any) -> list[Any]:
    import numpy as np

    e = np.exp(x - x.max())
    return [e / e.sum()]


@workload(
    suite="literature",
    stresses="a stable reduction of one long array: bandwidth, vector exponentials",
    sizes={"n": SIZES},
    quick={"n": [2500, 40_000]},
    arrays=lambda draw, n: [_numbers(n)],  # noqa: ARG005
    dtypes=("float64",),
    operations=lambda: 1,
    bytes=lambda n: 4 * n,  # largest, sum: read; derivative: read, write
    gradient=_softmax,
)
def lse_array(ops: Any, x: Any, **_sizes: Any) -> Any:
    """The logarithm of a sum of exponentials, of one array."""
    return ops.logsumexp(x, axis=-1)
