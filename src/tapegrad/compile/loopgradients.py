"""The gradient of a loop: a loop forwards that keeps what is needed of each step, and a loop backwards.

In: a loop, which of its operands want a cotangent, and which of its results have one. Out: `Gradient`, made of one
trace of the body and its pullback, divided into what goes forwards and what goes backwards.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tapegrad.compile.bodies import (
    Kind,
    Place,
    Recorder,
    kind_of,
    mark,
    node_of_tensor,
    part_of,
    recording,
    replayed,
    tensor_of,
)
from tapegrad.compile.hoisting import Product, products_in
from tapegrad.compile.keeping import Keeping
from tapegrad.compile.loopnode import Derived, Loop, sections
from tapegrad.compile.symbol import Node, number_of
from tapegrad.tensor.directions import output_array, vjp_of
from tapegrad.tensor.nesting.traced import plain
from tapegrad.tensor.rules import elementwise
from tapegrad.tensor.tensor import Tensor, apply, wrapped

Run = Callable[..., list[Tensor]]


@dataclass
class Rows:
    """Where the rows of a tensor of each step are: the loop's operands, what is kept, or the rows that the loop
    backwards gives; and which of them."""

    among: Literal["operands", "kept", "results"]
    place: int


@dataclass
class Gradient:
    """The two loops of reverse mode: forwards, with further rows for what is kept, and backwards. summed: the
    constants whose cotangents are added up step by step; the others' are products after the loop."""

    forwards: Derived
    backwards: Derived
    summed: list[int]
    products: dict[int, list[tuple[Product, Rows, Rows]]]


def gradient_for(loop: Loop, flags: Sequence[bool], outputs: Sequence[bool], run: Run) -> Gradient:
    """The loops of reverse mode, made once. flags: which operands want a cotangent; outputs: which results have one;
    run: what executes the loops in it."""
    key = tuple(flags), tuple(outputs)
    if key not in loop.gradients:
        loop.gradients[key] = gradient_of(loop, flags, outputs, run)
    gradient: Gradient = loop.gradients[key]
    return gradient


def gradient_of(loop: Loop, flags: Sequence[bool], outputs: Sequence[bool], run: Run) -> Gradient:
    """The loops of reverse mode, from one trace of the body and its pullback."""
    kinds = [Kind(node.shape, node.dtype, node.weak) for node in loop.body.inputs]
    active = [k for k, flag in enumerate(flags) if flag]
    with recording() as recorder:
        variables = [recorder.variable(kind) for kind in kinds]
        results: list[Tensor] = []

        def step(*lifted: Tensor) -> tuple[Tensor, ...]:
            given = dict(zip(active, lifted, strict=True))
            replays = replayed(loop.body, [given.get(k, variable) for k, variable in enumerate(variables)], run)
            inner = next((x._node.level for x in lifted), recorder.level)
            results.extend([tensor_of(output_array(result, inner)) for result in replays])
            return tuple([result for result, flag in zip(replays, outputs, strict=True) if flag])

        _, pullback = vjp_of(step, [variables[k] for k in active], range(len(active)))
        seeds = [
            recorder.variable(kind_of(node)) for node, flag in zip(loop.body.results, outputs, strict=True) if flag
        ]
        forward_count = len(recorder.equations)
        cotangents = dict(zip(active, pullback(tuple(seeds)), strict=True))
        return divided(loop, recorder, variables, results, seeds, cotangents, outputs, forward_count, run)


def divided(
    loop: Loop,
    recorder: Recorder,
    variables: list[Tensor],
    results: list[Tensor],
    seeds: list[Tensor],
    cotangents: dict[int, Any],
    outputs: Sequence[bool],
    forward_count: int,
    run: Run,
) -> Gradient:
    """Of the body and its pullback a step forwards and one backwards, and what goes from the one to the other."""
    (_, first), (_, second), _ = sections(loop)
    makers = {mark(result): equation for equation in recorder.equations for result in equation.results}
    of_constants = {k: x if type(x) is Tensor else wrapped(x) for k, x in cotangents.items() if k < first}
    candidates = {k: products_in(x, makers) for k, x in of_constants.items()} if loop.keep else {}
    hoisted = {k: terms for k, terms in candidates.items() if terms}
    summed_up = [k for k in of_constants if k not in hoisted]
    accumulators = {k: recorder.variable(kind_of(loop.body.inputs[k])) for k in summed_up}
    sums = [
        before if number_of(node_of_tensor(of_constants[k])) == 0 else apply(elementwise.ADD, (before, of_constants[k]))
        for k, before in accumulators.items()
    ]
    of_carried = [cotangents[k] for k in cotangents if first <= k < second]
    of_rows = [cotangents[k] for k in cotangents if k >= second]
    targets = [x if type(x) is Tensor else wrapped(x) for x in (*of_carried, *sums, *of_rows)]
    factors = {mark(x): x for terms in hoisted.values() for term in terms for x in (term.left, term.right)}
    wanted = [*targets, *factors.values()]
    choice = Keeping(loop.keep, recorder, variables, (first, second), seeds, wanted, forward_count)
    kept = choice.chosen()
    carried = sum(outputs[: loop.carried])
    rows: dict[int, Rows] = {}
    for key, x in factors.items():
        rows[key] = rows_of(x, variables, (first, second), [tensor for tensor, _ in kept])
        if rows[key].among == "results":
            rows[key].place = len(targets)
            targets.append(x)

    places = [Place(node_of_tensor(variable), [variable]) for variable in variables]
    ahead, taken = part_of(recorder, places, [*results, *[tensor for tensor, _ in kept]], run)
    constants = len(taken) + loop.constants
    origin = loop.origin or loop
    forwards = Derived(Loop(ahead, constants, loop.carried, loop.length, loop.backwards, origin=origin), taken)

    same = [Place(Node("input", (), None, x.shape, x.dtype), [x]) for x in choice.constant]
    places = [Place(place.node, [*place.tensors, *choice.aliases.get(id(place.node), [])]) for place in places]
    back = [
        *same,
        *places[:first],
        *[Place(node_of_tensor(x), [x]) for x in (*seeds[:carried], *accumulators.values())],
        *[Place(node_of_tensor(tensor), tensors) for tensor, tensors in kept],
        *places[second:],
        *[Place(node_of_tensor(x), [x]) for x in seeds[carried:]],
    ]
    behind, taken = part_of(recorder, back, targets, run)
    taken += [wrapped(plain(x._array)) for x in choice.constant]
    count = carried + len(accumulators)
    backwards = Derived(Loop(behind, len(taken) + loop.constants, count, loop.length, not loop.backwards), taken)
    products = {
        k: [(term, rows[mark(term.left)], rows[mark(term.right)]) for term in terms] for k, terms in hoisted.items()
    }
    return Gradient(forwards, backwards, summed_up, products)


def rows_of(x: Tensor, variables: list[Tensor], carried: tuple[int, int], kept: list[Tensor]) -> Rows:
    """Where the rows of a tensor of each step are; the place of those that the loop backwards gives is not known."""
    node = node_of_tensor(x)
    for k, variable in enumerate(variables):
        if k >= carried[1] and node_of_tensor(variable) is node:
            return Rows("operands", k)
    for k, tensor in enumerate(kept):
        if node_of_tensor(tensor) is node:
            return Rows("kept", k)
    return Rows("results", -1)
