"""Primitives that move numbers and compute nothing. Their vjp moves the cotangents back."""

from typing import Any

from tapegrad.tensor.instruction import Instruction, Piece, primitive
from tapegrad.tensor.namespaces import Array, staged
from tapegrad.tensor.nesting.levels import switches
from tapegrad.tensor.rules import tangents


def forward_reshape(i: Instruction, x: Array) -> Array:
    """The same numbers in another shape; settings: the shape."""
    return i.xp.reshape(x, i.settings)


def vjp_reshape(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g in the old shape."""
    return (g.reshape(i.shapes[0]),)  # type: ignore[index]


def forward_transpose(i: Instruction, x: Array) -> Array:
    """The axes in another order; settings: the order, None for reversed."""
    return i.xp.transpose(x, i.settings)


def vjp_transpose(i: Instruction, g: Array) -> tuple[Array]:
    """gx = g with the order undone."""
    if i.settings is None:
        return (g.transpose(),)
    back = [0] * len(i.settings)
    for position, axis in enumerate(i.settings):
        back[axis] = position
    return (g.transpose(back),)


def forward_broadcast_to(i: Instruction, x: Array) -> Array:
    """x repeated to a shape; settings: the shape."""
    return i.xp.broadcast_to(x, i.settings)


def vjp_broadcast_to(i: Instruction, g: Array) -> tuple[Array]:  # noqa: ARG001  every rule has it
    """gx = g, summed by the backward pass where it was repeated."""
    return (g,)


def forward_concatenate(i: Instruction, *xs: Array) -> Array:
    """Arrays one after the other; settings: along which axis."""
    return i.xp.concatenate(xs, axis=i.settings)


def vjp_concatenate(i: Instruction, g: Array) -> tuple[Array | None, ...]:
    """Each operand's part of g."""
    axis = i.settings % g.ndim
    parts: list[Array | None] = []
    start = 0
    for shape, needed in zip(i.shapes or (), i.needs, strict=True):
        end = start + shape[axis]
        parts.append(g[(slice(None),) * axis + (slice(start, end),)] if needed else None)
        start = end
    return tuple(parts)


def jvp_concatenate(i: Instruction, xs: list[Array], ts: list[Array | None], y: Array) -> Array:
    """t = the tangents one after the other, zeros where there is none."""
    parts = [i.xp.zeros(x.shape, y.dtype) if t is None else t for x, t in zip(xs, ts, strict=True)]
    return i.xp.concatenate(parts, axis=i.settings)


def is_basic(index: Any) -> bool:
    """Whether an index is made of integers, slices, None and ... alone: it gives a view, and no place twice."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or part is Ellipsis or isinstance(part, slice) or (isinstance(part, int) and part is not True)
        for part in parts
    )


def forward_getitem(i: Instruction, x: Array) -> Array:
    """x[index]; settings: the index."""
    if switches.staging:  # a known array at places that are not known yet
        index = i.settings if isinstance(i.settings, tuple) else (i.settings,)
        arrays = [x, *index]
        staged(arrays, None)
        x = arrays[0]
    return x[i.settings]


def vjp_getitem(i: Instruction, g: Array) -> tuple[Piece]:
    """gx = g at the places that were read, added up where one was read twice."""
    return (Piece(i.settings, g, once=is_basic(i.settings)),)


def forward_pad(i: Instruction, x: Array) -> Array:
    """x with zeros around; settings: how many before and after, for each axis."""
    return i.xp.pad(x, i.settings)


def vjp_pad(i: Instruction, g: Array) -> tuple[Array]:
    """gx = the middle of g."""
    (shape,) = i.shapes  # type: ignore[misc]
    return (g[tuple(slice(before, before + n) for (before, _), n in zip(i.settings, shape, strict=True))],)


def forward_take_along_axis(i: Instruction, x: Array) -> Array:
    """The numbers at the indices, each row of an axis with its own; settings: indices and axis."""
    indices, axis = i.settings
    return i.xp.take_along_axis(x, indices, axis)


def vjp_take_along_axis(i: Instruction, g: Array) -> tuple[Piece]:
    """gx = g at the places that were read, added up where one was read twice."""
    indices, axis = i.settings
    (shape,) = i.shapes  # type: ignore[misc]
    places = [i.xp.arange(n).reshape((n,) + (1,) * (len(shape) - k - 1)) for k, n in enumerate(shape)]
    places[axis] = indices
    return (Piece(tuple(places), g, once=False),)


RESHAPE = primitive("reshape", forward_reshape, vjp_reshape, tangents.linear, shapes=True)
TRANSPOSE = primitive("transpose", forward_transpose, vjp_transpose, tangents.linear)
BROADCAST_TO = primitive("broadcast_to", forward_broadcast_to, vjp_broadcast_to, tangents.linear)
CONCATENATE = primitive("concatenate", forward_concatenate, vjp_concatenate, jvp_concatenate, shapes=True)
GETITEM = primitive("getitem", forward_getitem, vjp_getitem, tangents.linear)
PAD = primitive("pad", forward_pad, vjp_pad, tangents.linear, shapes=True)
TAKE_ALONG_AXIS = primitive(
    "take_along_axis", forward_take_along_axis, vjp_take_along_axis, tangents.linear, shapes=True
)
