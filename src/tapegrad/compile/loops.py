"""Loops as operations of traced functions: one body, repeated; their derivatives are loops too.

In: a `Loop` and its operands, of whatever levels. Out: tensors. The tangent of a loop is a loop over the tangent of its
body. Its gradient is a loop backwards over the body's, which reads what the loop forwards has kept of every step. Both
bodies are made by the transforms and rules that everything else is differentiated by, so that orders nest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tapegrad.compile.bodies import (
    Body,
    Kind,
    Place,
    Recorder,
    array_of,
    changing,
    kind_of,
    mark,
    node_of_tensor,
    part_of,
    recording,
    replayed,
    tensor_of,
    traced_body,
    zeros,
)
from tapegrad.compile.fusion import contiguous, view_of
from tapegrad.compile.hoisting import Product, products_in, summed
from tapegrad.compile.keeping import Keeping
from tapegrad.compile.operations import VIEWS
from tapegrad.compile.symbol import Node, Symbol, current, node_of, number_of, recorded
from tapegrad.errors import TraceError
from tapegrad.tensor.directions import output_array, split, vjp_of
from tapegrad.tensor.instruction import Batch, Instruction, Leaf, Primitive, Tangent
from tapegrad.tensor.namespaces import namespace
from tapegrad.tensor.nesting.batching import holding
from tapegrad.tensor.nesting.execution import carrying
from tapegrad.tensor.nesting.levels import Level, floor
from tapegrad.tensor.nesting.stage import Stage, reading
from tapegrad.tensor.nesting.traced import plain
from tapegrad.tensor.rules import elementwise, shapes
from tapegrad.tensor.tensor import Tensor, apply, joined, wrapped


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
    _tangents: dict[tuple[bool, ...], "Derived"] = field(default_factory=dict)
    _gradients: dict[tuple[tuple[bool, ...], tuple[bool, ...]], "Gradient"] = field(default_factory=dict)

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


# ---- a loop applied to operands ----------------------------------------------------------------------------------


def run(loop: Loop, operands: Sequence[Any]) -> list[Tensor]:
    """The results of a loop, at the innermost level of its operands."""
    lowest, innermost = floor(), None
    values = []
    for value in operands:
        value = value if type(value) is Tensor else wrapped(value)
        if value._node is not None:
            if value._node.level <= lowest:
                value = value.detach()
            elif innermost is None or value._node.level > innermost.level:
                innermost = value._node
        values.append(value)
    if innermost is None:
        return [wrapped(array) for array in nodes_of(loop, [value._array for value in values])]
    body = reading(values, None, innermost.level)
    if body is not None:
        return body.record_loop(loop, values, nodes_of)  # type: ignore[no-any-return]
    if type(innermost) is Batch:
        return one_by_one(loop, values, innermost)
    if type(innermost) is Stage:
        return innermost.recorder.record_loop(loop, values, nodes_of)  # type: ignore[no-any-return]
    if type(innermost) is Tangent:
        return pushed(loop, values, innermost.level)
    return recorded_loop(loop, values, innermost.level)


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


def at(value: Tensor, level: int) -> bool:
    """Whether a tensor is of a level."""
    return value._node is not None and value._node.level == level


def outside(value: Tensor, level: int) -> Tensor:
    """A tensor without what this level has added to it."""
    return tensor_of(value._array) if at(value, level) else value


def one_by_one(loop: Loop, values: Sequence[Tensor], batch: Batch) -> list[Tensor]:
    """The results for each of several seeds, together."""
    stored = [outside(value, batch.level) for value in values]
    seeds = []
    for k in range(batch.size):
        given = [s[k] if at(v, batch.level) else s for v, s in zip(values, stored, strict=True)]
        seeds.append(run(loop, given))
    results = []
    for each in zip(*seeds, strict=True):
        rows = [apply(shapes.RESHAPE, (x,), (1, *x.shape)) for x in each]
        results.append(holding(apply(shapes.CONCATENATE, tuple(rows), 0), batch.level, batch.size))
    return results


# ---- forward mode ------------------------------------------------------------------------------------------------


def pushed(loop: Loop, values: Sequence[Tensor], level: int) -> list[Tensor]:
    """The results with tangents."""
    flags, outputs = loop.active([at(v, level) and v.dtype.kind == "f" for v in values])
    derived = loop._tangents.get(tuple(flags))
    if derived is None:
        derived = loop._tangents[tuple(flags)] = tangent_of(loop, flags)
    primals = [outside(value, level) for value in values]
    tangents = [
        tensor_of(value._node.array) if at(value, level) else zeros(Kind(value.shape, value.dtype))
        for value, flag in zip(values, flags, strict=True)
        if flag
    ]
    results = run(derived.loop, [*derived.taken, *interleaved(loop, primals, tangents, flags)])
    count = len(loop.kinds)
    order, places = ordered_results(loop, outputs), dict[int, Tensor]()
    for (k, is_tangent), result in zip(order, results, strict=True):
        places[k + count * is_tangent] = result
    return [
        carrying(array_of(places[k]), array_of(places[k + count]) if outputs[k] else None, level) for k in range(count)
    ]


def interleaved(loop: Loop, primals: list[Any], tangents: list[Any], flags: Sequence[bool]) -> list[Any]:
    """Operands and their tangents: constants, theirs, what is carried, its, rows, theirs."""
    remaining = iter(tangents)
    by_operand = [next(remaining) if flag else None for flag in flags]
    mixed = []
    for start, end in sections(loop):
        mixed += primals[start:end]
        mixed += [tangent for tangent in by_operand[start:end] if tangent is not None]
    return mixed


def sections(loop: Loop) -> list[tuple[int, int]]:
    """Where constants, what is carried and rows start and end among operands."""
    first, second = loop.constants, loop.constants + loop.carried
    return [(0, first), (first, second), (second, len(loop.body.places))]


def ordered_results(loop: Loop, outputs: Sequence[bool]) -> list[tuple[int, bool]]:
    """Which result of the tangent's loop is which of the loop's: its number, and whether it is its tangent."""
    count, order = len(outputs), []
    for start, end in ((0, loop.carried), (loop.carried, count)):
        order += [(k, False) for k in range(start, end)]
        order += [(k, True) for k in range(start, end) if outputs[k]]
    return order


def tangent_of(loop: Loop, flags: Sequence[bool]) -> Derived:
    """The loop that computes results and their tangents."""
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


# ---- reverse mode ------------------------------------------------------------------------------------------------


class Bundle:
    """The cotangents of a loop's results, on their way together; those that nothing asked for are not there."""

    # what the backward pass asks of a cotangent: never an array of any size
    __slots__ = ("items",)
    shape, size = (), 0

    class dtype:  # noqa: N801, D106  a dtype of its own
        pass

    def __init__(self, items: dict[int, Any]):
        self.items = items

    def __add__(self, other: "Bundle") -> "Bundle":
        items = dict(self.items)
        for k, cotangent in other.items.items():
            items[k] = items[k] + cotangent if k in items else cotangent
        return Bundle(items)


def vjp_part(i: Instruction, g: Any) -> tuple[Bundle]:
    """The cotangent of one result."""
    return (Bundle({i.settings: g}),)


def vjp_loop(i: Instruction, g: Bundle) -> tuple[Any, ...]:
    """The cotangents of a loop's operands: the loop backwards."""
    loop, gradient, flags, outputs, operands = i.settings
    kept = [tensor_of(array) for array in i.saved or ()]
    # Zeros for a row of results that nothing reads would be products with whatever is there, such as infinities. What
    # is carried has a cotangent in all steps but, at times, the last.
    wanted = [flag and (k < loop.carried or k in g.items) for k, flag in enumerate(outputs)]
    if wanted != outputs:
        outputs, gradient = wanted, gradient_for(loop, flags, wanted)
        ahead = gradient.forwards
        kept = run(ahead.loop, [*ahead.taken, *operands])[len(loop.kinds) :]
    first = gradient.backwards
    of_results = [
        tensor_of(g.items[k]) if k in g.items else zeros(loop.result(k)) for k, flag in enumerate(outputs) if flag
    ]
    carried = sum(outputs[: loop.carried])
    start, end = loop.constants, loop.constants + loop.carried
    accumulators = [zeros(kind_of(loop.body.inputs[k])) for k in gradient.summed]
    results = run(
        first.loop,
        [
            *first.taken,
            *operands[:start],
            *of_results[:carried],
            *accumulators,
            *kept,
            *operands[end:],
            *of_results[carried:],
        ],
    )
    rows = {"operands": operands, "kept": kept, "results": results}
    of_constants = dict(zip(gradient.summed, results[carried:], strict=False))
    for k, terms in gradient.products.items():
        of_constants[k] = summed([(term, rows[x.among][x.place], rows[y.among][y.place]) for term, x, y in terms])
    of_others = iter([*results[:carried], *results[carried + len(accumulators) :]])
    return tuple(
        [array_of(of_constants[k] if k < start else next(of_others)) if flag else None for k, flag in enumerate(flags)]
    )


LOOP = Primitive("scan", lambda i, *xs: xs, vjp_loop, fresh=False)  # noqa: ARG005  as rules are
PART = Primitive("part", lambda i, *xs: xs, vjp_part, fresh=False)  # noqa: ARG005  as rules are


def recorded_loop(loop: Loop, values: Sequence[Tensor], level: int) -> list[Tensor]:
    """The results, recorded for reverse mode."""
    needs = [at(v, level) and type(v._node) in (Leaf, Instruction) and v.dtype.kind == "f" for v in values]
    flags, outputs = loop.active(needs)
    operands = [outside(value, level) for value in values]
    if not any(outputs):
        return run(loop, operands)
    if loop.length is None:
        raise TraceError(
            "reverse mode of a while_loop inside jit: how many steps there are is not known before it runs, so there "
            "is no room to keep them. Write fori_loop(0, most, …) with tapegrad.tensor.where(condition, new, old) in "
            "its body, differentiate in forward mode (tapegrad.jvp), or call the function without jit"
        )
    gradient = gradient_for(loop, flags, outputs)
    results = run(gradient.forwards.loop, [*gradient.forwards.taken, *operands])
    count = len(outputs)
    whole = instruction(LOOP, (loop, gradient, flags, outputs, operands), tuple(needs))
    whole.saved = tuple([array_of(result) for result in results[count:]])
    parents = [value._node if need else None for value, need in zip(values, needs, strict=True)]
    root = joined(whole, parents, Bundle({}), level)._node
    tensors = []
    for k, (result, flag) in enumerate(zip(results[:count], outputs, strict=True)):
        if not flag:
            tensors.append(result)
            continue
        part = instruction(PART, k, (True,))
        part.xp = namespace(array_of(result))
        tensors.append(joined(part, [root], array_of(result), level))
    return tensors


def instruction(primitive: Primitive, settings: Any, needs: tuple[bool, ...]) -> Instruction:
    """An instruction of a recording."""
    i = Instruction.__new__(Instruction)
    i.primitive, i.xp, i.settings, i.needs = primitive, None, settings, needs
    i.saved, i.snapshots, i.scratch, i.releasing, i.tracing, i.shapes = (), None, None, False, False, None
    return i


def gradient_for(loop: Loop, flags: Sequence[bool], outputs: Sequence[bool]) -> Gradient:
    """The loops of reverse mode, made once; outputs: which results have cotangents."""
    key = tuple(flags), tuple(outputs)
    if key not in loop._gradients:
        loop._gradients[key] = gradient_of(loop, flags, outputs)
    return loop._gradients[key]


def gradient_of(loop: Loop, flags: Sequence[bool], outputs: Sequence[bool]) -> Gradient:
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
        return divided(loop, recorder, variables, results, seeds, cotangents, outputs, forward_count)


def divided(
    loop: Loop,
    recorder: Recorder,
    variables: list[Tensor],
    results: list[Tensor],
    seeds: list[Tensor],
    cotangents: dict[int, Any],
    outputs: Sequence[bool],
    forward_count: int,
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
