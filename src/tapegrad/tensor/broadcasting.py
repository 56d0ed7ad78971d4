"""Broadcasting undone: the cotangent of an operand from that of the result it was broadcast to."""

import math
from typing import Any

from tapegrad.tensor.instruction import REUSED
from tapegrad.tensor.namespaces import Array, namespace

# Arrays that do not depend on data, made once; so many that a program's layers find theirs again. Nobody may write
# into them.
_kept: dict[Any, Array] = {}
KEPT = 256


def ones(xp: Any, shape: Any, dtype: Any) -> Array:
    """An array of ones, for sums as products."""
    key = (xp, dtype.char, shape)
    known = _kept.get(key)
    return keep(key, xp.ones(shape, dtype)) if known is None else known


def starts(xp: Any, rows: int, length: int) -> Array:
    """Where each row of a matrix starts in its flattened form."""
    key = (xp, rows, length)
    known = _kept.get(key)
    return keep(key, xp.arange(0, rows * length, length) if length else xp.zeros(rows, int)) if known is None else known


def keep(key: Any, array: Array) -> Array:
    """The array, known from now on."""
    if len(_kept) >= KEPT:
        _kept.clear()
    _kept[key] = array
    return array


def unbroadcast(cotangent: Array, shape: tuple[int, ...]) -> Array:
    """The sum over all axes along which an operand of this shape was repeated."""
    repeated = cotangent.shape
    added = len(repeated) - len(shape)
    if added == 1 and len(repeated) == 2 and repeated[1] == shape[0] and cotangent.size < REUSED:  # a bias, most often
        return ones(namespace(cotangent), repeated[0], cotangent.dtype).dot(cotangent)
    if added and shape and repeated[added:] == shape and cotangent.flags.c_contiguous:
        # With BLAS rows are added up twice to eight times as fast as by the loop, and rounded less.
        rows = math.prod(repeated[:added])
        flat = cotangent.reshape(rows, math.prod(shape))
        return ones(namespace(cotangent), rows, cotangent.dtype).dot(flat).reshape(shape)
    axes = [k for k, length in enumerate(repeated) if k < added or (length != 1 and shape[k - added] == 1)]
    if axes:
        cotangent = cotangent.sum(tuple(axes), None, None, True)
    return cotangent.reshape(shape)
