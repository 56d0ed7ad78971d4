"""The jvps that most primitives have: made from forward, or from the vjp, so that no derivative is written twice."""

from typing import Any

from tapegrad.tensor.instruction import REUSED, Instruction
from tapegrad.tensor.namespaces import Array


def elementwise(i: Instruction, xs: list[Any], ts: list[Any], y: Array) -> Array:  # noqa: ARG001  every rule has it
    """t = Σ slope·tx: an elementwise vjp multiplies by the slope, and the jvp does the same."""
    needs, total = i.needs, None
    for k, t in enumerate(ts):
        if t is not None:
            i.needs = tuple([k == other for other in range(len(needs))])
            term = i.primitive.vjp(i, t)[k]
            total = term if total is None else total + term
    i.needs = needs
    return total


def symmetric(i: Instruction, xs: list[Any], ts: list[Any], y: Array) -> Array:  # noqa: ARG001  every rule has it
    """t = J·tx = Jᵀ·tx: the matrix of all derivatives is its own transpose, as that of an elementwise function is."""
    return i.primitive.vjp(i, ts[0])[0]


def linear(i: Instruction, xs: list[Any], ts: list[Any], y: Array) -> Array:  # noqa: ARG001  every rule has it
    """t = f(tx), as f is linear in its operand."""
    return i.primitive.forward(i, ts[0])


def multilinear(i: Instruction, xs: list[Any], ts: list[Any], y: Array) -> Array:  # noqa: ARG001  every rule has it
    """t = Σ f(…, tx, …), as f is linear in each operand by itself."""
    total = None
    for k, t in enumerate(ts):
        if t is not None:
            operands = list(xs)
            operands[k] = t
            term = i.primitive.forward(i, *operands)
            if total is not None and total.size >= REUSED and total.dtype == term.dtype:
                total += term  # a product, and so an array of its own
            else:
                total = term if total is None else total + term
    return total
