"""A loop as a node of the graph: a body that is repeated, its operands, and what depends on what.

In: a body. Out: `Loop`, and its results as nodes of the function that is being traced.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tapegrad.compile.bodies import Body, Kind, changing, kind_of, mark
from tapegrad.compile.fusion import contiguous, view_of
from tapegrad.compile.operations import VIEWS
from tapegrad.compile.symbol import Node, Symbol, current, node_of, number_of, recorded
from tapegrad.tensor.nesting.traced import plain
from tapegrad.tensor.tensor import Tensor


@dataclass(eq=False)
class Loop:
    """A body that is repeated. Its operands: constants, what is carried from step to step, and rows, of which each
    step gets one. Its results: what was carried last, and the rows of results."""

    body: Body
    constants: int
    carried: int
    length: int | None  # None: as long as the first that is carried is true
    backwards: bool = False  # from the last row to the first
    keep: bool = True  # results that are dear to compute, for the gradient; else they are computed again
    origin: "Loop | None" = None  # the loop whose results this one has too, before its own, of the same last operands
    tangents: dict[Any, "Derived"] = field(
        default_factory=dict
    )  # those that were made of it, by which operands have one
    gradients: dict[Any, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        count = "while" if self.length is None else f"{self.length} ×"
        nodes, _ = changing(self.body.results, self.body.inputs)
        return f"{count} {len(nodes)} operations"

    @property
    def kinds(self) -> list[Kind]:
        """What its body's results are like."""
        return [kind_of(node) for node in self.body.results]

    def result(self, k: int) -> Kind:
        """What its own results are like."""
        kind = self.kinds[k]
        return kind if k < self.carried else Kind((self.length or 0, *kind.shape), kind.dtype)

    def active(self, flags: Sequence[bool]) -> tuple[list[bool], list[bool]]:
        """Which operands, and which results, have a derivative if some operands have: what is carried may get one in
        any step."""
        inputs = list(flags)
        while True:
            outputs = active_results(self.body, inputs)
            carried = range(self.carried)
            late = [k for k in carried if outputs[k] and not inputs[self.constants + k]]
            for k in late:
                inputs[self.constants + k] = True
            if not late:
                first = inputs[self.constants : self.constants + self.carried]
                return inputs, [*first, *outputs[self.carried :]]


@dataclass
class Derived:
    """A loop made of another one, and operands that it has before all others."""

    loop: Loop
    taken: list[Tensor]


def active_results(body: Body, flags: Sequence[bool]) -> list[bool]:
    """Which results of a body depend differentiably on some operands."""
    reached = {mark(t) for place, flag in zip(body.places, flags, strict=True) if flag for t in place.tensors}
    for equation in body.equations:
        reads = [mark(x) in reached for x in equation.operands]
        if not any(reads):
            continue
        outputs = equation.primitive.active(reads)[1] if type(equation.primitive) is Loop else [True]
        for result, flag in zip(equation.results, outputs, strict=True):
            if flag and result.dtype.kind == "f":
                reached.add(mark(result))
    return [mark(output) in reached for output in body.outputs]


def sections(loop: Loop) -> list[tuple[int, int]]:
    """Where constants, what is carried and rows start and end among operands."""
    first, second = loop.constants, loop.constants + loop.carried
    return [(0, first), (first, second), (second, len(loop.body.places))]


def nodes_of(loop: Loop, arrays: Sequence[Any]) -> list[Symbol]:
    """The results as nodes of the function that is being traced. Of a loop and those made of it, one gives the results
    that they have in common."""
    operands = tuple([dense(node_of(plain(array))) for array in arrays])
    trace = current()
    kinds = [loop.result(k) for k in range(len(loop.kinds))]
    if not kinds:
        return []
    origin = loop.origin or loop
    common = trace.loops.setdefault((origin, operands[len(operands) - len(origin.body.places) :]), [])
    if not common or loop.origin:
        whole = trace.node("scan", operands, loop, (), kinds[0].dtype)
        for part in common:
            part.operands = (whole,)
    else:
        (whole,) = common[0].operands
    parts = list(common)
    for k, kind in enumerate(kinds[len(common) :], len(common)):
        part = trace.node("part", (whole,), k, kind.shape, kind.dtype)
        # a Python number is one after the loop too
        part.weak = k < loop.carried and loop.body.inputs[loop.constants + k].weak
        parts.append(part)
    common[:] = parts[: len(origin.kinds)]
    return [Symbol(part) for part in parts]


def dense(node: Node) -> Node:
    """A node whose numbers lie one after the other."""
    view = view_of(node) if node.op in VIEWS and number_of(node) is None and node.op != "broadcast_to" else None
    if view is None or view[2] == contiguous(node.shape):
        return node
    return recorded("copy", (node,)).node
