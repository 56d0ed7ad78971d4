"""A primitive among transforms: what `apply` does with operands of several levels, or of a mode other than reverse.

The innermost level of the operands decides. In reverse mode the primitive is recorded there, in forward mode it is
executed with its jvp, of several seeds all are done at once, and in the body of a loop that is being traced it is noted
down. What belongs to levels further out is an array to it, which records in turn.
"""

from typing import Any

from tapegrad.errors import InputError
from tapegrad.tensor.instruction import Batch, Instruction, Primitive, Tangent
from tapegrad.tensor.namespaces import Array, Staging, namespace, staged
from tapegrad.tensor.nesting import namespace as _namespace  # noqa: F401  enters itself
from tapegrad.tensor.nesting.batching import apply_batched
from tapegrad.tensor.nesting.levels import floor, switches
from tapegrad.tensor.nesting.stage import Stage, reading
from tapegrad.tensor.nesting.traced import Traced, computes_alike, settled, tracing
from tapegrad.tensor.tensor import Tensor, apply, joined, nested, operand, refusal, wrapped


def level_of(node: Any) -> int:
    """The level that a tensor's node belongs to."""
    return node.level  # type: ignore[no-any-return]


def apply_nested(primitive: Primitive, operands: tuple[Any, ...], settings: Any) -> Tensor:
    """Executes a primitive at the innermost level of its operands."""
    lowest = floor()
    values: list[Any] = []
    level, kind = -1, None
    innermost: Any = None
    for value in operands:
        if type(value) is Tensor:
            tensor = value
            if tensor._node is not None:
                own = level_of(tensor._node)
                if own <= lowest:
                    value = tensor.detach()
                elif own > level:
                    level, kind, innermost = own, type(tensor._node), tensor._node
        elif type(value) is not float and type(value) is not int:
            value = operand(value)
            value = wrapped(value) if hasattr(value, "dtype") else value
        values.append(value)
    if level < 0:
        return apply(primitive, tuple(values), settings)
    if switches.bodies:
        body = reading(values, settings, level)
        if body is not None:
            return body.record(primitive, values, settings)  # type: ignore[no-any-return]
    if kind is Batch:
        return apply_batched(primitive, values, settings, level)
    if kind is Stage:
        return innermost.record(primitive, values, settings)  # type: ignore[no-any-return]
    if kind is Tangent:
        return forwards(primitive, values, settings, level)
    return recorded(primitive, values, settings, level)


def outside(value: Any, level: int) -> Any:
    """An operand as an array of this level."""
    if type(value) is not Tensor:
        return value
    tensor = value
    if tensor._node is None or level_of(tensor._node) == level:
        return tensor._array
    return Traced(tensor)


def at_level(value: Any, level: int) -> Any:
    """The node of an operand if it is of this level; None for what is a constant to it."""
    if type(value) is not Tensor:
        return None
    tensor = value
    return tensor._node if tensor._node is not None and level_of(tensor._node) == level else None


def prepared(primitive: Primitive, arrays: list[Any], settings: Any, needs: tuple[bool, ...]) -> Instruction:
    """An instruction for arrays that may be traced; then all of them are."""
    xp = None
    traced = False
    for array in arrays:
        if type(array) is Traced:
            traced = True
        if xp is None and hasattr(array, "dtype"):
            xp = namespace(array)
    symbols = False
    if switches.staging:
        xp = staged(arrays, xp)
        symbols = isinstance(xp, Staging)
    if traced:
        xp = tracing(xp)
        arrays[:] = [computes_alike(xp, array) for array in arrays]
    i = Instruction.__new__(Instruction)
    i.primitive, i.xp, i.settings, i.needs = primitive, xp, settings, needs
    i.saved, i.snapshots, i.scratch, i.releasing, i.tracing = (), None, None, False, traced or symbols
    i.shapes = [getattr(array, "shape", ()) for array in arrays] if primitive.shapes else None
    return i


def executed(i: Instruction, arrays: list[Any]) -> Array:
    """The result of an instruction."""
    try:
        return i.primitive.forward(i, *arrays)
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise refusal(i.primitive, arrays, i.settings, error) from error


def recorded(primitive: Primitive, values: list[Any], settings: Any, level: int) -> Tensor:
    """The result in reverse mode: with an instruction."""
    arrays = [outside(value, level) for value in values]
    parents = [at_level(value, level) for value in values]
    i = prepared(primitive, arrays, settings, tuple([parent is not None for parent in parents]))
    result = executed(i, arrays)
    return joined(i, parents, settled(result), level)


def forwards(primitive: Primitive, values: list[Any], settings: Any, level: int) -> Tensor:
    """The result in forward mode: with a tangent."""
    arrays = [outside(value, level) for value in values]
    nodes = [at_level(value, level) for value in values]
    tangents = [None if node is None else node.array for node in nodes]
    i = prepared(primitive, arrays, settings, tuple([node is not None for node in nodes]))
    result = executed(i, arrays)
    tangent = pushed(i, arrays, tangents, result) if result.dtype.kind == "f" else None
    return carrying(settled(result), tangent, level)


def pushed(i: Instruction, arrays: list[Any], tangents: list[Any], result: Array) -> Array:
    """The tangent of a result, in its shape and dtype."""
    if i.primitive.jvp is None:
        raise InputError(f"primitive {i.primitive.name!r} has no jvp; give it one where it is entered")
    xp, y = i.xp, result
    traced = i.tracing
    for tangent in tangents:
        if type(tangent) is Traced:
            traced = True
    if (traced and not i.tracing) or (isinstance(xp, Staging) and any(type(t) is Traced for t in tangents)):
        xp = i.xp = tracing(xp)
        i.tracing = True
        i.saved = tuple([computes_alike(xp, array) for array in i.saved or ()])
        arrays = [computes_alike(xp, array) for array in arrays]
        y = computes_alike(xp, result)
    if traced:
        tangents = [None if tangent is None else computes_alike(xp, tangent) for tangent in tangents]
    tangent = i.primitive.jvp(i, arrays, tangents, y)
    if tangent.dtype != result.dtype:
        tangent = tangent.astype(result.dtype)
    if tangent.shape != result.shape:
        tangent = xp.broadcast_to(tangent, result.shape)
    return settled(tangent)


def carrying(array: Array, tangent: Array | None, level: int) -> Tensor:
    """A tensor with a tangent, if it has any."""
    if tangent is None:
        return array.tensor if type(array) is Traced else wrapped(array)
    tensor = Tensor.__new__(Tensor)
    node = Tangent.__new__(Tangent)
    node.level, node.array = level, tangent
    tensor._array, tensor._node = array, node
    return tensor


nested.append(apply_nested)
