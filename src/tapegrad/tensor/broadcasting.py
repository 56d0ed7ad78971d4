"""Broadcasting undone: the cotangent of an operand from that of the result it was broadcast to."""

from tapegrad.tensor.namespaces import Array, namespace


def unbroadcast(cotangent: Array, shape: tuple[int, ...]) -> Array:
    """The sum over all axes along which an operand of this shape was repeated."""
    added = cotangent.ndim - len(shape)
    axes = tuple(range(added)) + tuple(
        added + axis for axis, length in enumerate(shape) if length == 1 and cotangent.shape[added + axis] != 1
    )
    if axes:
        cotangent = namespace(cotangent).sum(cotangent, axis=axes, keepdims=True)
    return cotangent.reshape(shape)
