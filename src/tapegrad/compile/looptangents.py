"""The tangent of a loop: a loop over its results and their tangents.

In: a loop, and which of its operands have a tangent. Out: the loop that computes both, made by forward mode from the
body's primitives.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.compile.bodies import Kind, Recorder, array_of, replayed, tensor_of, traced_body
from tapegrad.compile.loopnode import Derived, Loop, sections
from tapegrad.tensor.directions import split
from tapegrad.tensor.nesting.execution import carrying
from tapegrad.tensor.nesting.levels import Level
from tapegrad.tensor.tensor import Tensor


def tangent_of(loop: Loop, flags: Sequence[bool], run: Callable[..., list[Tensor]]) -> Derived:
    """The loop that computes results and their tangents; run: what executes the loops in it."""
    kinds = [Kind(node.shape, node.dtype, node.weak) for node in loop.body.inputs]
    of_tangents = [Kind(kind.shape, kind.dtype) for kind, flag in zip(kinds, flags, strict=True) if flag]
    outputs = loop.active(flags)[1]
    order = interleaved(
        loop, [(k, False) for k in range(len(kinds))], [(k, True) for k, flag in enumerate(flags) if flag], flags
    )
    of_tangents_of = dict(zip([k for k, flag in enumerate(flags) if flag], of_tangents, strict=True))

    def step(recorder: Recorder, variables: list[Tensor]) -> list[Tensor]:  # noqa: ARG001  every step's
        places = dict(zip(order, variables, strict=True))
        with Level() as level:
            lifted = [
                carrying(array_of(places[k, False]), array_of(places[k, True]), level) if flag else places[k, False]
                for k, flag in enumerate(flags)
            ]
            pairs = [split(result, level) for result in replayed(loop.body, lifted, run)]
        return [tensor_of(pairs[k][is_tangent]) for k, is_tangent in ordered_results(loop, outputs)]

    body, taken, _ = traced_body(step, [of_tangents_of[k] if is_tangent else kinds[k] for k, is_tangent in order])
    constants = len(taken) + loop.constants + sum(flags[: loop.constants])
    return Derived(
        Loop(body, constants, loop.carried + sum(outputs[: loop.carried]), loop.length, loop.backwards, loop.keep),
        taken,
    )


def interleaved(loop: Loop, primals: list[Any], tangents: list[Any], flags: Sequence[bool]) -> list[Any]:
    """Operands and their tangents: constants, theirs, what is carried, its, rows, theirs."""
    remaining = iter(tangents)
    by_operand = [next(remaining) if flag else None for flag in flags]
    mixed = []
    for start, end in sections(loop):
        mixed += primals[start:end]
        mixed += [tangent for tangent in by_operand[start:end] if tangent is not None]
    return mixed


def ordered_results(loop: Loop, outputs: Sequence[bool]) -> list[tuple[int, bool]]:
    """Which result of the tangent's loop is which of the loop's: its number, and whether it is its tangent."""
    count, order = len(outputs), []
    for start, end in ((0, loop.carried), (loop.carried, count)):
        order += [(k, False) for k in range(start, end)]
        order += [(k, True) for k in range(start, end) if outputs[k]]
    return order
