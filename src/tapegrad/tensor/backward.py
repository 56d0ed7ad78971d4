"""The backward pass: cotangents from an output to the leaves, each instruction visited once.

In: the last instruction and its cotangent. Out: gradients in the leaves. Saved values are released as soon as their
rule has used them.
"""

from operator import attrgetter
from typing import Any

from tapegrad.errors import ReleasedError
from tapegrad.tensor.broadcasting import unbroadcast
from tapegrad.tensor.exposure import check, exposed, owner
from tapegrad.tensor.instruction import REUSED, Instruction, Leaf, Piece, TensorStats
from tapegrad.tensor.namespaces import Array, Staging, namespace, staged
from tapegrad.tensor.nesting.levels import switches
from tapegrad.tensor.nesting.traced import Traced, computes_alike, tracing

_by_number = attrgetter("number")
LATER = 1 << 62  # than any instruction


def reachable(root: Any) -> list[Any]:
    """All instructions below a node, latest first, then all leaves; a walk without recursion."""
    reached = {root}
    waiting = [root]
    instructions = []
    leaves = []
    last = LATER
    ordered = True
    while waiting:
        node = waiting.pop()
        if type(node) is Leaf:
            leaves.append(node)
            continue
        instruction = node
        instructions.append(instruction)
        if instruction.number > last:
            ordered = False
        last = instruction.number
        for parent in instruction.parents:
            if parent is not None and parent not in reached:
                reached.add(parent)
                waiting.append(parent)
    if not ordered:  # a chain is found in the right order
        instructions.sort(key=_by_number, reverse=True)
    return instructions + leaves


class Cotangents:
    """The cotangents that are on their way, and which of their arrays nobody else refers to."""

    __slots__ = ("arrays", "owned")

    def __init__(self) -> None:
        self.arrays: dict[Any, Array] = {}
        self.owned: set[Any] = set()

    def add(self, node: Any, cotangent: Array, fresh: bool) -> None:
        """Accumulates into the cotangent of a node: in place, once there is an array that is ours alone."""
        if type(node) is Instruction:
            instruction = node
            shape, dtype = instruction.shape, instruction.dtype
        else:
            leaf = node
            shape, dtype = leaf.shape, leaf.dtype
        if type(cotangent) is Piece:
            self.add_piece(node, cotangent, shape, dtype)
            return
        if cotangent.shape != shape:
            cotangent = unbroadcast(cotangent, shape)
            fresh = True  # a sum
        if cotangent.dtype is not dtype and cotangent.dtype != dtype:
            cotangent = cotangent.astype(dtype)
        arrays = self.arrays
        before = arrays.get(node)
        if before is None:
            arrays[node] = cotangent
            if fresh and shape:  # NumPy's results of shape () are immutable numbers
                self.owned.add(node)
        elif cotangent.size >= REUSED and node in self.owned:
            before += cotangent
        else:
            arrays[node] = before + cotangent
            if shape:
                self.owned.add(node)

    def add_piece(self, node: Any, piece: Piece, shape: tuple[int, ...], dtype: Any) -> None:
        """Accumulates a cotangent that is zero almost everywhere, into an array made once."""
        before = self.arrays.get(node)
        if before is None or node not in self.owned or not shape:
            xp = namespace(piece.values)
            total = xp.zeros(shape, dtype)
            if before is not None:
                total += before
            before = self.arrays[node] = total
            self.owned.add(node)
        if type(before) is Traced or type(piece.values) is Traced:
            xp = tracing(namespace(before if type(before) is Traced else piece.values))
            self.arrays[node] = xp.add_at(before, piece.values, piece.index, piece.once)
        elif switches.staging and staged([before, piece.values], None) is not None:
            symbols = staged([before, piece.values], None)
            self.arrays[node] = symbols.add_at(before, piece.values, piece.index, piece.once)
        elif piece.once:
            before[piece.index] += piece.values
        else:
            namespace(before).add.at(before, piece.index, piece.values)


def propagate(root: Any, seed: Array, retain: bool) -> None:
    """Propagates a cotangent to all leaves below a node."""
    cotangents = Cotangents()
    arrays, owned = cotangents.arrays, cotangents.owned
    arrays[root] = seed
    for node in reachable(root):
        g = arrays.pop(node, None)
        if g is None:
            continue
        if type(node) is Leaf:
            _deliver(node, g, node in owned)
            continue
        i = node
        if i.saved is None:
            raise ReleasedError(
                f"backward came to {i.primitive.name!r}, whose saved values an earlier backward has released; "
                "compute the result again, or call the first backward with retain=True"
            )
        if exposed or i.snapshots is not None:
            check(i)
        i.releasing = not retain and not i.tracing
        primitive = i.primitive
        if type(g) is Traced or (i.tracing and not isinstance(i.xp, Staging)):
            shares = differentiably(i, g)
        else:
            i.scratch = g if g.size >= REUSED and i in owned and not i.tracing else None
            shares = primitive.vjp(i, g)
            i.scratch = None
        if not retain:
            i.saved = i.snapshots = None
        for k, parent in enumerate(i.parents):
            if parent is not None:
                cotangents.add(parent, shares[k], primitive.fresh)


def differentiably(i: Instruction, g: Array) -> Any:
    """What a rule gives while it is itself being differentiated: computed with arrays that record."""
    before, i.releasing, i.tracing = (i.xp, i.saved, i.tracing), False, True  # what it saved may be wanted again
    xp = i.xp = tracing(i.xp)
    i.saved = tuple([computes_alike(xp, array) for array in i.saved or ()])
    shares = i.primitive.vjp(i, computes_alike(xp, g))
    i.xp, i.saved, i.tracing = before
    return shares


def _deliver(leaf: Leaf, g: Array, owned: bool) -> None:
    """Adds a gradient to what a leaf has, in place; its array belongs to the leaf alone."""
    if leaf.grad is None:
        leaf.grad = g if owned else namespace(g).array(g)
    elif leaf.grad.shape:
        leaf.grad += g
    else:
        leaf.grad = leaf.grad + g


def stats(root: Any) -> TensorStats:
    """What the recording below a node holds; an array that several instructions saved counts once."""
    instructions = [node for node in reachable(root) if type(node) is Instruction]
    saved = [array for i in instructions for array in i.saved or () if hasattr(array, "nbytes")]
    memory = {id(owner(array)): owner(array) for array in saved}
    return TensorStats(
        instructions=len(instructions),
        saved_arrays=len(memory),
        saved_bytes=sum(array.nbytes for array in memory.values()),
    )
