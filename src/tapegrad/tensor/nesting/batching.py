"""Several seeds at once: a primitive on tensors that hold one array for each, along an axis before all others.

Only what tangents and cotangents go through is met here: what forward and vjp rules compute with them. A primitive has
a rule if one call for all seeds says the same as one call for each; the others are called seed by seed.
"""

import math
from collections.abc import Callable
from typing import Any

from tapegrad.tensor.instruction import Batch, Primitive
from tapegrad.tensor.namespaces import namespace
from tapegrad.tensor.nesting.traced import Traced, settled
from tapegrad.tensor.rules import adjoints, products, reductions, shapes, windows
from tapegrad.tensor.tensor import Tensor, apply, wrapped


class Call:
    """A primitive's operands, of which some hold an array for each of `size` seeds."""

    def __init__(self, primitive: Primitive, operands: list[Any], batched: list[bool], settings: Any, size: int):
        self.primitive = primitive
        self.operands = operands
        self.batched = batched
        self.settings = settings
        self.size = size

    def shape(self, k: int) -> tuple[int, ...]:
        """The shape of one seed's operand."""
        shape: tuple[int, ...] = getattr(self.operands[k], "shape", ())
        return shape[1:] if self.batched[k] else shape

    def all_batched(self, k: int) -> Tensor:
        """An operand with an array for each seed, whether it had them or not."""
        if self.batched[k]:
            return self.operands[k]  # type: ignore[no-any-return]
        return apply(shapes.BROADCAST_TO, (self.operands[k],), (self.size, *self.shape(k)))

    def ranked(self, k: int, ndim: int) -> Any:
        """An operand whose seeds' arrays have this many axes, so that NumPy's broadcasting finds the seeds together."""
        shape = self.shape(k)
        if not self.batched[k] or len(shape) >= ndim:
            return self.operands[k]
        return apply(shapes.RESHAPE, (self.operands[k],), (self.size, *(1,) * (ndim - len(shape)), *shape))

    def run(self, *operands: Any, settings: Any = None) -> Tensor:
        """The primitive on operands as they are stored."""
        return apply(self.primitive, operands, settings)


Rule = Callable[[Call], Tensor | None]
RULES: dict[str, Rule] = {}


def apply_batched(primitive: Primitive, values: list[Any], settings: Any, level: int) -> Tensor:
    """The results for all seeds, as one tensor."""
    operands, batched, size = [], [], 0
    for value in values:
        has_seeds = type(value) is Tensor and type(value._node) is Batch and value._node.level == level
        if has_seeds:
            size = value._node.size
            array = value._array
            value = array.tensor if type(array) is Traced else wrapped(array)
        operands.append(value)
        batched.append(has_seeds)
    call = Call(primitive, operands, batched, settings, size)
    rule = RULES.get(primitive.name)
    result = None if rule is None else rule(call)
    if result is None:
        result = one_by_one(call)
    return holding(result, level, size)


def holding(stored: Tensor, level: int, size: int) -> Tensor:
    """A tensor of several seeds from how it is stored."""
    tensor = Tensor.__new__(Tensor)
    tensor._array = stored._array if stored._node is None else Traced(stored)
    tensor._node = Batch(level, size)
    return tensor


def seeds(array: Any, level: int) -> Traced:
    """An array with one seed along its first axis each, as the array of one seed."""
    return Traced(holding(array.tensor if type(array) is Traced else wrapped(array), level, array.shape[0]))


def unseeded(array: Any, level: int, size: int) -> Any:
    """What was computed for each seed, as one array; repeated if it is the same for all."""
    if type(array) is Traced and type(array.tensor._node) is Batch and array.tensor._node.level == level:
        return settled(array.tensor._array)
    xp = namespace(array)
    return settled(xp.broadcast_to(array, (size, *array.shape)))


def one_by_one(call: Call) -> Tensor:
    """Each seed by itself."""
    results = [
        call.run(
            *[x[seed] if has else x for x, has in zip(call.operands, call.batched, strict=True)], settings=call.settings
        )
        for seed in range(call.size)
    ]
    return apply(shapes.CONCATENATE, tuple([apply(shapes.RESHAPE, (x,), (1, *x.shape)) for x in results]), 0)


def by_element(call: Call) -> Tensor:
    """Elementwise functions: the axes of all operands are aligned."""
    ndim = max(len(call.shape(k)) for k in range(len(call.operands)))
    return call.run(*[call.ranked(k, ndim) for k in range(len(call.operands))], settings=call.settings)


def over_axes(call: Call) -> Tensor:
    """Reductions: their axes are one further."""
    ndim = len(call.shape(0))
    axis, *others = call.settings
    if axis is None:
        axis = tuple(range(ndim))
    elif not isinstance(axis, tuple):
        axis = (axis,) if ndim else ()
    return call.run(*call.operands, settings=(tuple([k % ndim + 1 for k in axis]), *others))


def along_axis(call: Call) -> Tensor:
    """Sums up to each place, of one axis or of the flattened array."""
    if call.settings is None:
        return call.run(apply(shapes.RESHAPE, (call.operands[0],), (call.size, math.prod(call.shape(0)))), settings=1)
    return call.run(*call.operands, settings=call.settings % len(call.shape(0)) + 1)


def reshape(call: Call) -> Tensor:
    """One axis more in front."""
    shape = call.settings if isinstance(call.settings, (tuple, list)) else (call.settings,)
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        shape = [math.prod(call.shape(0)) // known if n == -1 else n for n in shape]
    return call.run(*call.operands, settings=(call.size, *shape))


def transpose(call: Call) -> Tensor:
    """The first axis stays."""
    ndim = len(call.shape(0))
    axes = range(ndim)[::-1] if call.settings is None else [axis % ndim for axis in call.settings]
    return call.run(*call.operands, settings=(0, *[axis + 1 for axis in axes]))


def broadcast_to(call: Call) -> Tensor:
    """New axes come behind the first."""
    return call.run(call.ranked(0, len(call.settings)), settings=(call.size, *call.settings))


def concatenate(call: Call) -> Tensor:
    """All operands with their seeds."""
    axis = call.settings % len(call.shape(0)) + 1
    return call.run(*[call.all_batched(k) for k in range(len(call.operands))], settings=axis)


def pad(call: Call) -> Tensor:
    """Nothing around the first axis."""
    return call.run(*call.operands, settings=((0, 0), *call.settings))


def shifted(index: Any) -> tuple[Any, ...] | None:
    """An index behind one more axis; None if NumPy would put the axes of arrays in front of it."""
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [k for k, part in enumerate(parts) if not shapes.is_basic(part)]
    if arrays and len(arrays) < len(parts):
        # beside arrays integers count as such, and anything between two of them separates
        places = [k for k, part in enumerate(parts) if k in arrays or isinstance(part, int)]
        if places[-1] - places[0] >= len(places):
            return None
    return (slice(None), *parts)


def getitem(call: Call) -> Tensor | None:
    """The index of each seed's array."""
    index = shifted(call.settings)
    return None if index is None else call.run(*call.operands, settings=index)


def writing(call: Call, index: Any, settings: Callable[[Any], Any]) -> Tensor | None:
    """Writing a value to places, in the arrays of all seeds."""
    moved = shifted(index)
    if moved is None:
        return None
    x = call.all_batched(0)
    xp = namespace(x._array)
    # how many axes the places have, from an array that takes no memory
    library = getattr(xp, "library", xp)
    ndim = library.broadcast_to(library.zeros(()), call.shape(0))[index].ndim
    value = call.operands[1] if not hasattr(call.operands[1], "shape") else call.ranked(1, ndim)
    return call.run(x, value, settings=settings(moved))


def put(call: Call) -> Tensor | None:
    """A value written to places."""
    return writing(call, call.settings, lambda index: index)


def add_at(call: Call) -> Tensor | None:
    """A value added at places."""
    index, once = call.settings
    return writing(call, index, lambda moved: (moved, once))


def take_along_axis(call: Call) -> Tensor:
    """The same indices for all seeds."""
    indices, axis = call.settings
    return call.run(*call.operands, settings=(indices[None], axis % len(call.shape(0)) + 1))


def matmul(call: Call) -> Tensor:
    """Vectors become matrices; of a matrix times the seeds' vectors one product of two matrices is made."""
    (x, y), (left, right) = call.operands, (len(call.shape(0)), len(call.shape(1)))
    if left == 2 and right == 1 and not call.batched[0]:
        return apply(products.MATMUL, (y, apply(shapes.TRANSPOSE, (x,), None)))
    if left == 1 and right == 2 and not call.batched[1]:
        return apply(products.MATMUL, (x, y))
    first, second = call.batched

    def matrix(value: Tensor, batched: bool, ndim: int, column: bool) -> Tensor:
        if ndim > 1:
            return value
        shape = value.shape[-1:]
        shape = (*shape, 1) if column else (1, *shape)
        return apply(shapes.RESHAPE, (value,), (call.size, *shape) if batched else shape)

    wide = Call(
        call.primitive,
        [matrix(x, first, left, False), matrix(y, second, right, True)],
        call.batched,
        None,
        call.size,
    )
    ndim = max(len(wide.shape(0)), len(wide.shape(1)))
    result = wide.run(wide.ranked(0, ndim), wide.ranked(1, ndim))
    if left > 1 and right > 1:
        return result
    shape = list(result.shape)
    if right == 1:
        del shape[-1]
    if left == 1:
        del shape[-2 if right > 1 else -1]
    return apply(shapes.RESHAPE, (result,), tuple(shape))


def einsum(call: Call) -> Tensor:
    """One more label, of the seeds."""
    terms, result = products.parse(call.settings, len(call.operands))
    free = next(label for label in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if label not in call.settings)
    named = [free + term if batched else term for term, batched in zip(terms, call.batched, strict=True)]
    return call.run(*call.operands, settings=",".join(named) + "->" + free + result)


def merged(call: Call, k: int) -> Tensor:
    """Images of all seeds as one batch of images."""
    x = call.operands[k]
    return apply(shapes.RESHAPE, (x,), (x.shape[0] * x.shape[1], *x.shape[2:]))


def divided(call: Call, result: Tensor) -> Tensor:
    """A batch of images as those of each seed."""
    images = result.shape[0] // call.size
    return apply(shapes.RESHAPE, (result,), (call.size, images, *result.shape[1:]))


def avg_pool2d(call: Call) -> Tensor:
    """All images at once."""
    return divided(call, call.run(merged(call, 0), settings=call.settings))


def conv2d(call: Call) -> Tensor | None:
    """All images at once, if the weights are the same for all seeds."""
    if call.batched[1]:
        return None
    return divided(call, call.run(merged(call, 0), call.operands[1], settings=call.settings))


def conv2d_images(call: Call) -> Tensor | None:
    """All images at once, if the weights are the same for all seeds."""
    if call.batched[1]:
        return None
    window, groups, shape = call.settings
    settings = (window, groups, (shape[0] * call.size, *shape[1:]))
    return divided(call, call.run(merged(call, 0), call.operands[1], settings=settings))


ELEMENTWISE = (
    "add sub mul div pow neg exp expm1 log log1p sqrt square sin cos tanh sigmoid softplus relu erf gelu gelu_tanh abs "
    "maximum minimum where clip astype"
)
RULES.update(dict.fromkeys(ELEMENTWISE.split(), by_element))
RULES.update(dict.fromkeys(["sum", "mean", "max", "min", "var"], over_axes))
RULES.update(
    {
        reductions.CUMSUM.name: along_axis,
        shapes.RESHAPE.name: reshape,
        shapes.TRANSPOSE.name: transpose,
        shapes.BROADCAST_TO.name: broadcast_to,
        shapes.CONCATENATE.name: concatenate,
        shapes.GETITEM.name: getitem,
        shapes.PAD.name: pad,
        shapes.TAKE_ALONG_AXIS.name: take_along_axis,
        adjoints.PUT.name: put,
        adjoints.ADD_AT.name: add_at,
        products.MATMUL.name: matmul,
        products.EINSUM.name: einsum,
        windows.CONV2D.name: conv2d,
        windows.CONV2D_IMAGES.name: conv2d_images,
        windows.AVG_POOL2D.name: avg_pool2d,
    }
)
