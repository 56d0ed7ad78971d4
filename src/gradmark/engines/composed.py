"""Composed functions: what libraries that follow NumPy lack of the vocabulary, made of what they have.

In: a library's module. Out: functions by name, each in its numerically stable form. Adapters put their own above these.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Functions = dict[str, Callable[..., Any]]
# NumPy's name, where the vocabulary has another
RENAMED = {
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "neg": "negative",
    "pow": "power",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
}


def same_names(xp: Any, names: list[str]) -> Functions:
    """Those functions that the library has itself."""
    functions = {name: getattr(xp, RENAMED.get(name, name), None) for name in names}
    return {name: function for name, function in functions.items() if function is not None}


def composed(xp: Any) -> Functions:
    """The rest, of exp, log1p, maximum, abs, sum, max, mean, sqrt, tanh, where, swapaxes and indexing."""

    def sigmoid(x: Any) -> Any:
        return 0.5 + 0.5 * xp.tanh(0.5 * x)

    def softplus(x: Any) -> Any:
        return xp.maximum(x, 0.0) + xp.log1p(xp.exp(-xp.abs(x)))

    def gelu(x: Any, approximate: str = "none") -> Any:
        if approximate != "tanh":
            from gradmark.errors import UnsupportedError

            raise UnsupportedError("gelu without approximate='tanh' needs erf, which this engine lacks")
        return 0.5 * x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))

    def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        top = xp.max(x, axis=axis, keepdims=True)
        logarithms = xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True)) + top
        return logarithms if keepdims else xp.squeeze(logarithms, axis=axis)

    def log_softmax(x: Any, axis: int = -1) -> Any:
        return x - logsumexp(x, axis, keepdims=True)

    def softmax(x: Any, axis: int = -1) -> Any:
        e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
        return e / xp.sum(e, axis=axis, keepdims=True)

    def softmax_cross_entropy(logits: Any, labels: Any, reduction: str = "mean") -> Any:
        flat = np.asarray(labels).ravel()
        rows = xp.reshape(log_softmax(logits), (flat.size, -1))
        losses = -rows[np.arange(flat.size), flat]
        if reduction == "none":
            return xp.reshape(losses, np.shape(labels))
        return xp.mean(losses) if reduction == "mean" else xp.sum(losses)

    def layer_norm(x: Any, weight: Any = None, bias: Any = None, epsilon: float = 1e-5) -> Any:
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        y = centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + epsilon)
        y = y if weight is None else y * weight
        return y if bias is None else y + bias

    def attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
        scores = xp.matmul(q, xp.swapaxes(k, -1, -2)) / math.sqrt(q.shape[-1])
        if causal:
            scores = xp.where(np.tril(np.ones(scores.shape[-2:], dtype=bool)), scores, -math.inf)
        return xp.matmul(softmax(scores), v)

    def split(x: Any, sections: int, axis: int = 0) -> list[Any]:
        width = x.shape[axis] // sections
        before = (slice(None),) * (axis % len(x.shape))
        return [x[(*before, slice(k * width, (k + 1) * width))] for k in range(sections)]

    return {
        "sigmoid": sigmoid,
        "softplus": softplus,
        "relu": lambda x: xp.maximum(x, 0.0),
        "gelu": gelu,
        "hypot": lambda x, y: xp.sqrt(x * x + y * y),
        "square": lambda x: x * x,
        "logsumexp": logsumexp,
        "log_softmax": log_softmax,
        "softmax": softmax,
        "softmax_cross_entropy": softmax_cross_entropy,
        "layer_norm": layer_norm,
        "scaled_dot_product_attention": attention,
        "embedding": lambda table, indices: table[indices],
        "split": split,
        "dot": xp.matmul,
        "outer": lambda x, y: xp.reshape(x, (-1, 1)) * xp.reshape(y, (1, -1)),
    }
