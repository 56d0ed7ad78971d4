"""Broadcasting undone: the cotangent of an operand from that of the result it was broadcast to."""

import functools
import math
from typing import Any

from tapegrad.tensor.namespaces import Array, namespace


@functools.lru_cache(maxsize=64)
def ones(xp: Any, length: int, dtype: Any) -> Array:
    """A vector of ones, made once."""
    return xp.ones(length, dtype)


def unbroadcast(cotangent: Array, shape: tuple[int, ...]) -> Array:
    """The sum over all axes along which an operand of this shape was repeated."""
    added = cotangent.ndim - len(shape)
    if added and shape and cotangent.shape[added:] == shape and cotangent.flags.c_contiguous:
        # A bias: its rows are added up with BLAS, twice to eight times as fast as by the loop, and rounded less.
        rows = math.prod(cotangent.shape[:added])
        return (
            ones(namespace(cotangent), rows, cotangent.dtype)
            .dot(cotangent.reshape(rows, math.prod(shape)))
            .reshape(shape)
        )
    axes = [k for k, length in enumerate(cotangent.shape) if k < added or (length != 1 and shape[k - added] == 1)]
    if axes:
        cotangent = cotangent.sum(tuple(axes), None, None, True)
    return cotangent.reshape(shape)
