"""Primitives that only rules use, where they are differentiated themselves: writing into a part of an array, adding to
parts of it, changing its dtype."""

from tapegrad.tensor.instruction import Instruction, primitive
from tapegrad.tensor.namespaces import Array
from tapegrad.tensor.rules import tangents


def forward_put(i: Instruction, x: Array, value: Array) -> Array:
    """x with a value at some places; settings: their index."""
    changed = x.copy()
    changed[i.settings] = value
    return changed


def vjp_put(i: Instruction, g: Array) -> tuple[Array | None, Array | None]:
    """gx = g with zeros at the places; gvalue = g at the places."""
    gx = None
    if i.needs[0]:
        gx = g.copy()
        gx[i.settings] = 0
    return gx, g[i.settings] if i.needs[1] else None


def jvp_put(i: Instruction, xs: list[Array], ts: list[Array | None], y: Array) -> Array:  # noqa: ARG001  every rule has it
    """t = tx with the value's tangent at the places."""
    tx, tvalue = ts
    return forward_put(i, i.xp.zeros(y.shape, y.dtype) if tx is None else tx, 0 if tvalue is None else tvalue)


def forward_add_at(i: Instruction, x: Array, value: Array) -> Array:
    """x with a value added at some places, twice where one is named twice; settings: index, whether none is."""
    index, once = i.settings
    if i.tracing:
        return i.xp.whole(ADD_AT, (x, value), i.settings)
    total = x.copy()
    if once:
        total[index] += value
    else:
        i.xp.add.at(total, index, value)
    return total


def vjp_add_at(i: Instruction, g: Array) -> tuple[Array, Array]:
    """gx = g; gvalue = g at the places."""
    return g, g[i.settings[0]]


def jvp_add_at(i: Instruction, xs: list[Array], ts: list[Array | None], y: Array) -> Array:  # noqa: ARG001  as above
    """t = tx with the value's tangent added at the places."""
    tx, tvalue = ts
    if tvalue is None:
        return tx
    return forward_add_at(i, i.xp.zeros(y.shape, y.dtype) if tx is None else tx, tvalue)


def forward_astype(i: Instruction, x: Array) -> Array:
    """The same numbers in another dtype; settings: which."""
    return x.astype(i.settings)


def vjp_astype(i: Instruction, g: Array) -> tuple[Array]:  # noqa: ARG001  every rule has it
    """gx = g; the backward pass gives it the dtype of x."""
    return (g,)


PUT = primitive("put", forward_put, vjp_put, jvp_put)
ADD_AT = primitive("add_at", forward_add_at, vjp_add_at, jvp_add_at)
ASTYPE = primitive("astype", forward_astype, vjp_astype, tangents.linear)
