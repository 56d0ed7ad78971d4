"""The tensor suite: small functions of arrays, each hard on one part of an engine; the networks are in their own file.

Sizes go from tiny, where only overhead counts, to large, where bandwidth or arithmetic does. NumPy is imported where a
gradient is asked for, because most processes that import this file never do.
"""

from typing import Any

from gradmark.workloads.workload import workload

# The words of `axis` in `reduce_axis`: a number would be taken for a size.
AXES = {"first": 0, "middle": 1, "last": 2}


def _outside(width: int) -> tuple[int, int]:
    """Inputs and classes of `mlp_step` for each width of its hidden layer."""
    return (16, 4) if width <= 32 else (784, 10)


@workload(
    suite="tensor",
    stresses="overhead of a primitive (n=1), bandwidth (large n)",
    sizes={"depth": [4, 16, 64], "n": [1, 100, 10_000, 1_000_000]},
    quick=[{"depth": 16, "n": 1}, {"depth": 4, "n": 100_000}],
    arrays=lambda draw, n: [draw.uniform(0.99, 1.01, size=n)],
    operations=lambda depth: depth + 1,
    # a product reads two arrays and writes one; so does each of its two derivatives, and one of them is added to a sum
    bytes=lambda depth, n: 12 * depth * n,
    gradient=lambda x, depth: [(depth + 1) * x**depth],
)
def elementwise(ops: Any, x: Any, *, depth: int, **_sizes: Any) -> Any:
    """A chain of products, entry by entry."""
    y = x
    for _ in range(depth):
        y = y * x
    return ops.sum(y)


@workload(
    suite="tensor",
    stresses="arithmetic (BLAS)",
    sizes={"n": [8, 32, 128, 512, 1024]},
    quick={"n": [8, 256]},
    arrays=lambda draw, n: [draw.normal(size=(n, n)), draw.normal(size=(n, n))],
    operations=lambda: 2,
    flops=lambda n: 6 * n**3,  # one product forward, two backward
    gradient=lambda a, b: [0 * a + b.sum(axis=1), 0 * b + a.sum(axis=0)[:, None]],
)
def matmul(ops: Any, a: Any, b: Any, **_sizes: Any) -> Any:
    """The sum of a product of matrices."""
    return ops.sum(a @ b)


@workload(
    suite="tensor",
    stresses="broadcasting undone, bandwidth",
    sizes={"n": [1, 32, 256, 1024, 2048]},
    quick={"n": [1024]},
    arrays=lambda draw, n: [draw.normal(size=(n, n)), draw.normal(size=n)],
    operations=lambda: 2,
    bytes=lambda n: 5 * n * n,  # add: read, write; sum: read; its derivative: write; broadcasting undone: read
    gradient=lambda x, row, n: [0 * x + 1, 0 * row + n],
)
def broadcast_add(ops: Any, x: Any, row: Any, **_sizes: Any) -> Any:
    """A row added to every row of a matrix."""
    return ops.sum(x + row)


@workload(
    suite="tensor",
    stresses="reduction, bandwidth",
    sizes={"n": [1, 32, 256, 1024, 2048]},
    quick={"n": [1024]},
    arrays=lambda draw, n: [draw.normal(size=(n, n))],
    operations=lambda: 1,
    bytes=lambda n: 2 * n * n,
    gradient=lambda x: [0 * x + 1],
)
def reduce_sum(ops: Any, x: Any, **_sizes: Any) -> Any:
    """The sum of a matrix."""
    return ops.sum(x)


def _sigmoid(x: Any) -> list[Any]:
    import numpy as np

    return [0.5 + 0.5 * np.tanh(0.5 * x)]


@workload(
    suite="tensor",
    stresses="stable elementwise function",
    sizes={"n": [1, 1000, 10_000, 100_000, 1_000_000]},
    quick={"n": [10_000]},
    arrays=lambda draw, n: [draw.uniform(-20.0, 20.0, size=n)],
    operations=lambda: 2,
    bytes=lambda n: 6 * n,  # softplus: read, write; sum: read; derivatives: write, read, write
    gradient=_sigmoid,
)
def softplus(ops: Any, x: Any, **_sizes: Any) -> Any:
    """log(1 + e^x), summed."""
    return ops.sum(ops.softplus(x))


def _softmax(x: Any) -> list[Any]:
    import numpy as np

    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return [e / e.sum(axis=-1, keepdims=True)]


@workload(
    suite="tensor",
    stresses="stable reduction",
    sizes={"n": [1, 32, 256, 1024]},
    quick={"n": [256]},
    arrays=lambda draw, n: [draw.uniform(-20.0, 20.0, size=(n, n))],
    operations=lambda: 2,
    bytes=lambda n: 5 * n * n,  # largest: read; differences: read, write; derivative: read, write
    gradient=_softmax,
)
def logsumexp(ops: Any, x: Any, **_sizes: Any) -> Any:
    """log Σ e^x of every row, summed."""
    return ops.sum(ops.logsumexp(x, axis=-1))


@workload(
    suite="tensor",
    stresses="a training step: overhead (width=32), arithmetic (width=256)",
    sizes={"batch": [8, 32, 128, 512], "width": [32, 256]},
    quick=[{"batch": 8, "width": 32}, {"batch": 128, "width": 256}],
    arrays=lambda draw, batch, width: [
        draw.normal(size=(batch, _outside(width)[0])),
        draw.integers(_outside(width)[1], size=batch),
        draw.normal(size=(_outside(width)[0], width)) / _outside(width)[0] ** 0.5,
        0.1 * draw.normal(size=width),
        draw.normal(size=(width, _outside(width)[1])) / width**0.5,
        0.1 * draw.normal(size=_outside(width)[1]),
    ],
    fixed=["x"],
    operations=lambda: 6,
    # the first product has one derivative: x is data
    flops=lambda batch, width: batch * width * (4 * _outside(width)[0] + 6 * _outside(width)[1]),
)
def mlp_step(
    ops: Any,
    x: Any,
    labels: Any,
    w1: Any,
    b1: Any,
    w2: Any,
    b2: Any,
    **_sizes: Any,
) -> Any:
    """Loss and gradient of a classifier with one hidden layer: 16–32–4 or 784–256–10."""
    hidden = ops.tanh(x @ w1 + b1)
    return ops.softmax_cross_entropy(hidden @ w2 + b2, labels)


@workload(
    suite="tensor",
    stresses="reduction over each axis: strides",
    sizes={"axis": list(AXES), "n": [8, 32, 128]},
    quick={"n": [64]},
    arrays=lambda draw, n: [draw.normal(size=(n, n, n))],
    operations=lambda: 3,
    bytes=lambda n: 2 * n**3,
    gradient=lambda x, axis, n: [0 * x + 2 * x.sum(axis=AXES[axis], keepdims=True) / n**2],
    extra=True,
)
def reduce_axis(ops: Any, x: Any, *, axis: str, **_sizes: Any) -> Any:
    """The mean square of the sums along one of three axes."""
    return ops.mean(ops.square(ops.sum(x, axis=AXES[axis])))


@workload(
    suite="tensor",
    stresses="fused loss: softmax minus one-hot",
    sizes={"batch": [8, 128, 1024], "classes": [10, 1000]},
    quick=[{"batch": 8, "classes": 10}, {"batch": 128, "classes": 1000}],
    arrays=lambda draw, batch, classes: [3 * draw.normal(size=(batch, classes)), draw.integers(classes, size=batch)],
    operations=lambda: 1,
    bytes=lambda batch, classes: 5 * batch * classes,  # as logsumexp
    gradient=lambda logits, labels: _softmax_minus_one_hot(logits, labels),
    extra=True,
)
def cross_entropy(ops: Any, logits: Any, labels: Any, **_sizes: Any) -> Any:
    """Softmax cross-entropy, the mean over a batch."""
    return ops.softmax_cross_entropy(logits, labels)


def _softmax_minus_one_hot(logits: Any, labels: Any) -> list[Any]:
    (softmax,) = _softmax(logits)
    softmax[range(len(labels)), labels] -= 1
    return [softmax / len(labels)]
