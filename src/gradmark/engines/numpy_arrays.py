"""Plain NumPy arrays: a tensor workload without derivatives, and what finite differences of one are made of.

Written from the definitions and apart from any engine, so that no engine's mistake is repeated in the reference.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradmark.engines.protocol import Capabilities, Session, bound, namespace
from gradmark.records import Param
from gradmark.workloads.vocabulary import TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload

Array = Any  # NumPy's own types say nothing of shapes, and numbers stand for arrays everywhere


def erf(x: Array) -> Array:
    """The error function. SciPy's special functions take as long to import as all the rest, so only where needed."""
    from scipy import special

    return special.erf(x)


def sigmoid(x: Array) -> Array:
    """1/(1 + e^-x), without overflow."""
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def softplus(x: Array) -> Array:
    """log(1 + e^x), without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def gelu(x: Array, approximate: str = "none") -> Array:
    """x·Φ(x), or its approximation by tanh."""
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))


def logsumexp(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """log Σ e^x, with the largest taken out first."""
    top = np.max(x, axis=axis, keepdims=True)
    logarithms = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return logarithms if keepdims else np.squeeze(logarithms, axis=axis)


def log_softmax(x: Array, axis: int = -1) -> Array:
    """x less its logsumexp."""
    return x - logsumexp(x, axis, keepdims=True)


def softmax(x: Array, axis: int = -1) -> Array:
    """e^x over its sum."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def softmax_cross_entropy(logits: Array, labels: Array, reduction: str = "mean") -> Array:
    """The negative log-probability of each label; classes are on the last axis."""
    losses = -np.take_along_axis(log_softmax(logits), np.asarray(labels)[..., None], -1)[..., 0]
    return losses if reduction == "none" else np.mean(losses) if reduction == "mean" else np.sum(losses)


def layer_norm(x: Array, weight: Array = None, bias: Array = None, epsilon: float = 1e-5) -> Array:
    """Mean 0 and variance 1 over the last axis, then scaled and shifted."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    y = centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + epsilon)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def pair(value: Any) -> tuple[int, int]:
    """A size in both directions."""
    return (value, value) if isinstance(value, int) else tuple(value)


def windows(x: Array, size: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int], fill: float) -> Array:
    """The windows of an NCHW array: N, C, rows, columns, and the two directions of a window."""
    (up, left), (down, right) = padding, stride
    padded = np.pad(x, ((0, 0), (0, 0), (up, up), (left, left)), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(padded, size, axis=(2, 3))[:, :, ::down, ::right]


def conv2d(x: Array, weight: Array, bias: Array = None, stride: Any = 1, padding: Any = 0, groups: int = 1) -> Array:
    """Cross-correlation of NCHW with OIHW, one group of channels after another."""
    patches = windows(x, weight.shape[2:], pair(stride), pair(padding), 0.0)
    parts = [
        np.tensordot(part, kernel, ((1, 4, 5), (1, 2, 3)))
        for part, kernel in zip(np.split(patches, groups, axis=1), np.split(weight, groups), strict=True)
    ]
    y = np.moveaxis(np.concatenate(parts, axis=-1), -1, 1)
    return y if bias is None else y + bias[:, None, None]


def max_pool2d(x: Array, size: Any, stride: Any = None, padding: Any = 0) -> Array:
    """The largest of each window."""
    step = size if stride is None else stride
    return np.max(windows(x, pair(size), pair(step), pair(padding), -math.inf), axis=(-2, -1))


def avg_pool2d(x: Array, size: Any, stride: Any = None, padding: Any = 0) -> Array:
    """The mean of each window, padding included."""
    step = size if stride is None else stride
    return np.mean(windows(x, pair(size), pair(step), pair(padding), 0.0), axis=(-2, -1))


def attention(q: Array, k: Array, v: Array, causal: bool = False) -> Array:
    """softmax(q·kᵀ/√width)·v; if causal, no position sees a later one."""
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    if causal:
        mask = np.tril(np.ones(scores.shape[-2:], dtype=bool))
        scores = np.where(mask, scores, -math.inf)
    return softmax(scores) @ v


def dropout(x: Array, rate: float, seed: int) -> Array:
    """Some entries are zero, the others as much larger. Which ones is each engine's own choice."""
    kept = np.random.default_rng(seed).random(np.shape(x), dtype=np.float32) >= rate
    return np.where(kept, x / (1 - rate), 0)


OTHERS: dict[str, Any] = {
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "pow": np.power,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "relu": lambda x: np.maximum(x, 0),
    "erf": erf,
    "gelu": gelu,
    "logsumexp": logsumexp,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "softmax_cross_entropy": softmax_cross_entropy,
    "layer_norm": layer_norm,
    "conv2d": conv2d,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "dropout": dropout,
    "embedding": lambda table, indices: table[indices],
    "scaled_dot_product_attention": attention,
    "constant": np.asarray,
}
ARRAYS = namespace({name: OTHERS.get(name) or getattr(np, name) for name in TENSOR_FUNCTIONS}, "numpy")


class NumpyArrays:
    """The function alone, on NumPy."""

    name = "numpy"

    def capabilities(self) -> Capabilities:
        """Only the primal."""
        return Capabilities(
            kinds=("tensor",), dtypes=("float32", "float64"), gradients=False, reason="numpy evaluates only"
        )

    def prepare(self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> Session:
        """The bound function."""
        return Session(primal=bound(workload, ARRAYS, inputs, params))


def in_doubles(workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]) -> tuple[Any, list[Any]]:
    """The function on NumPy, and its inputs in float64: where references are made, whatever the dtype of a cell."""
    return partial(workload.function, ARRAYS, **params), [
        x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs
    ]
