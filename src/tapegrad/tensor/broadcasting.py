"""Broadcasting undone: the cotangent of an operand from that of the result it was broadcast to."""

from tapegrad.tensor.namespaces import Array


def unbroadcast(cotangent: Array, shape: tuple[int, ...]) -> Array:
    """The sum over all axes along which an operand of this shape was repeated."""
    added = cotangent.ndim - len(shape)
    if added == 1 and cotangent.shape[1:] == shape:  # a bias
        return cotangent.sum(0)
    axes = [k for k, length in enumerate(cotangent.shape) if k < added or (length != 1 and shape[k - added] == 1)]
    if axes:
        cotangent = cotangent.sum(tuple(axes), None, None, True)
    return cotangent.reshape(shape)
