"""The instruction: one recorded primitive, and what its vjp rule needs.

In: a primitive and its operands' arrays, from `tensor.apply`. Out: the graph that the backward pass walks. An
instruction knows its parents, never the tensors: what no rule saved is free as soon as the user lets go of it.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tapegrad.tensor.namespaces import Array

# Numbers of instructions grow with time, so that descending order is an order in which cotangents are complete.
_numbers = itertools.count()
next_number = _numbers.__next__


class Primitive:
    """An operation that the engine knows: how to compute it, and its vjp rule.

    forward(instruction, *arrays) gives the result and leaves in `instruction.saved` what the rule will need.
    vjp(instruction, g) gives a cotangent for each operand, None where `instruction.needs` has no need. It may write
    into `instruction.scratch`: None, or g's own array where nobody else needs g any more.
    """

    __slots__ = ("forward", "fresh", "name", "vjp")

    def __init__(self, name: str, forward: Callable[..., Array], vjp: Callable[..., tuple[Any, ...]], *, fresh: bool):
        self.name = name
        self.forward = forward
        self.vjp = vjp
        self.fresh = fresh  # the cotangents are new arrays: not g, not a view, nothing that was saved

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"


# Every primitive by its name; filled by the modules of `rules`.
PRIMITIVES: dict[str, Primitive] = {}


def primitive(
    name: str, forward: Callable[..., Array], vjp: Callable[..., tuple[Any, ...]], *, fresh: bool = False
) -> Primitive:
    """Enters a primitive into the table."""
    made = PRIMITIVES[name] = Primitive(name, forward, vjp, fresh=fresh)
    return made


class Leaf:
    """The end of the graph: where a gradient is accumulated."""

    __slots__ = ("grad", "number")

    def __init__(self) -> None:
        self.grad: Array | None = None
        self.number = -1  # after all instructions, in the order of the backward pass


class Instruction:
    """One execution of a primitive."""

    __slots__ = (
        "needs",
        "number",
        "parents",
        "places",
        "primitive",
        "releasing",
        "saved",
        "scratch",
        "settings",
        "snapshots",
        "xp",
    )

    def __init__(self, primitive: Primitive, xp: Any, needs: tuple[bool, ...], settings: Any):
        self.primitive = primitive
        self.xp = xp
        self.needs = needs  # which operands want a cotangent
        self.settings = settings  # axis, shape and the like: whatever the primitive takes besides arrays
        self.saved: tuple[Any, ...] | None = ()
        self.snapshots: list[tuple[Array, Array]] | None = None
        # set by the backward pass, for the rule
        self.scratch: Array | None = None
        self.releasing = True  # whether the rule may write into what it saved itself

    def record(self, parents: list[Any], places: list[Any]) -> None:
        """Takes a place in the order of instructions. places: shape and dtype of each operand."""
        self.number = next_number()
        self.parents = parents
        self.places = places


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
