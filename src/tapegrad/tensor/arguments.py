"""Arguments as tensors of a transform, and what its function gave as arrays again.

In: arrays, numbers, and tensors of transforms further out. Out: tensors of this transform's level; at the end arrays
and numbers, or tensors where a transform further out is open. Arrays are not copied: the function must not write into
its arguments.
"""

from typing import Any

from tapegrad.errors import DtypeError, InputError, ShapeError
from tapegrad.tensor.instruction import Leaf
from tapegrad.tensor.namespaces import Array, asynchronous, namespace
from tapegrad.tensor.nesting.levels import floor
from tapegrad.tensor.nesting.traced import Traced, plain, settled
from tapegrad.tensor.tensor import Tensor, wrapped
from tapegrad.tensor.trees import is_array


def leaf(value: Any, level: int) -> Tensor:
    """A tensor that wants a gradient and shares the array's memory; numbers become float64."""
    array = argument(value)
    node = Leaf.__new__(Leaf)
    node.shape, node.dtype, node.grad, node.level = array.shape, array.dtype, None, level
    tensor = Tensor.__new__(Tensor)
    tensor._array, tensor._node = array, node
    return tensor


def argument(value: Any) -> Array:
    """An argument to differentiate by, as an array."""
    xp = namespace(value)
    if type(value) is xp.ndarray:
        array = value
    elif type(value) is Tensor:
        array = outer(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        array = xp.asarray(value, dtype=float)
    else:
        array = plain_array(value, xp)
    if array.dtype.kind != "f":
        raise DtypeError(
            f"expected arrays of floating-point numbers to differentiate by, got dtype {array.dtype}; "
            "convert them with astype(float), or leave the argument out of argnums"
        )
    return array


def outer(tensor: Tensor) -> Array:
    """A tensor of a transform further out, or of `backward`, as an array that records for it."""
    node = tensor._node
    if node is None:
        return tensor._array
    return Traced(tensor) if node.level > floor() else plain(tensor._array)


def plain_array(value: Any, xp: Any) -> Array:
    """A value that is no array, as one."""
    if isinstance(value, xp.ndarray):
        raise InputError(f"expected a plain array, got {type(value).__name__}, whose operators mean something else")
    if not hasattr(value, "dtype"):
        raise InputError(f"expected arrays and numbers, got {type(value).__name__} {value!r:.60}")
    return xp.asarray(value)


def direction(value: Any, array: Array, what: str) -> Array:
    """A tangent or a seed, in the dtype of the array that it belongs to; an error if it has another shape."""
    xp = namespace(array)
    if type(value) is Tensor:
        converted = outer(value)
    elif isinstance(value, (int, float, list, tuple)) or hasattr(value, "dtype"):
        converted = value if type(value) is xp.ndarray else getattr(xp, "library", xp).asarray(value)
    else:
        raise InputError(f"expected {what} to be an array or a number, got {type(value).__name__} {value!r:.60}")
    if converted.dtype.kind not in "fiub":
        raise InputError(f"expected {what} to hold real numbers, got dtype {converted.dtype}")
    if converted.shape != array.shape:
        raise ShapeError(
            f"expected {what} to have shape {array.shape}, got {converted.shape}; {advice(converted, array)}"
        )
    return converted if converted.dtype == array.dtype else converted.astype(array.dtype)


def advice(converted: Array, array: Array) -> str:
    """What to do about a direction of another shape."""
    if converted.size == array.size:
        return f"reshape it to {array.shape}"
    if not converted.shape:
        return "give one number for each of the array's, as numpy.full(shape, number) does"
    return "give one number for each of the array's; for several directions at once call jacobian"


def lowered(array: Array, number: bool, inside: bool) -> Any:
    """What a transform gives back: an array, or a float for a number; a tensor, if it is inside another transform."""
    if type(array) is Traced:
        array = settled(array)
        if type(array) is Traced:
            return array.tensor
    if inside:
        return wrapped(array)
    # an array on a device stays one: a float would wait for it
    return float(array) if number and not asynchronous(namespace(array)) else array


def zeros(array: Array) -> Array:
    """The derivative of, or by, what it does not depend on."""
    return namespace(array).zeros(array.shape, array.dtype if array.dtype.kind == "f" else float)


def gradient(value: Any, tensor: Tensor, inside: bool) -> Any:
    """What backward left in a leaf, 0 if nothing: an array for an array (of its dtype), a float for a number."""
    grad = tensor._node.grad
    return lowered(zeros(tensor._array) if grad is None else grad, not is_array(value), inside)
