"""Primitives of neural networks whose own vjp is stabler or cheaper than that of their parts."""

import math
from typing import Any

from tapegrad.tensor.instruction import Instruction, primitive
from tapegrad.tensor.namespaces import Array
from tapegrad.tensor.rules.reductions import reusable, shifted_exp


def forward_softmax(i: Instruction, x: Array) -> Array:
    """e^(x - m)/Σe^(x - m); settings: the axis."""
    exponentials, sums, _ = shifted_exp(i.xp, x, i.settings)
    result = i.xp.divide(exponentials, sums, out=exponentials if exponentials.shape else None)
    i.saved = (result,)
    return result


def vjp_softmax(i: Instruction, g: Array) -> tuple[Array]:
    """gx = y·(g - Σg·y)."""
    (y,) = i.saved  # type: ignore[misc]
    xp = i.xp
    product = xp.multiply(g, y, out=i.scratch)
    sums = product.sum(axis=i.settings, keepdims=True)
    product -= y * sums
    return (product,)


def forward_log_softmax(i: Instruction, x: Array) -> Array:
    """x - m - log Σe^(x - m); settings: the axis."""
    exponentials, sums, largest = shifted_exp(i.xp, x, i.settings)
    if i.needs[0]:
        i.saved = (i.xp.divide(exponentials, sums, out=exponentials if exponentials.shape else None),)
    result = x - largest  # exact near the largest; their sum with the logarithm would be rounded to their own size
    result -= i.xp.log(sums)
    return result


def vjp_log_softmax(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g - softmax(x)·Σg."""
    (softmax,) = i.saved  # type: ignore[misc]
    xp = i.xp
    sums = g.sum(axis=i.settings, keepdims=True)
    scaled = xp.multiply(softmax, sums, out=softmax if reusable(i, softmax) else None)
    return (xp.subtract(g, scaled, out=scaled if scaled.shape else None),)


def forward_cross_entropy(i: Instruction, logits: Array) -> Array:
    """log Σe^x - x[label], for each example or reduced; settings: labels, reduction."""
    labels, reduction = i.settings
    xp = i.xp
    exponentials, sums, largest = shifted_exp(xp, logits, -1)
    chosen = logits.reshape(-1).take(label_places(xp, labels, logits.shape[-1]))
    losses = xp.log(sums)[..., 0] + (largest[..., 0] - chosen)
    if i.needs[0]:
        i.saved = (xp.divide(exponentials, sums, out=exponentials),)
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / losses.dtype.type(labels.size)


def label_places(xp: Any, labels: Array, classes: int) -> Array:
    """Where each example's label is in the flattened logits."""
    return xp.arange(0, labels.size * classes, classes).reshape(labels.shape) + labels


def vjp_cross_entropy(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g·(softmax(x) - one-hot(label)), over the number of examples for the mean."""
    (softmax,) = i.saved  # type: ignore[misc]
    labels, reduction = i.settings
    xp = i.xp
    if reduction == "mean":
        g = g / g.dtype.type(labels.size)
    result = xp.multiply(softmax, g[..., None] if g.shape else g, out=softmax if i.releasing else None)
    if not result.flags.c_contiguous:
        result = xp.ascontiguousarray(result)  # of any other order reshape makes a copy
    result.reshape(-1)[label_places(xp, labels, softmax.shape[-1])] -= g
    return (result,)


def forward_layer_norm(i: Instruction, x: Array, weight: Array, bias: Array) -> Array:
    """x̂·weight + bias, x̂ = (x - x̄)/√(var + ε) over the last axis; settings: ε."""
    xp = i.xp
    if x.dtype.kind != "f":
        x = x.astype(xp.float64)
    n = x.dtype.type(1.0 / x.shape[-1])
    normal = x - x.sum(axis=-1, keepdims=True) * n
    variance = row_dot(xp, normal, normal) * n
    scale = 1 / xp.sqrt(variance + i.settings)
    normal *= scale
    if True in i.needs:
        i.saved = (normal, scale, weight)
    result = xp.multiply(normal, weight)
    return xp.add(result, bias, out=result if result.dtype == xp.result_type(result, bias) else None)


def row_dot(xp: Any, a: Array, b: Array) -> Array:
    """Σa·b over the last axis, which stays with length 1; no array of the products is made."""
    return xp.einsum("...k,...k->...", a, b)[..., None]


def vjp_layer_norm(i: Instruction, g: Array) -> tuple[Array | None, Array | None, Array | None]:
    """gx = (h - mean h - x̂·mean(h·x̂))/√(var + ε), h = g·weight; gweight = Σg·x̂; gbias = Σg."""
    xp = i.xp
    normal, scale, weight = i.saved  # type: ignore[misc]
    gx = gweight = gbias = None
    axes = tuple(range(g.ndim - 1))
    if i.needs[2]:
        gbias = g.sum(axis=axes)
    if i.needs[1]:
        gweight = xp.einsum("nk,nk->k", g.reshape(-1, g.shape[-1]), normal.reshape(-1, g.shape[-1]))
    if i.needs[0]:
        n = g.dtype.type(1.0 / g.shape[-1])
        gx = xp.multiply(g, weight, out=i.scratch)
        mean = gx.sum(axis=-1, keepdims=True) * n
        along = row_dot(xp, gx, normal) * n
        gx -= mean
        gx -= xp.multiply(normal, along, out=normal if i.releasing else None)
        gx *= scale
    return gx, gweight, gbias


def forward_attention(i: Instruction, q: Array, k: Array, v: Array) -> Array:
    """softmax(q·kᵀ/√width)·v, with later positions masked if causal; settings: causal."""
    xp = i.xp
    if q.dtype.kind != "f":
        q = q.astype(xp.float64)
    scores = xp.matmul(q * q.dtype.type(1.0 / math.sqrt(q.shape[-1])), k.swapaxes(-1, -2))
    if i.settings:
        later = xp.arange(scores.shape[-1]) > xp.arange(scores.shape[-2])[:, None]
        xp.copyto(scores, -math.inf, where=later)
    scores -= scores.max(axis=-1, keepdims=True)
    weights = xp.exp(scores, out=scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    if True in i.needs:
        i.saved = (q, k, v, weights)
    return xp.matmul(weights, v)


def vjp_attention(i: Instruction, g: Array) -> tuple[Array, Array, Array]:
    """With weights p: gv = pᵀ·g; s = p·(g·vᵀ - Σ(g·vᵀ)·p); gq = s·k/√width; gk = sᵀ·q/√width."""
    xp = i.xp
    q, k, v, weights = i.saved  # type: ignore[misc]
    gv = xp.matmul(weights.swapaxes(-1, -2), g)
    scores = xp.matmul(g, v.swapaxes(-1, -2))
    scores -= row_dot(xp, scores, weights)
    scores *= weights
    scores *= q.dtype.type(1.0 / math.sqrt(q.shape[-1]))
    return xp.matmul(scores, k), xp.matmul(scores.swapaxes(-1, -2), q), gv


def forward_embedding(i: Instruction, table: Array) -> Array:
    """The rows of a table; settings: which."""
    return table[i.settings]


def vjp_embedding(i: Instruction, g: Array) -> tuple[Array]:
    """gtable = for each row the sum of the g's that read it, found by sorting: `add.at` is many times slower."""
    xp = i.xp
    shape = i.shapes[0]  # type: ignore[index]
    rows = i.settings.reshape(-1) % shape[0]
    made = xp.zeros(shape, g.dtype)
    if rows.size:
        order = xp.argsort(rows, kind="stable")
        ordered = rows[order]
        starts = xp.concatenate([xp.zeros(1, int), xp.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
        made[ordered[starts]] = xp.add.reduceat(g.reshape(rows.size, *shape[1:])[order], starts, axis=0)
    return (made,)


SOFTMAX = primitive("softmax", forward_softmax, vjp_softmax, fresh=True)
LOG_SOFTMAX = primitive("log_softmax", forward_log_softmax, vjp_log_softmax, fresh=True)
CROSS_ENTROPY = primitive("softmax_cross_entropy", forward_cross_entropy, vjp_cross_entropy, fresh=True)
LAYER_NORM = primitive("layer_norm", forward_layer_norm, vjp_layer_norm, fresh=True)
ATTENTION = primitive("scaled_dot_product_attention", forward_attention, vjp_attention, fresh=True)
EMBEDDING = primitive("embedding", forward_embedding, vjp_embedding, fresh=True, shapes=True)
