"""A primitive among transforms: what `apply` does with operands of several levels, or of a mode other than reverse.

The innermost level of the operands decides. In reverse mode the primitive is recorded there, in forward mode it is
executed with its jvp, and of several seeds all are done at once. What belongs to levels further out is an array to it,
which records in turn.
"""

from typing import Any

from tapegrad.tensor.instruction import Batch, Instruction, Primitive, Tangent
from tapegrad.tensor.namespaces import Array, namespace
from tapegrad.tensor.nesting import namespace as _namespace  # noqa: F401  enters itself
from tapegrad.tensor.nesting.batching import apply_batched
from tapegrad.tensor.nesting.levels import floor
from tapegrad.tensor.nesting.traced import Traced, computes_alike, settled, tracing
from tapegrad.tensor.tensor import Tensor, apply, joined, nested, operand, refusal, wrapped


def apply_nested(primitive: Primitive, operands: tuple[Any, ...], settings: Any) -> Tensor:
    """Executes a primitive at the innermost level of its operands."""
    lowest = floor()
    values: list[Any] = []
    level, kind = -1, None
    for value in operands:
        if type(value) is not Tensor:
            if type(value) not in (int, float):
                value = operand(value)
                value = wrapped(value) if hasattr(value, "dtype") else value
        elif value._node is not None:
            if value._node.level <= lowest:
                value = value.detach()
            elif value._node.level > level:
                level, kind = value._node.level, type(value._node)
        values.append(value)
    if level < 0:
        return apply(primitive, tuple(values), settings)
    if kind is Batch:
        return apply_batched(primitive, values, settings, level)
    return (forwards if kind is Tangent else recorded)(primitive, values, settings, level)


def outside(value: Any, level: int) -> Any:
    """An operand as an array of this level."""
    if type(value) is not Tensor:
        return value
    if value._node is None or value._node.level == level:
        return value._array
    return Traced(value)


def execute(primitive: Primitive, arrays: list[Any], settings: Any, needs: tuple[bool, ...]) -> tuple[Instruction, Any]:
    """An instruction and its result, from arrays that may be traced."""
    xp = next(namespace(array) for array in arrays if hasattr(array, "dtype"))
    traced = any(type(array) is Traced for array in arrays)
    if traced:
        xp = tracing(xp)
        arrays[:] = [computes_alike(xp, array) for array in arrays]
    i = Instruction.__new__(Instruction)
    i.primitive, i.xp, i.settings, i.needs = primitive, xp, settings, needs
    i.saved, i.snapshots, i.scratch, i.releasing, i.tracing = (), None, None, False, traced
    i.shapes = [getattr(array, "shape", ()) for array in arrays] if primitive.shapes else None
    try:
        return i, primitive.forward(i, *arrays)
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise refusal(primitive, arrays, settings, error) from error


def recorded(primitive: Primitive, values: list[Any], settings: Any, level: int) -> Tensor:
    """The result in reverse mode: with an instruction."""
    arrays = [outside(value, level) for value in values]
    parents = [
        value._node if type(value) is Tensor and value._node is not None and value._node.level == level else None
        for value in values
    ]
    i, result = execute(primitive, arrays, settings, tuple([parent is not None for parent in parents]))
    return joined(i, parents, settled(result), level)


def forwards(primitive: Primitive, values: list[Any], settings: Any, level: int) -> Tensor:
    """The result in forward mode: with a tangent."""
    arrays = [outside(value, level) for value in values]
    tangents = [
        value._node.array if type(value) is Tensor and value._node is not None and value._node.level == level else None
        for value in values
    ]
    i, result = execute(primitive, arrays, settings, tuple([tangent is not None for tangent in tangents]))
    tangent = pushed(i, arrays, tangents, result) if result.dtype.kind == "f" else None
    return carrying(settled(result), tangent, level)


def pushed(i: Instruction, arrays: list[Any], tangents: list[Any], result: Array) -> Array:
    """The tangent of a result, in its shape and dtype."""
    if i.primitive.jvp is None:
        raise NotImplementedError(f"primitive {i.primitive.name!r} has no jvp; enter it with one")
    xp, y = i.xp, result
    if any(type(tangent) is Traced for tangent in tangents):
        xp = i.xp = tracing(xp)
        i.tracing = True
        i.saved = tuple([computes_alike(xp, array) for array in i.saved or ()])
        arrays = [computes_alike(xp, array) for array in arrays]
        y = computes_alike(xp, result)
    if any(type(array) is Traced for array in arrays):
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
    made = Tensor.__new__(Tensor)
    made._array, made._node = array, Tangent(level, tangent)
    return made


nested.append(apply_nested)
