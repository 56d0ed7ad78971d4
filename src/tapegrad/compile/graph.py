"""The graph: what machine code is made of. Typed nodes in the order in which they can be computed, no two the same.

In: a program, instruction by instruction, or a traced function of tensors. Out: nodes, inputs, outputs and guards, as
`print` shows them. Derivatives are taken before: that of a program is a program, that of a traced function is traced,
both by the one set of rules; so nothing here knows about them.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from tapegrad.errors import InputError

Dtype: TypeAlias = Literal["float64", "float32", "bool", "int64", "int32"]
# Beyond this the code would take minutes to compile and gigabytes to hold; the interpreter has no such limit.
MOST_NODES = 1_000_000
# Longer graphs show half as many nodes from each end.
MOST_SHOWN = 40


class Node(NamedTuple):
    """One value: an operation on earlier nodes. A number has the shape ()."""

    op: str  # "input", "constant", an operation of the rules, or a primitive of tensors
    operands: tuple[int, ...] = ()
    dtype: Dtype = "float64"
    shape: tuple[int, ...] = ()
    number: float | int | bool | None = None  # of a constant
    attributes: tuple[tuple[str, Hashable], ...] = ()  # what a primitive must know besides: axes, say

    def __str__(self) -> str:
        words = [f"%{operand}" for operand in self.operands]
        words += [] if self.number is None else [repr(self.number)]
        words += [f"{name}={value!r}" for name, value in self.attributes]
        shape = f"[{', '.join(map(str, self.shape))}]" if self.shape else ""
        return f"{self.op}({', '.join(words)}) : {self.dtype}{shape}"


class Guard(NamedTuple):
    """A comparison (lt, le, eq, ne) of two nodes that must come out as it did when the function was recorded."""

    op: str
    lhs: int
    rhs: int
    outcome: bool


@dataclass
class Graph:
    """Nodes, and which of them come from outside and go there."""

    nodes: list[Node] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    _places: dict[object, int] = field(default_factory=dict, repr=False)

    def input(self, dtype: Dtype = "float64", shape: tuple[int, ...] = ()) -> int:
        """A new input."""
        place = self._append(Node("input", (), dtype, shape))
        self.inputs.append(place)
        return place

    def constant(self, number: float | int | bool, dtype: Dtype = "float64") -> int:
        """The node of a number. 0.0 and -0.0 are two, and so are numbers of different dtypes; nan is one."""
        key = ("constant", repr(number), dtype)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self._append(Node("constant", (), dtype, (), number))
        return place

    def add(
        self,
        op: str,
        *operands: int,
        dtype: Dtype = "float64",
        shape: tuple[int, ...] = (),
        attributes: tuple[tuple[str, Hashable], ...] = (),
    ) -> int:
        """The node of an operation, which may have been there."""
        node = Node(op, operands, dtype, shape, None, attributes)
        place = self._places.get(node)
        if place is None:
            place = self._places[node] = self._append(node)
        return place

    def _append(self, node: Node) -> int:
        if len(self.nodes) == MOST_NODES:
            raise InputError(
                f"expected at most {MOST_NODES} nodes to compile, got more; run this function interpreted, or make its "
                "loops shorter"
            )
        self.nodes.append(node)
        return len(self.nodes) - 1

    def __str__(self) -> str:
        """Every node; of a long graph the first and the last."""
        count, half = len(self.nodes), MOST_SHOWN // 2
        lines = [f"%{i} = {node}" for i, node in enumerate(self.nodes)]
        if count > MOST_SHOWN:
            lines = [*lines[:half], f"… {count - MOST_SHOWN} more …", *lines[-half:]]
        lines += [f"guard {guard.op}(%{guard.lhs}, %{guard.rhs}) is {guard.outcome}" for guard in self.guards[:half]]
        results = [f"%{place}" for place in self.outputs]
        if len(results) > half:
            results = [*results[: half // 2], f"… {len(results) - half} more …", *results[-half // 2 :]]
        return "\n".join([*lines, f"outputs: {', '.join(results)}"])
