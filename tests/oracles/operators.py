"""PyTorch's operators in terms of this engine's functions, called as PyTorch calls them.

In: the arguments of one of PyTorch's own samples. Out: a tensor or several; `UnsupportedError` where there is no such
thing here. What an adapter does not name as its parameter is not supported either.
"""

import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import tensor
from tapegrad.tensor import Tensor


class UnsupportedError(Exception):
    """A sample uses something that the engine does not have."""


def need(condition: Any) -> None:
    if not condition:
        raise UnsupportedError


def constant(value: Any) -> bool:
    return not (isinstance(value, Tensor) and value.requires_grad)


def axis_of(x: Tensor, dim: Any) -> Any:
    """PyTorch counts an axis of a tensor that has none as its only one."""
    need(x.ndim)
    return tuple(dim) if isinstance(dim, list | tuple) else dim


def axes_of(x: Tensor, dim: Any) -> Any:
    """PyTorch's () is all of them."""
    return None if dim is None or (isinstance(dim, tuple | list) and not dim) else axis_of(x, dim)


def reduction(f: Callable) -> Callable:
    return lambda x, dim=None, keepdim=False: f(x, axes_of(x, dim), keepdim)


def var(x, dim=None, unbiased=True, *, correction=None, keepdim=False):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return tensor.var(x, axes_of(x, dim), keepdim, int(unbiased) if correction is None else correction)


def clamp(x, min=None, max=None):
    if constant(min) and constant(max):
        return tensor.clip(x, min, max)
    x = x if min is None else tensor.maximum(x, min)
    return x if max is None else tensor.minimum(x, max)


def flatten(x, start_dim=0, end_dim=-1):
    shape = x.shape or (1,)
    start, end = start_dim % len(shape), end_dim % len(shape)
    return tensor.reshape(x, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


def squeeze(x, dim=None):
    if dim is not None and x.shape[axis_of(x, dim)] != 1:
        return x * 1  # PyTorch leaves other axes alone
    return tensor.squeeze(x, dim)


def expand(x, *shape):
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    added = len(shape) - x.ndim
    return tensor.broadcast_to(x, tuple(x.shape[k - added] if n == -1 else n for k, n in enumerate(shape)))


def concatenate(xs, dim=0):
    need(len({x.ndim for x in xs}) == 1)  # PyTorch skips empty vectors among other tensors
    return tensor.concatenate(xs, dim)


def split(x, sizes, dim=0):
    length = x.shape[dim]
    if isinstance(sizes, int):
        sizes = [min(sizes, length - start) for start in range(0, length, sizes)]
    return tensor.split(x, np.cumsum(sizes)[:-1].tolist(), dim)


def tensor_split(x, sections, dim=0):
    axis_of(x, dim)
    if isinstance(sections, np.ndarray):
        sections = sections.tolist()
    if isinstance(sections, int):
        short, rest = divmod(x.shape[dim], sections)
        sections = np.cumsum([short + (k < rest) for k in range(sections)])[:-1].tolist()
    return tensor.split(x, sections, dim)


def chunk(x, chunks, dim=0):
    return split(x, max(1, -(-x.shape[dim] // chunks)), dim)


def along(x, dim, index):
    """x with an index on one axis."""
    return x[(slice(None),) * (axis_of(x, dim) % x.ndim) + (index,)]


def narrow(x, dim, start, length):
    start = int(start)
    start += x.shape[dim] if start < 0 else 0
    return along(x, dim, slice(start, start + length))


def gather(x, dim, index):
    need(x.ndim == index.ndim > 0)
    dim %= x.ndim
    part = x[tuple(slice(None) if k == dim else slice(n) for k, n in enumerate(index.shape))]
    return tensor.take_along_axis(part, index, dim)


def take_along_dim(x, index, dim=None):
    return tensor.take_along_axis(*((x.reshape(-1), index.reshape(-1), 0) if dim is None else (x, index, dim)))


def getitem(x, index):
    return x[tuple(index) if isinstance(index, list) and any(isinstance(k, slice) for k in index) else index]


def einsum(xs, equation):
    need("." not in equation)
    return tensor.einsum(equation, *xs)


def inner(x, y):
    return x * y if not x.ndim or not y.ndim else tensor.dot(x, tensor.swapaxes(y, -1, -2) if y.ndim > 1 else y)


def softplus(x, beta=1, threshold=20):
    need((np.abs(x.data * beta) < threshold).all())  # beyond, PyTorch replaces it by x
    return tensor.softplus(x * beta) / beta


def pad(x, widths, mode="constant", value=0.0):
    need(mode == "constant" and min(widths) >= 0)
    pairs = list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    return tensor.pad(x, pairs) + np.pad(np.zeros(x.shape), pairs, constant_values=value or 0.0)


def cross_entropy(x, target, *, reduction="mean", ignore_index=-100):
    need(isinstance(target, np.ndarray) and x.ndim > 1)  # or probabilities
    need((target != ignore_index).all())
    return tensor.softmax_cross_entropy(tensor.transpose(x, (0, *range(2, x.ndim), 1)), target, reduction)


def layer_norm(x, shape, weight=None, bias=None, *, eps=1e-5):
    need(len(shape) == 1)
    return tensor.layer_norm(x, weight, bias, eps)


def of_images(f, x):
    """PyTorch takes one image, too."""
    return f(x) if x.ndim == 4 else f(tensor.expand_dims(x, 0))[0]


def conv2d(x, weight, bias=None, *, stride=1, padding=0, dilation=1, groups=1):
    need(not isinstance(padding, str) and dilation in (1, (1, 1)))
    return of_images(lambda x: tensor.conv2d(x, weight, bias, stride, padding, groups), x)


def fits(x, size, stride, padding):
    """Whether windows end where the image does, so that rounding up makes no difference."""
    pairs = [(n, n) if isinstance(n, int) else (n[0], n[-1]) for n in (size, stride or size, padding)]
    return all((x.shape[k - 2] + 2 * p[k] - s[k]) % t[k] == 0 for s, t, p in [pairs] for k in (0, 1))


def max_pool2d(x, *, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    need(dilation in (1, (1, 1)) and not return_indices)
    need(not ceil_mode or fits(x, kernel_size, stride, padding))
    return of_images(lambda x: tensor.max_pool2d(x, kernel_size, stride or None, padding), x)


def avg_pool2d(x, size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    need(not ceil_mode or fits(x, size, stride, padding))
    need(count_include_pad or not np.any(padding))
    scale = 1.0 if divisor_override is None else math.prod((size, size) if isinstance(size, int) else size)
    y = of_images(lambda x: tensor.avg_pool2d(x, size, stride or None, padding), x)
    return y * scale / (divisor_override or 1)


def embedding(table, indices):
    return tensor.embedding(table, indices)


def attention(q, k, v, *, dropout_p=0.0, is_causal=False):
    need(not dropout_p)
    return tensor.scaled_dot_product_attention(q, k, v, is_causal)


def linear(x, weight, bias=None):
    need(weight.ndim == 2)
    return x @ weight.T if bias is None else x @ weight.T + bias


def movedim(x, source, destination):
    order = [k for k in range(x.ndim) if k not in [s % x.ndim for s in source]]
    for d, s in sorted((d % x.ndim, s % x.ndim) for s, d in zip(source, destination, strict=True)):
        order.insert(d, s)
    return tensor.transpose(x, order)


def flip(x, dims):
    dims = [dims] if isinstance(dims, int) else [d % x.ndim for d in dims]
    return x[tuple(slice(None, None, -1 if k in dims else None) for k in range(x.ndim))]


def filled(x, dim):
    """An axis that has a largest number."""
    need(x.shape[axis_of(x, dim)])
    return dim


def unary(f: Callable) -> Callable:
    return lambda x: f(x)


# The name of an operator, with that of its variant after a dot.
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y, *, alpha=1: x + y * alpha,
    "sub": lambda x, y, *, alpha=1: x - y * alpha,
    "rsub": lambda x, y, *, alpha=1: y - x * alpha,
    "mul": operator.mul,
    "div.no_rounding_mode": operator.truediv,
    "true_divide": operator.truediv,
    "pow": operator.pow,
    "__radd__": lambda x, y: y + x,
    "__rsub__": lambda x, y: y - x,
    "__rmul__": lambda x, y: y * x,
    "__rdiv__": lambda x, y: y / x,
    "__rpow__": lambda x, y: y**x,
    "maximum": tensor.maximum,
    "minimum": tensor.minimum,
    "max.binary": tensor.maximum,
    "min.binary": tensor.minimum,
    "where": lambda x, condition, y: tensor.where(condition, x, y),
    "clamp": clamp,
    "neg": unary(operator.neg),
    "abs": unary(abs),
    "exp": unary(tensor.exp),
    "expm1": unary(tensor.expm1),
    "log": unary(tensor.log),
    "log1p": unary(tensor.log1p),
    "sqrt": unary(tensor.sqrt),
    "rsqrt": lambda x: x**-0.5,
    "reciprocal": lambda x: 1 / x,
    "square": unary(tensor.square),
    "sin": unary(tensor.sin),
    "cos": unary(tensor.cos),
    "tanh": unary(tensor.tanh),
    "sigmoid": unary(tensor.sigmoid),
    "erf": unary(tensor.erf),
    "nn.functional.softplus": softplus,
    "nn.functional.relu": unary(tensor.relu),
    "nn.functional.gelu": lambda x, approximate="none": tensor.gelu(x, approximate),
    "nn.functional.silu": lambda x: x * tensor.sigmoid(x),
    "nn.functional.logsigmoid": lambda x: -tensor.softplus(-x),
    "sum": reduction(tensor.sum),
    "mean": reduction(tensor.mean),
    "amax": reduction(tensor.max),
    "amin": reduction(tensor.min),
    "max.reduction_no_dim": unary(tensor.max),
    "min.reduction_no_dim": unary(tensor.min),
    "var": var,
    "logsumexp": reduction(tensor.logsumexp),
    "cumsum": lambda x, dim: tensor.cumsum(x, axis_of(x, dim)),
    "reshape": lambda x, shape: tensor.reshape(x, shape),
    "view": lambda x, shape: tensor.reshape(x, shape),
    "flatten": flatten,
    "permute": lambda x, dims: tensor.transpose(x, dims),
    "transpose": lambda x, first, second: tensor.swapaxes(x, axis_of(x, first), second),
    "t": lambda x: x.T,
    "movedim": movedim,
    "flip": flip,
    "unsqueeze": lambda x, dim: tensor.expand_dims(x, dim),
    "squeeze": squeeze,
    "expand": expand,
    "broadcast_to": lambda x, shape: tensor.broadcast_to(x, shape),
    "cat": concatenate,
    "stack": lambda xs, dim=0: tensor.stack(xs, dim),
    "split": split,
    "split.list_args": split,
    "tensor_split": tensor_split,
    "chunk": chunk,
    "unbind": lambda x, dim=0: [along(x, dim, k) for k in range(x.shape[dim])],
    "select": along,
    "index_select": along,
    "narrow": narrow,
    "gather": gather,
    "take_along_dim": take_along_dim,
    "__getitem__": getitem,
    "nn.functional.pad.constant": pad,
    "matmul": operator.matmul,
    "__rmatmul__": lambda x, y: y @ x,
    "mm": operator.matmul,
    "bmm": operator.matmul,
    "mv": operator.matmul,
    "dot": tensor.dot,
    "inner": inner,
    "outer": tensor.outer,
    "einsum": einsum,
    "addmm": lambda x, a, b, *, alpha=1, beta=1: x * beta + (a @ b) * alpha,
    "nn.functional.linear": linear,
    "softmax": lambda x, dim: tensor.softmax(x, filled(x, dim)),
    "log_softmax": lambda x, dim: tensor.log_softmax(x, filled(x, dim)),
    "nn.functional.cross_entropy": cross_entropy,
    "nn.functional.layer_norm": layer_norm,
    "nn.functional.conv2d": conv2d,
    "nn.functional.max_pool2d": max_pool2d,
    "nn.functional.avg_pool2d": avg_pool2d,
    "nn.functional.embedding": embedding,
    "nn.functional.scaled_dot_product_attention": attention,
}


def call(name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """The adapter's result; `UnsupportedError` also for parameters that it does not have."""
    adapter = OPERATORS[name]
    try:
        inspect.signature(adapter).bind(*args, **named)
    except TypeError:
        raise UnsupportedError from None
    return adapter(*args, **named)
