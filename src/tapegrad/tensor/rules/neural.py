"""Primitives of neural networks whose own vjp is stabler or cheaper than that of their parts."""

import math
from typing import Any

from tapegrad.tensor.broadcasting import starts, unbroadcast
from tapegrad.tensor.instruction import Instruction, primitive
from tapegrad.tensor.namespaces import Array, Tracing, asynchronous, symbolic
from tapegrad.tensor.rules import tangents
from tapegrad.tensor.rules.adjoints import ADD_AT
from tapegrad.tensor.rules.elementwise import into
from tapegrad.tensor.rules.reductions import large, reusable, row_sums, shifted_exp, total


def forward_softmax(i: Instruction, x: Array) -> Array:
    """e^(x - m)/Σe^(x - m); settings: the axis."""
    exponentials, sums, _ = shifted_exp(i.xp, x, i.settings)
    result = into(i.xp.divide, exponentials, sums, large(exponentials))
    i.saved = (result,)
    return result


def vjp_softmax(i: Instruction, g: Array) -> tuple[Array]:
    """gx = y·(g - Σg·y)."""
    (y,) = i.saved  # type: ignore[misc]
    xp = i.xp
    product = into(xp.multiply, g, y, i.scratch)
    sums = row_sums(xp, product) if i.settings == -1 else product.sum(i.settings, None, None, True)
    product -= y * sums
    return (product,)


def forward_log_softmax(i: Instruction, x: Array) -> Array:
    """x - m - log Σe^(x - m); settings: the axis."""
    exponentials, sums, largest = shifted_exp(i.xp, x, i.settings)
    if i.needs[0]:
        i.saved = (into(i.xp.divide, exponentials, sums, large(exponentials)),)
    result = x - largest  # exact near the largest; their sum with the logarithm would be rounded to their own size
    result -= i.xp.log(sums)
    return result


def vjp_log_softmax(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g - softmax(x)·Σg."""
    (softmax,) = i.saved  # type: ignore[misc]
    xp = i.xp
    sums = row_sums(xp, g) if i.settings == -1 else g.sum(i.settings, None, None, True)
    scaled = into(xp.multiply, softmax, sums, softmax if reusable(i, softmax) else None)
    return (into(xp.subtract, g, scaled, large(scaled)),)


def jvp_log_softmax(i: Instruction, xs: list[Array], ts: list[Array], y: Array) -> Array:  # noqa: ARG001  every rule has it
    """t = tx - Σsoftmax(x)·tx."""
    (softmax,) = i.saved  # type: ignore[misc]
    return ts[0] - (softmax * ts[0]).sum(i.settings, None, None, True)


def forward_cross_entropy(i: Instruction, logits: Array) -> Array:
    """log Σe^(x - m) - (x[label] - m), for each example or reduced; settings: labels, reduction."""
    labels, reduction = i.settings
    xp = i.xp
    inside = None
    if asynchronous(xp):  # labels are not checked there, as that would wait
        labels = getattr(xp, "library", xp).asarray(labels)
        inside = (labels >= 0) & (labels < logits.shape[-1])
        labels = xp.where(inside, labels, 0)
    if logits.dtype.kind != "f":
        logits = logits.astype(xp.float64)
    if not logits.flags.c_contiguous:  # the rule writes into a flattened view
        logits = xp.ascontiguousarray(logits)
    shifted = logits - logits.max(-1, None, True)
    if symbolic(xp):  # no places to read or write: a comparison with each class, in the same pass
        places = label_mask(xp, labels, logits.shape)
        chosen = xp.where(places, shifted, 0).sum(-1).reshape(-1)
    else:
        places, chosen = label_places(xp, labels, shifted)
    exponentials = xp.exp(shifted) if large(shifted) is None else xp.exp(shifted, out=shifted)
    sums = row_sums(xp, exponentials)
    if inside is not None:
        sums = xp.where(inside.reshape(sums.shape), sums, math.nan).astype(sums.dtype, copy=False)
    losses = xp.log(sums).reshape(-1) - chosen
    if i.needs[0]:
        i.saved = (exponentials, sums, places)
    if reduction == "none":
        return losses.reshape(labels.shape)
    loss = total(xp, losses, None, False)
    return loss if reduction == "sum" else loss / labels.size


def label_places(xp: Any, labels: Array, shifted: Array) -> tuple[Array, Array]:
    """The places of the labels in the flattened logits, an array of our own, whatever happens to the labels; and the
    logits there."""
    places = starts(xp, labels.size, shifted.shape[-1]) + labels.reshape(-1)
    return places, shifted.reshape(-1).take(places)


def label_mask(xp: Any, labels: Array, shape: tuple[int, ...]) -> Array:
    """Which logits are those of the labels."""
    return xp.equal(xp.arange(shape[-1]), xp.asarray(labels).reshape((*shape[:-1], 1)))


def vjp_cross_entropy(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g·(softmax(x) - one-hot(label)), over the number of examples for the mean."""
    exponentials, sums, places = i.saved  # type: ignore[misc]
    labels, reduction = i.settings
    if reduction == "mean":
        g = g / labels.size
    each = (g.reshape(sums.shape) if g.shape else g) / sums
    result = into(i.xp.multiply, exponentials, each, exponentials if reusable(i, exponentials) else None)
    if symbolic(i.xp):
        return (result - i.xp.where(places, g.reshape(sums.shape) if g.shape else g, 0),)
    flat = result.reshape(-1)
    flat[places] -= g.reshape(-1) if g.shape else g
    return (flat.reshape(result.shape) if i.tracing else result,)


def jvp_cross_entropy(i: Instruction, xs: list[Array], ts: list[Array], y: Array) -> Array:  # noqa: ARG001  as above
    """t = Σsoftmax(x)·tx - tx[label], over the examples as the losses are."""
    exponentials, sums, places = i.saved  # type: ignore[misc]
    labels, reduction = i.settings
    (t,) = ts
    chosen = i.xp.where(places, t, 0).sum(-1).reshape(-1) if places.dtype.kind == "b" else t.reshape(-1)[places]
    each = (row_dot(i.xp, exponentials, t) / sums).reshape(-1) - chosen
    if reduction == "none":
        return each.reshape(labels.shape)
    return each.sum() if reduction == "sum" else each.sum() / labels.size


def forward_layer_norm(i: Instruction, x: Array, weight: Array, bias: Array) -> Array:
    """x̂·weight + bias, x̂ = (x - x̄)/√(var + ε) over the last axis; settings: ε."""
    xp = i.xp
    if x.dtype.kind != "f":
        x = x.astype(xp.float64)
    n = 1.0 / x.shape[-1]
    normal = x - row_sums(xp, x) * n
    variance = row_dot(xp, normal, normal) * n
    scale = 1 / xp.sqrt(variance + i.settings)
    normal *= scale
    if True in i.needs:
        i.saved = (normal, scale, weight)
    result = xp.multiply(normal, weight)
    return into(xp.add, result, bias, result if result.dtype == xp.result_type(result, bias) else None)


def row_dot(xp: Any, a: Array, b: Array) -> Array:
    """Σa·b over the last axis, which stays with length 1; no array of the products is made."""
    if isinstance(xp, Tracing):
        return (a * b).sum(-1, None, None, True)
    return xp.einsum("...k,...k->...", a, b)[..., None]


def vjp_layer_norm(i: Instruction, g: Array) -> tuple[Array | None, Array | None, Array | None]:
    """gx = (h - mean h - x̂·mean(h·x̂))/√(var + ε), h = g·weight; gweight = Σg·x̂; gbias = Σg."""
    xp = i.xp
    normal, scale, weight = i.saved  # type: ignore[misc]
    gx = gweight = gbias = None
    if i.needs[2]:
        gbias = unbroadcast(g, g.shape[-1:]) if g.ndim > 1 else g.copy()
    if i.needs[1]:
        gweight = xp.einsum("nk,nk->k", g.reshape(-1, g.shape[-1]), normal.reshape(-1, g.shape[-1]))
    if i.needs[0]:
        n = 1.0 / g.shape[-1]
        gx = into(xp.multiply, g, weight, i.scratch)
        mean = row_sums(xp, gx) * n
        along = row_dot(xp, gx, normal) * n
        gx -= mean
        gx -= into(xp.multiply, normal, along, normal if i.releasing else None)
        gx *= scale
    return gx, gweight, gbias


def jvp_layer_norm(i: Instruction, xs: list[Any], ts: list[Any], y: Array) -> Array:  # noqa: ARG001  every rule has it
    """t = (h - x̂·mean(h·x̂))/√(var + ε)·weight + x̂·tweight + tbias, h = tx - mean tx."""
    xp = i.xp
    normal, scale, weight = i.saved  # type: ignore[misc]
    tx, tweight, tbias = ts
    total = None
    if tx is not None:
        n = 1.0 / y.shape[-1]
        h = tx - row_sums(xp, tx) * n
        h -= normal * (row_dot(xp, h, normal) * n)
        h *= scale
        total = h * weight
    if tweight is not None:
        total = normal * tweight if total is None else total + normal * tweight
    if tbias is not None:
        total = tbias if total is None else total + tbias
    return total


def forward_attention(i: Instruction, q: Array, k: Array, v: Array) -> Array:
    """softmax(q·kᵀ/√width)·v, with later positions masked if causal; settings: causal."""
    xp = i.xp
    if q.dtype.kind != "f":
        q = q.astype(xp.float64)
    scores = xp.matmul(q * (1.0 / math.sqrt(q.shape[-1])), k.swapaxes(-1, -2))
    if i.settings:
        later = xp.arange(scores.shape[-1]) > xp.arange(scores.shape[-2])[:, None]
        xp.copyto(scores, -math.inf, where=later)
    scores -= scores.max(-1, None, True)
    weights = xp.exp(scores, out=scores)
    weights /= row_sums(xp, weights)
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
    scores *= 1.0 / math.sqrt(q.shape[-1])
    return xp.matmul(scores, k), xp.matmul(scores.swapaxes(-1, -2), q), gv


def jvp_attention(i: Instruction, xs: list[Array], ts: list[Array | None], y: Array) -> Array:  # noqa: ARG001  as above
    """With weights p: t = tp·v + p·tv, tp = p·(s - Σs·p), s = (tq·kᵀ + q·tkᵀ)/√width."""
    xp = i.xp
    q, k, v, weights = i.saved  # type: ignore[misc]
    tq, tk, tv = ts
    total = None if tv is None else xp.matmul(weights, tv)
    if tq is None and tk is None:
        return total
    scores: Array = None if tq is None else xp.matmul(tq, k.swapaxes(-1, -2))
    if tk is not None:
        term = xp.matmul(q, tk.swapaxes(-1, -2))
        scores = term if scores is None else scores + term
    scores = scores * (1.0 / math.sqrt(q.shape[-1]))
    scores = weights * (scores - row_dot(xp, scores, weights))
    term = xp.matmul(scores, v)
    return term if total is None else total + term


def forward_embedding(i: Instruction, table: Array) -> Array:
    """The rows of a table; settings: which."""
    if asynchronous(i.xp):
        i.settings = getattr(i.xp, "library", i.xp).asarray(i.settings)
    return table[i.settings]


def vjp_embedding(i: Instruction, g: Array) -> tuple[Array]:
    """gtable = for each row the sum of the g's that read it, found by sorting: `add.at` is many times slower."""
    xp = i.xp
    shape = i.shapes[0]  # type: ignore[index]
    rows = i.settings.reshape(-1) % shape[0]
    if i.tracing:
        return (xp.whole(ADD_AT, (xp.zeros(shape, g.dtype), g.reshape(rows.size, *shape[1:])), (rows, False)),)
    gtable = xp.zeros(shape, g.dtype)
    if asynchronous(xp):  # how many different rows there are is not known without waiting
        xp.add.at(gtable, rows, g.reshape(rows.size, *shape[1:]))
        return (gtable,)
    if rows.size:
        order = xp.argsort(rows, kind="stable")
        ordered = rows[order]
        starts = xp.concatenate([xp.zeros(1, int), xp.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
        gtable[ordered[starts]] = xp.add.reduceat(g.reshape(rows.size, *shape[1:])[order], starts, axis=0)
    return (gtable,)


SOFTMAX = primitive("softmax", forward_softmax, vjp_softmax, tangents.symmetric, fresh=True)
LOG_SOFTMAX = primitive("log_softmax", forward_log_softmax, vjp_log_softmax, jvp_log_softmax, fresh=True)
CROSS_ENTROPY = primitive(
    "softmax_cross_entropy", forward_cross_entropy, vjp_cross_entropy, jvp_cross_entropy, fresh=True
)
LAYER_NORM = primitive("layer_norm", forward_layer_norm, vjp_layer_norm, jvp_layer_norm, fresh=True)
ATTENTION = primitive("scaled_dot_product_attention", forward_attention, vjp_attention, jvp_attention, fresh=True)
EMBEDDING = primitive("embedding", forward_embedding, vjp_embedding, tangents.linear, fresh=True, shapes=True)
