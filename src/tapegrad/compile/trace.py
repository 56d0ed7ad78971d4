"""Tracing: a function of tensors becomes a graph, once for each structure, shapes and dtypes of its arguments.

In: a function and arguments. Out: `TracedFunction`: nodes for what it gave, which of the arguments are inputs, and what
must hold at every call.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy

from tapegrad.compile import staging as _staging  # noqa: F401  enters itself
from tapegrad.compile.devices import array_of, on_device
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
    given_as_numbers: set[int] = field(default_factory=set)  # by identity, inputs that are on no device


def is_input(value: Any) -> bool:
    """Whether an argument's numbers may change from call to call: arrays and floats; anything else is a constant."""
    return isinstance(value, (numpy.ndarray, numpy.generic, Tensor, float)) or on_device(value)


def traced(f: Callable[..., Any], args: tuple[Any, ...], device: Any = None) -> TracedFunction:
    """The function's graph for arguments like these; device: where it will be computed, None for the CPU."""
    values = flat(args)
    with opened(device) as trace:
        inputs: list[Node] = []
        numbers: set[int] = set()
        lifted = []
        for value in values:
            if not is_input(value):
                lifted.append(value)
                continue
            array = array_of(value)
            node = Node("input", (), len(inputs), array.shape, array.dtype, isinstance(value, float))
            inputs.append(node)
            if not on_device(array):
                numbers.add(id(node))
            # indices and labels are arrays as such, as they are to the function when it is interpreted
            lifted.append(wrapped(Symbol(node)))
        with no_grad(), Level():
            result = f(*rebuilt(args, iter(lifted)))
        outputs = [output_node(item) for item in ([result] if result is None else leaves(result))]
        return TracedFunction(inputs, outputs, trace.checks, filled(result, range(len(outputs))), numbers)


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
