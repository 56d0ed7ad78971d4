"""Reductions over no, one, several and all axes."""

from collections.abc import Callable

import numpy as np

from oracles.problems.drawing import Draw
from oracles.tensor import Problem
from tapegrad import tensor


def every(axis, ndim):
    """The axes as PyTorch wants them."""
    return tuple(range(ndim)) if axis is None else axis


def logsumexp(x, **over):
    return np.log(np.sum(np.exp(x), **over))


def reduction(kind: str, name: str, numpy: Callable, torch: Callable) -> Callable[[Draw], Problem]:
    def problem(d: Draw) -> Problem:
        shape = d.shape()
        axis, keepdims = d.axes(len(shape)), d.flag()
        as_method = d.flag() and name != "logsumexp"
        return Problem(
            [getattr(d, kind)(shape)],
            lambda x: (
                getattr(x, name)(axis, keepdims)
                if as_method and isinstance(x, tensor.Tensor)
                else getattr(tensor, name)(x, axis, keepdims)
            ),
            lambda x: numpy(x, axis=axis, keepdims=keepdims),
            lambda t, x: torch(t, x, every(axis, x.ndim), keepdims),
            lambda j, x: getattr(j.scipy.special if name == "logsumexp" else j.numpy, name)(
                x, axis=axis, keepdims=keepdims
            ),
        )

    return problem


def variance(d: Draw) -> Problem:
    shape = tuple(length + 1 for length in d.shape(1))  # one number has no variance with ddof 1
    axis, keepdims, ddof = d.axes(len(shape)), d.flag(), d.integer(0, 1)
    return Problem(
        [d.numbers(shape)],
        lambda x: tensor.var(x, axis, keepdims, ddof),
        lambda x: np.var(x, axis=axis, keepdims=keepdims, ddof=ddof),
        lambda t, x: t.var(x, every(axis, x.ndim), correction=ddof, keepdim=keepdims),
        lambda j, x: j.numpy.var(x, axis=axis, keepdims=keepdims, ddof=ddof),
    )


def cumsum(d: Draw) -> Problem:
    shape = d.shape(1)
    axis = None if d.flag() else d.axis(len(shape))
    return Problem(
        [d.numbers(shape)],
        lambda x: tensor.cumsum(x, axis),
        lambda x: np.cumsum(x, axis),
        lambda t, x: t.cumsum(x.reshape(-1) if axis is None else x, 0 if axis is None else axis),
        lambda j, x: j.numpy.cumsum(x, axis),
    )


PROBLEMS: dict[str, Callable[[Draw], Problem]] = {
    "sum": reduction("numbers", "sum", np.sum, lambda t, x, axis, keep: x.sum(axis, keep)),
    "mean": reduction("numbers", "mean", np.mean, lambda t, x, axis, keep: x.mean(axis, keep)),
    "max": reduction("apart", "max", np.max, lambda t, x, axis, keep: t.amax(x, axis, keep)),
    "min": reduction("apart", "min", np.min, lambda t, x, axis, keep: t.amin(x, axis, keep)),
    "var": variance,
    "logsumexp": reduction("numbers", "logsumexp", logsumexp, lambda t, x, axis, keep: t.logsumexp(x, axis, keep)),
    "cumsum": cumsum,
}
