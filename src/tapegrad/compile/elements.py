"""Elementwise functions of symbols: the dtypes in which NumPy computes them, and what needs no computing.

In: a function's name and its operands. Out: a symbol, or NumPy's function as a method of the symbols' namespace.
"""

# ruff: noqa: D102  the functions are NumPy's

from typing import Any

import numpy

from tapegrad.compile.operations import loop_dtypes
from tapegrad.compile.symbol import Node, Symbol, filled, namespaces, node_of, number_of, recorded


def kind_of(value: Any) -> Any:
    """How a value takes part in the choice of a dtype: Python's numbers leave it alone."""
    if type(value) is Symbol:
        return (int if value.dtype.kind in "iub" else float) if value.node.weak else value.dtype
    if type(value) in (int, float):
        return type(value)
    return getattr(value, "dtype", None) or numpy.asarray(value).dtype


def cast(value: Any, dtype: Any) -> Node:
    """A value as a node of a dtype."""
    if type(value) in (int, float, bool):
        return filled((), value, dtype)
    node = node_of(value)
    if node.dtype == dtype:
        return node
    number = number_of(node)
    if number is not None:
        return filled(node.shape, number, dtype)
    return recorded("astype", (node,), numpy.dtype(dtype)).node


def elementwise(name: str, *operands: Any) -> Symbol:
    """An elementwise function of NumPy's, in the dtypes in which NumPy computes it."""
    kinds = tuple([kind_of(value) for value in operands])
    numbers = all(kind in (int, float) for kind in kinds)
    dtypes = loop_dtypes(name, tuple([numpy.dtype(kind) if len(kinds) == 1 or numbers else kind for kind in kinds]))
    nodes = tuple([cast(value, dtype) for value, dtype in zip(operands, dtypes, strict=False)])
    inner = unwrapped(nodes)
    if inner is not None:
        shape = numpy.broadcast_shapes(*[node.shape for node in nodes])
        return namespaces[0].reshape(recorded(name, inner), shape)  # type: ignore[no-any-return]
    shorter = simpler(name, nodes)
    symbol = recorded(name, nodes) if shorter is None else Symbol(shorter)
    if numbers and len(kinds) > 1 and symbol.dtype.kind in "fi":
        symbol.node.weak = True
    return symbol


def unwrapped(nodes: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """The operands in the shape that one of them had before it was reshaped, so that the operation joins those before;
    None if none was. Reshaping is moved behind an operation."""
    first = next((node for node in nodes if node.op == "reshape"), None)
    if first is None or any(node.shape not in (first.shape, ()) for node in nodes):
        return None
    shape = first.operands[0].shape
    return tuple([namespaces[0].reshape(Symbol(node), shape).node if node.shape else node for node in nodes])


def simpler(name: str, nodes: tuple[Node, ...]) -> Node | None:
    """The operand that a function gives back unchanged, number for number; None if there is none."""
    if name in ("multiply", "divide") and nodes[0].dtype.kind == "f":
        for one, other in ((1, 0), (0, 1))[: 1 if name == "divide" else 2]:
            if number_of(nodes[one]) == 1:
                shape = numpy.broadcast_shapes(nodes[0].shape, nodes[1].shape)
                return nodes[other] if nodes[other].shape == shape else repeated(nodes[other], shape)
    return None


def repeated(node: Node, shape: tuple[int, ...]) -> Node:
    """A node in a larger shape."""
    if node.shape == shape:
        return node
    if node.op == "broadcast_to" and not node.operands[0].shape:
        node = node.operands[0]
    return recorded("broadcast_to", (node,), tuple(shape)).node


def function(name: str) -> Any:
    """A function of the namespace."""

    def call(self: Any, *operands: Any, out: Any = None, dtype: Any = None) -> Symbol:  # noqa: ARG001
        if dtype is not None and name == "multiply":
            operands = tuple([Symbol(cast(value, dtype)) for value in operands])
        symbol = elementwise(name, *operands)
        if out is None:
            return symbol
        out.node = repeated(cast(symbol, out.dtype), out.shape)  # as NumPy writes into an array
        return out  # type: ignore[no-any-return]

    return call


class Added:
    """The function `add`, which has `at`."""

    def __init__(self) -> None:
        self.call = function("add")

    def __call__(self, *operands: Any, out: Any = None) -> Symbol:
        return self.call(self, *operands, out=out)  # type: ignore[no-any-return]

    def at(self, x: Symbol, index: Any, value: Any) -> None:
        x.node = namespaces[0].add_at(x, value, index, False).node
