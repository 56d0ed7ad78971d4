"""Hand-written adjoints of the memory-bound tensor workloads, on NumPy: arrays are touched as seldom as can be."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradmark.workloads.tensor import AXES

Pair = tuple[Callable[[], Any], Callable[[], list[Any]]]


def elementwise(x: Any, *, depth: int, **_sizes: Any) -> Pair:
    """y ← y·x: x̄ += ȳ·y, ȳ ← ȳ·x, in place."""
    kept: list[Any] = []

    def forward() -> Any:
        kept.clear()
        y = x
        for _ in range(depth):
            kept.append(y)
            y = y * x
        return np.sum(y)

    def backward() -> list[Any]:
        seed, slope = x.copy(), kept[-1].copy()  # of the last step, whose seed is one
        part = np.empty_like(x)
        for y in reversed(kept[:-1]):
            np.multiply(seed, y, out=part)
            slope += part
            seed *= x
        slope += seed
        return [slope]

    return forward, backward


def broadcast_add(x: Any, row: Any, *, n: int) -> Pair:
    """Ones, and one for each row."""
    return lambda: np.sum(x + row), lambda: [np.ones_like(x), np.full_like(row, n)]


def reduce_sum(x: Any, **_sizes: Any) -> Pair:
    """Ones."""
    return lambda: np.sum(x), lambda: [np.ones_like(x)]


def softplus(x: Any, **_sizes: Any) -> Pair:
    """Its derivative is the sigmoid: of e = exp(-|x|) that is 1/(1 + e), or e/(1 + e) where x is negative."""
    e = np.empty_like(x)

    def forward() -> Any:
        np.abs(x, out=e)
        np.negative(e, out=e)
        np.exp(e, out=e)
        return np.sum(np.maximum(x, 0) + np.log1p(e))

    return forward, lambda: [np.where(x < 0, e, 1) / (1 + e)]


def logsumexp(x: Any, **_sizes: Any) -> Pair:
    """The softmax of each row."""
    e, total = np.empty_like(x), np.empty_like(x[:, :1])

    def forward() -> Any:
        top = np.max(x, axis=-1, keepdims=True)
        np.subtract(x, top, out=e)
        np.exp(e, out=e)
        np.sum(e, axis=-1, keepdims=True, out=total)
        return np.sum(np.log(total) + top)

    return forward, lambda: [e / total]


def reduce_axis(x: Any, *, axis: str, **_sizes: Any) -> Pair:
    """The mean square of sums: twice the sums over their number, spread along the axis."""
    sums: Any = None

    def forward() -> Any:
        nonlocal sums
        sums = np.sum(x, axis=AXES[axis], keepdims=True)
        return np.mean(np.square(sums))

    return forward, lambda: [np.broadcast_to(sums * (2 / sums.size), x.shape).astype(x.dtype)]


def cross_entropy(logits: Any, labels: Any, **_sizes: Any) -> Pair:
    """Softmax minus one-hot, over the batch."""
    places = np.arange(len(labels))
    e: Any = None
    total: Any = None

    def forward() -> Any:
        nonlocal e, total
        shifted = logits - np.max(logits, axis=-1, keepdims=True)
        picked = shifted[places, labels]
        e = np.exp(shifted, out=shifted)
        total = np.sum(e, axis=-1, keepdims=True)
        return np.mean(np.log(total[:, 0]) - picked)

    def backward() -> list[Any]:
        slope = e / (total * len(labels))
        slope[places, labels] -= 1 / len(labels)
        return [slope]

    return forward, backward


ARRAYS = {
    pair.__name__: pair
    for pair in (elementwise, broadcast_add, reduce_sum, softplus, logsumexp, reduce_axis, cross_entropy)
}
