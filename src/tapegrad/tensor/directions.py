"""Derivatives along directions: jvp, vjp and hvp of functions of arrays.

In: a function, its arguments, which of them to differentiate by, and for each of these a direction of its structure.
Out: arrays and floats; inside another transform tensors that it can differentiate, so that transforms compose to any
order.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.errors import InputError
from tapegrad.tensor.arguments import argument, direction, gradient, leaf, lowered, zeros
from tapegrad.tensor.backward import propagate
from tapegrad.tensor.gradients import value_and_gradients
from tapegrad.tensor.instruction import Instruction, Primitive, Tangent
from tapegrad.tensor.namespaces import Array, namespace
from tapegrad.tensor.nesting.execution import carrying
from tapegrad.tensor.nesting.levels import Level, depth
from tapegrad.tensor.nesting.traced import Traced
from tapegrad.tensor.tensor import Tensor
from tapegrad.tensor.trees import flat, is_array, matched, rebuilt

Function = Callable[..., Any]
Argnums = Sequence[int]


def replaced(args: Sequence[Any], argnums: Argnums, trees: Sequence[Any], tensors: Sequence[Tensor]) -> list[Any]:
    """The arguments with tensors in place of those to differentiate by."""
    arguments = list(args)
    lifted = rebuilt(list(trees), iter(tensors))
    for argnum, tree in zip(argnums, lifted, strict=True):
        arguments[argnum] = tree
    return arguments


def chosen(args: Sequence[Any], argnums: Argnums) -> list[Any]:
    """The arguments to differentiate by."""
    if len(set(argnums)) < len(argnums):
        raise InputError(f"expected each argument once in argnums, got {tuple(argnums)}")
    return [args[k] for k in argnums]


def jvp_of(f: Function, args: Sequence[Any], argnums: Argnums, tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of f and its derivative along the tangents, in forward mode: nothing is recorded.

    f may return any structure of tensors, arrays and numbers.
    """
    trees = chosen(args, argnums)
    values = flat(trees)
    if len(tangents) != len(trees):
        raise InputError(f"expected a tangent for each of {len(trees)} arguments, got {len(tangents)}")
    directions: list[Any] = []
    for argnum, tree, tangent in zip(argnums, trees, tangents, strict=True):
        directions += matched(tangent, tree, f"the tangent of argument {argnum}")
    with Level() as level:
        lifted = []
        for k, value in enumerate(values):
            array = argument(value)
            lifted.append(carrying(array, direction(directions[k], array, f"tangent {k}"), level))
        result = f(*replaced(args, argnums, trees, lifted))
        outputs = [split(output, level) for output in flat(result)]
    return (
        rebuilt(
            result,
            iter([given_back(output, primal) for output, (primal, _) in zip(flat(result), outputs, strict=True)]),
        ),
        rebuilt(
            result,
            iter([given_back(output, tangent) for output, (_, tangent) in zip(flat(result), outputs, strict=True)]),
        ),
    )


def split(output: Any, level: int) -> tuple[Any, Any]:
    """What a function returned in forward mode, and its tangent, as arrays."""
    array = output_array(output, level)
    node = output._node if type(output) is Tensor else None
    if node is not None and node.level == level and type(node) is Tangent:
        return array, node.array
    return array, zeros(array)


def output_array(output: Any, level: int) -> Array:
    """An item of what a function returned, as an array of the transform's level."""
    if type(output) is Tensor:
        if output._node is None or output._node.level == level:
            return output._array
        return Traced(output)
    if not isinstance(output, (int, float)) and not hasattr(output, "dtype"):
        raise InputError(
            f"expected the function to return tensors, arrays and numbers, got {type(output).__name__} {output!r:.60}"
        )
    return namespace(output).asarray(output)


def given_back(output: Any, array: Array) -> Any:
    """An array in the form of what the function returned; of one number without axes a float."""
    return lowered(array, not array.shape and (not is_array(output) or type(output) is Tensor), depth() > 0)


class Recording:
    """A function's execution in reverse mode: its results, and gradients for as many seeds as are asked for."""

    def __init__(self, f: Function, args: Sequence[Any], argnums: Argnums):
        self.trees = chosen(args, argnums)
        self.values = flat(self.trees)
        with Level() as level:
            self.leaves = [leaf(value, level) for value in self.values]
            self.result = f(*replaced(args, argnums, self.trees, self.leaves))
        self.outputs = flat(self.result)
        self.arrays = [output_array(output, level) for output in self.outputs]
        self.nodes = [
            output._node
            if type(output) is Tensor and output._node is not None and output._node.level == level
            else None
            for output in self.outputs
        ]

    def value(self) -> Any:
        """What the function returned."""
        items = [given_back(output, array) for output, array in zip(self.outputs, self.arrays, strict=True)]
        return rebuilt(self.result, iter(items))

    def propagate(self, seeds: Sequence[Array | None]) -> None:
        """Leaves in the leaves their gradients for one seed of each output, in one pass."""
        for tensor in self.leaves:
            tensor._node.grad = None
        pairs = [(n, s) for n, s in zip(self.nodes, seeds, strict=True) if n is not None and s is not None]
        if not pairs:
            return
        root = Instruction.__new__(Instruction)
        root.primitive, root.parents = RESULTS, [node for node, _ in pairs]
        root.settings, root.saved = tuple([seed for _, seed in pairs]), ()
        root.xp, root.snapshots, root.level, root.number = namespace(pairs[0][1]), None, 0, LAST
        root.scratch = None
        propagate(root, pairs[0][1], True)


# Several results as one end of a graph, from which one backward pass starts: each has its own seed.
RESULTS = Primitive("results", lambda i, *xs: xs, lambda i, g: i.settings, fresh=False)  # noqa: ARG005  as rules are
LAST = 1 << 61  # later than any instruction


def vjp_of(f: Function, args: Sequence[Any], argnums: Argnums) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of f, and a function that gives, for a seed of the value's structure, a gradient for each argument.

    It may be called as often as one likes: what f recorded is kept as long as it is.
    """
    recording = Recording(f, args, argnums)

    def pullback(seed: Any) -> tuple[Any, ...]:
        weights = matched(seed, recording.result, "the seed")
        seeds = [direction(weights[k], array, f"seed {k}") for k, array in enumerate(recording.arrays)]
        recording.propagate(seeds)
        inside = depth() > 0
        items = [gradient(v, tensor, inside) for v, tensor in zip(recording.values, recording.leaves, strict=True)]
        return tuple(rebuilt(recording.trees, iter(items)))

    return recording.value(), pullback


def hvp_of(
    f: Function, args: Sequence[Any], argnums: Argnums, tangents: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The gradients of f, a function that returns one number, and their derivatives along the tangents.

    Forward over reverse: the Hessian times the tangents, without the Hessian.
    """
    gradients, products = jvp_of(lambda *moved: value_and_gradients(f, moved, argnums)[1], args, argnums, tangents)
    return alike(gradients, chosen(args, argnums)), alike(products, chosen(args, argnums))


def alike(tree: Any, values: list[Any]) -> tuple[Any, ...]:
    """Results with an array for each array, also for one without axes."""
    items = [
        namespace(value).asarray(item, dtype=value.dtype) if isinstance(item, float) and is_array(value) else item
        for item, value in zip(flat(tree), flat(values), strict=True)
    ]
    return tuple(rebuilt(tuple(values), iter(items)))
