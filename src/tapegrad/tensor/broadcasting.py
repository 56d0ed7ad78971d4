"""Broadcasting undone: the cotangent of an operand from that of the result it was broadcast to."""

import math
from typing import Any

from tapegrad.tensor.instruction import REUSED
from tapegrad.tensor.namespaces import Array, namespace

# Vectors of ones by library, dtype and length, made once; so many that a program's layers find theirs again.
_ones: dict[tuple[str, str, int], Array] = {}
KEPT = 256


def ones(xp: Any, length: int, dtype: Any) -> Array:
    """A vector of ones. Nobody may write into it."""
    key = (xp.__name__, dtype.char, length)
    found = _ones.get(key)
    if found is None:
        if len(_ones) >= KEPT:
            _ones.clear()
        found = _ones[key] = xp.ones(length, dtype)
    return found


def unbroadcast(cotangent: Array, shape: tuple[int, ...]) -> Array:
    """The sum over all axes along which an operand of this shape was repeated."""
    added = cotangent.ndim - len(shape)
    if added == 1 and cotangent.shape[1:] == shape and cotangent.size < REUSED:  # a bias, most often
        return cotangent.sum(0)
    if added and shape and cotangent.shape[added:] == shape and cotangent.flags.c_contiguous:
        # With BLAS rows are added up twice to eight times as fast as by the loop, and rounded less.
        rows = math.prod(cotangent.shape[:added])
        flat = cotangent.reshape(rows, math.prod(shape))
        return ones(namespace(cotangent), rows, cotangent.dtype).dot(flat).reshape(shape)
    axes = [k for k, length in enumerate(cotangent.shape) if k < added or (length != 1 and shape[k - added] == 1)]
    if axes:
        cotangent = cotangent.sum(tuple(axes), None, None, True)
    return cotangent.reshape(shape)
