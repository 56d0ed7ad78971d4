"""The instruction: one recorded primitive, and what its vjp rule needs.

In: a primitive and its operands' arrays, from `tensor.apply`. Out: the graph that the backward pass walks. An
instruction knows its parents, never the tensors: what no rule saved is free as soon as the user lets go of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tapegrad.tensor.namespaces import Array

# Arrays from this size on are views, or are written over, where that saves memory; below, a new array is quicker.
REUSED = 4096


class Primitive:
    """An operation that the engine knows: how to compute it, and its derivative in both modes.

    forward(instruction, *arrays) gives the result and leaves in `instruction.saved` what the rule will need.
    vjp(instruction, g) gives a cotangent for each operand, None where `instruction.needs` has no need. It may write
    into `instruction.scratch`: None, or g's own array where nobody else needs g any more.
    jvp(instruction, xs, ts, y) gives the tangent of the result y from those of the operands, None for a constant. It is
    called once, directly after forward; `instruction.needs` marks the operands that have a tangent. A tangent that is
    smaller than the result is repeated, as in broadcasting. Most are one of those in `rules.tangents`.
    """

    __slots__ = ("forward", "fresh", "jvp", "name", "shapes", "vjp")

    def __init__(
        self,
        name: str,
        forward: Callable[..., Array],
        vjp: Callable[..., tuple[Any, ...]],
        jvp: Callable[..., Any] | None = None,
        *,
        fresh: bool,
        shapes: bool = False,
    ):
        self.name = name
        self.forward = forward
        self.vjp = vjp
        self.jvp = jvp
        self.fresh = fresh  # the cotangents are new arrays: not g, not a view, nothing that was saved
        self.shapes = shapes  # the rule needs the shapes of the operands

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"


# Every primitive by its name; filled by the modules of `rules`.
PRIMITIVES: dict[str, Primitive] = {}


def primitive(
    name: str,
    forward: Callable[..., Array],
    vjp: Callable[..., tuple[Any, ...]],
    jvp: Callable[..., Any],
    *,
    fresh: bool = False,
    shapes: bool = False,
) -> Primitive:
    """Enters a primitive into the table."""
    entered = PRIMITIVES[name] = Primitive(name, forward, vjp, jvp, fresh=fresh, shapes=shapes)
    return entered


class Leaf:
    """The end of the graph: where a gradient is accumulated."""

    __slots__ = ("dtype", "grad", "level", "shape")

    def __init__(self, array: Array, level: int = 0):
        self.shape: tuple[int, ...] = array.shape
        self.dtype = array.dtype
        self.grad: Array | None = None
        self.level = level  # of the transform that wants the gradient; 0 if the user does


class Tangent:
    """What a tensor has in place of an instruction in forward mode: its derivative along the direction asked for."""

    __slots__ = ("array", "level")

    def __init__(self, level: int, array: Array):
        self.level = level
        self.array = array


class Batch:
    """The mark of a tensor that holds several arrays, one for each seed, along an axis before all others."""

    __slots__ = ("level", "size")

    def __init__(self, level: int, size: int):
        self.level = level
        self.size = size


class Instruction:
    """One execution of a primitive. Made by `apply`, field by field."""

    primitive: Primitive
    xp: Any  # the namespace of its arrays
    needs: tuple[bool, ...]  # which operands want a cotangent
    settings: Any  # axis, shape and the like: whatever the primitive takes besides arrays
    shapes: list[tuple[int, ...]] | None  # of the operands, where the primitive asks for them
    saved: tuple[Any, ...] | None  # by forward, for the rule; None when it was released
    snapshots: list[tuple[Array, Array]] | None  # copies of what somebody outside could write to
    parents: list[Any]  # the instruction or leaf of each operand, None for a constant
    shape: tuple[int, ...]  # of the result, and so of its cotangent
    dtype: Any
    level: int  # of the transform that recorded it; 0 outside
    number: int  # grows with time: in descending order every cotangent is complete when its turn comes
    tracing: bool  # its arrays record: it is being differentiated itself
    scratch: Array | None  # during backward: what the rule may write into
    releasing: bool  # during backward: whether the rule may write into what it saved itself


class Piece:
    """A cotangent that is zero but for some places: that of indexing. Added where it belongs, never spread out."""

    __slots__ = ("index", "once", "values")

    def __init__(self, index: Any, values: Array, *, once: bool):
        self.index = index
        self.values = values
        self.once = once  # no place is named twice


@dataclass(frozen=True)
class TensorStats:
    """What a recording holds."""

    instructions: int
    saved_arrays: int
    saved_bytes: int
