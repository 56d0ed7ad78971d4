"""Tracing: a function of tensors becomes a graph, once for each structure, shapes and dtypes of its arguments.

In: a function and arguments. Out: `TracedFunction`: nodes for what it gave, which of the arguments are inputs, and what
must hold at every call.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from tapegrad.compile import staging as _staging  # noqa: F401  enters itself
from tapegrad.compile.symbol import Node, Symbol, constant, opened
from tapegrad.errors import InputError
from tapegrad.tensor.carried import filled, leaves
from tapegrad.tensor.nesting.levels import Level, no_grad
from tapegrad.tensor.nesting.traced import Traced as Recording
from tapegrad.tensor.nesting.traced import plain
from tapegrad.tensor.tensor import Tensor, wrapped
from tapegrad.tensor.trees import flat, rebuilt


@dataclass
class TracedFunction:
    """What a function computed, as nodes."""

    inputs: list[Node]  # for each array among the arguments
    outputs: list[Node]
    checks: list[tuple[Node, str]]  # conditions, and what to say where one does not hold
    structure: Any  # of the result: numbers of outputs, and None for nothing


def is_input(value: Any) -> bool:
    """Whether an argument's numbers may change from call to call: arrays and floats; anything else is a constant."""
    return isinstance(value, (numpy.ndarray, numpy.generic, Tensor, float))


def array_of(value: Any) -> Any:
    """The array of an argument."""
    return plain(value._array) if type(value) is Tensor else numpy.asarray(value)


def traced(f: Callable[..., Any], args: tuple[Any, ...]) -> TracedFunction:
    """The function's graph for arguments like these."""
    values = flat(args)
    with opened() as trace:
        inputs: list[Node] = []
        lifted = []
        for value in values:
            if not is_input(value):
                lifted.append(value)
                continue
            array = array_of(value)
            node = Node("input", (), len(inputs), array.shape, array.dtype, isinstance(value, float))
            inputs.append(node)
            # indices and labels are arrays as such, as they are to the function when it is interpreted
            lifted.append(wrapped(Symbol(node)))
        with no_grad(), Level():
            result = f(*rebuilt(args, iter(lifted)))
        outputs = [output_node(item) for item in ([result] if result is None else leaves(result))]
        return TracedFunction(inputs, outputs, trace.checks, filled(result, range(len(outputs))))


def output_node(item: Any) -> Node:
    """The node of an item of what a function returned."""
    if type(item) is Tensor:
        item = item._array
    if type(item) is Recording:
        item = plain(item)
    if type(item) is Symbol:
        return item.node
    if not isinstance(item, (int, float)) and not hasattr(item, "dtype"):
        raise InputError(
            f"expected the function to return tensors, arrays and numbers, got {type(item).__name__} {item!r:.60}"
        )
    return constant(item)
