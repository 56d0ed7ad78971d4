"""Primitives of neural networks."""

from collections.abc import Callable

import numpy as np
import scipy.special

from oracles.problems.drawing import Draw
from oracles.tensor import Problem
from tapegrad import tensor


def over_axis(ours: Callable, numpy: Callable, name: str) -> Callable[[Draw], Problem]:
    def problem(d: Draw) -> Problem:
        x = d.numbers(d.shape(1))
        axis = d.axis(x.ndim)
        return Problem(
            [x],
            lambda x: ours(x, axis),
            lambda x: numpy(x, axis=axis),
            lambda t, x: getattr(t, name)(x, axis),
            lambda j, x: getattr(j.nn, name)(x, axis),
        )

    return problem


def cross_entropy(d: Draw) -> Problem:
    shape = d.shape(1)
    classes = shape[-1]
    labels = d.rng.integers(0, classes, shape[:-1])
    reduction = d.choice(["mean", "sum", "none"])
    reduced = {"mean": np.mean, "sum": np.sum, "none": lambda x: x}[reduction]

    def reference(x):
        return reduced(-np.take_along_axis(scipy.special.log_softmax(x, -1), labels[..., None], -1)[..., 0])

    def in_jax(j, x):
        losses = -j.numpy.take_along_axis(j.nn.log_softmax(x), labels[..., None], -1)[..., 0]
        return losses if reduction == "none" else getattr(losses, reduction)()

    def in_torch(t, x):
        losses = t.nn.functional.cross_entropy(
            x.reshape(-1, classes), t.tensor(labels.reshape(-1)), reduction=reduction
        )
        return losses.reshape(labels.shape) if reduction == "none" else losses

    return Problem([d.numbers(shape)], lambda x: tensor.softmax_cross_entropy(x, labels, reduction), reference,
                   in_torch, in_jax)  # fmt: skip


def layer_norm(d: Draw) -> Problem:
    shape = (*d.shape(0, 2), d.integer(2, 5))
    x = 2 * d.apart(shape)  # numbers that are almost equal have almost no variance to divide by
    count = d.integer(0, 2)
    epsilon = d.choice([1e-5, 0.1])

    def reference(x, weight=1.0, bias=0.0):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + epsilon) * weight + bias

    def in_jax(j, x, weight=1.0, bias=0.0):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) * j.lax.rsqrt(variance + epsilon) * weight + bias

    return Problem(
        [x, *(d.numbers(shape[-1:]) for _ in range(count))],
        lambda x, weight=None, bias=None: tensor.layer_norm(x, weight, bias, epsilon),
        reference,
        lambda t, x, weight=None, bias=None: t.nn.functional.layer_norm(x, shape[-1:], weight, bias, epsilon),
        in_jax,
    )


def attention(d: Draw) -> Problem:
    queries, keys, width, values = (d.integer(1, 4) for _ in range(4))
    left, right = d.batches()
    batch = d.choice([(left, left, left), (left, right, right), (left, left, right), (right, left, left)])
    causal = d.flag()

    def masked(xp, scores):
        return xp.where(xp.tril(xp.ones((queries, keys))) > 0, scores, -np.inf) if causal else scores

    def reference(q, k, v):
        scores = masked(np, np.matmul(q, np.swapaxes(k, -1, -2)) / np.sqrt(width))
        return np.matmul(scipy.special.softmax(scores, -1), v)

    def in_jax(j, q, k, v):
        scores = masked(j.numpy, j.numpy.matmul(q, j.numpy.swapaxes(k, -1, -2)) / np.sqrt(width))
        return j.numpy.matmul(j.nn.softmax(scores), v)

    shapes = [(queries, width), (keys, width), (keys, values)]
    return Problem(
        [d.numbers((*some, *shape)) for some, shape in zip(batch, shapes, strict=True)],
        lambda q, k, v: tensor.scaled_dot_product_attention(q, k, v, causal),
        reference,
        lambda t, q, k, v: t.softmax(masked(t, q @ k.mT / np.sqrt(width)), -1) @ v,
        in_jax,
    )


def embedding(d: Draw) -> Problem:
    table = d.numbers((d.integer(1, 4), *d.shape(0, 2)))
    rows = len(table)
    indices = d.rng.integers(-rows, rows, d.shape(0, 2))
    return Problem(
        [table],
        lambda x: tensor.embedding(x, indices),
        lambda x: x[indices],
        lambda t, x: x[t.tensor(indices)],
        lambda j, x: x[indices],
    )


PROBLEMS: dict[str, Callable[[Draw], Problem]] = {
    "softmax": over_axis(tensor.softmax, scipy.special.softmax, "softmax"),
    "log_softmax": over_axis(tensor.log_softmax, scipy.special.log_softmax, "log_softmax"),
    "softmax_cross_entropy": cross_entropy,
    "layer_norm": layer_norm,
    "scaled_dot_product_attention": attention,
    "embedding": embedding,
}
