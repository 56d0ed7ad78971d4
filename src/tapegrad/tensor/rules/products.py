"""Products: matmul in all of NumPy's cases, and einsum. The work is done by BLAS."""

import math
from typing import Any

from tapegrad.errors import ShapeError
from tapegrad.tensor.instruction import Instruction, primitive
from tapegrad.tensor.namespaces import Array
from tapegrad.tensor.rules import tangents


def flat(x: Array) -> Array:
    """A stack of matrices as one tall matrix."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])  # not -1: nothing fits it where the last axis is empty


def forward_matmul(i: Instruction, x: Array, y: Array) -> Array:
    """x·y. A stack of matrices times one matrix is one product of a tall matrix."""
    i.saved = (y if i.needs[0] else None, x if i.needs[1] else None)
    left, right = getattr(x, "ndim", 0), getattr(y, "ndim", 0)
    i.settings = (left, right)
    if right == 2 and left == 2:
        return x.dot(y)
    if right == 2 and left > 2 and x.flags.c_contiguous:
        return flat(x).dot(y).reshape(*x.shape[:-1], y.shape[-1])
    return i.xp.matmul(x, y)


def vjp_matmul(i: Instruction, g: Array) -> tuple[Array | None, Array | None]:
    """gx = g·yᵀ; gy = xᵀ·g. A vector is a matrix of one row (left) or one column (right)."""
    xp = i.xp
    y, x = i.saved  # type: ignore[misc]
    left, right = i.settings
    if right == 1:
        g = g[..., None]
    if left == 1:
        g = g[..., None, :]
    gx = gy = None
    if x is not None:
        if left == 2 and right == 2:
            gy = x.T.dot(g)
        elif right <= 2 and left > 2:
            gy = flat(x).T.dot(flat(g))
        else:
            gy = xp.matmul(x[:, None] if left == 1 else x.swapaxes(-1, -2), g)
        if right == 1:
            gy = gy[..., 0]
        if i.releasing:  # x is often the largest array of a layer: it goes before gx, of the same size, is made
            x = i.saved = None
    if y is not None:
        transposed = y.T if right == 2 else y[None, :] if right == 1 else y.swapaxes(-1, -2)
        if right <= 2 and left == 2:
            gx = g.dot(transposed)
        elif right <= 2 and left > 2:
            gx = flat(g).dot(transposed).reshape(*g.shape[:-1], transposed.shape[-1])
        else:
            gx = xp.matmul(g, transposed)
        if left == 1:
            gx = gx[..., 0, :]
    return gx, gy


def parse(subscripts: str, operands: int) -> tuple[list[str], str]:
    """The labels of each operand and of the result; without an arrow those that stand once, in alphabetical order."""
    if "." in subscripts:
        raise ShapeError(f"einsum of tensors takes no '...', got {subscripts!r}; name every axis")
    text = subscripts.replace(" ", "")
    inputs, arrow, result = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != operands:
        raise ShapeError(f"einsum {subscripts!r} names {len(terms)} operands, got {operands}")
    if not arrow:
        result = "".join(sorted(label for label in set(inputs) - {","} if inputs.count(label) == 1))
    return terms, result


def forward_einsum(i: Instruction, *xs: Array) -> Array:
    """Einstein's sum; settings: the subscripts."""
    parse(i.settings, len(xs))
    i.saved = xs
    return i.xp.einsum(i.settings, *xs, optimize=len(xs) > 1)


def vjp_einsum(i: Instruction, g: Array) -> tuple[Array | None, ...]:
    """Each operand changes places with the result: g·(all others), summed to the operand's labels."""
    xs = i.saved or ()
    terms, result = parse(i.settings, len(xs))
    return tuple(
        _operand_cotangent(i.xp, k, g, xs, terms, result) if needed else None for k, needed in enumerate(i.needs)
    )


def _operand_cotangent(xp: Any, k: int, g: Array, xs: tuple[Array, ...], terms: list[str], result: str) -> Array:
    labels = "".join(dict.fromkeys(terms[k]))
    lengths = dict(zip(terms[k], xs[k].shape, strict=True))
    others = [n for n in range(len(xs)) if n != k]
    # an axis of length 1 may have been repeated, as in broadcasting: what is left out here is summed over
    known = [
        label for label in labels if lengths[label] != 1 and (label in result or any(label in terms[n] for n in others))
    ]
    cotangent = xp.einsum(
        ",".join([result, *(terms[n] for n in others)]) + "->" + "".join(known),
        g,
        *(xs[n] for n in others),
        optimize=len(others) > 0,
    )
    # labels that only this operand has were summed over: the cotangent is the same along them
    length_of = dict(zip(known, cotangent.shape, strict=True))
    cotangent = cotangent.reshape([length_of.get(label, 1) for label in labels])
    cotangent = xp.broadcast_to(cotangent, [lengths[label] for label in labels])
    if labels == terms[k]:
        return cotangent
    whole = xp.zeros(xs[k].shape, cotangent.dtype)
    lines = {
        label: xp.arange(lengths[label]).reshape([-1 if other == label else 1 for other in labels]) for label in labels
    }
    whole[tuple(lines[label] for label in terms[k])] = cotangent  # the diagonal
    return whole


MATMUL = primitive("matmul", forward_matmul, vjp_matmul, tangents.multilinear, fresh=True)
EINSUM = primitive("einsum", forward_einsum, vjp_einsum, tangents.multilinear)
