"""Loops as operations of traced functions: one body, repeated; their derivatives are loops too.

In: a `Loop` and its operands, of whatever levels. Out: tensors. The tangent of a loop is a loop over the tangent of its
body. Its gradient is a loop backwards over the body's, which reads what the loop forwards has kept of every step. Both
bodies are made by the transforms and rules that everything else is differentiated by, so that orders nest.
"""

from collections.abc import Sequence
from typing import Any

from tapegrad.compile.bodies import Kind, array_of, kind_of, tensor_of, zeros
from tapegrad.compile.hoisting import summed
from tapegrad.compile.loopgradients import gradient_for
from tapegrad.compile.loopnode import Loop, nodes_of
from tapegrad.compile.looptangents import interleaved, ordered_results, tangent_of
from tapegrad.errors import TraceError
from tapegrad.tensor.instruction import Batch, Instruction, Leaf, Primitive, Tangent
from tapegrad.tensor.namespaces import namespace
from tapegrad.tensor.nesting.batching import holding
from tapegrad.tensor.nesting.execution import carrying
from tapegrad.tensor.nesting.levels import floor
from tapegrad.tensor.nesting.stage import Stage, reading
from tapegrad.tensor.rules import shapes
from tapegrad.tensor.tensor import Tensor, apply, joined, wrapped

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
    derived = loop.tangents.get(tuple(flags))
    if derived is None:
        derived = loop.tangents[tuple(flags)] = tangent_of(loop, flags, run)
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
        outputs, gradient = wanted, gradient_for(loop, flags, wanted, run)
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
    gradient = gradient_for(loop, flags, outputs, run)
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
