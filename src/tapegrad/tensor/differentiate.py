"""Differentiation of functions of arrays, for the transforms.

In: a function, its arguments, and which of them to differentiate by: nested lists, tuples and dicts of arrays and
numbers. Out: the result, and gradients of the same structure. The arrays are not copied: the function must not write
into its arguments.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tapegrad.errors import DtypeError, InputError
from tapegrad.tensor.instruction import Leaf
from tapegrad.tensor.namespaces import Array, namespace
from tapegrad.tensor.tensor import Tensor


def is_array(value: Any) -> bool:
    """Whether a value is an array or a tensor; NumPy's scalars are numbers."""
    if type(value) is namespace(value).ndarray:
        return True
    return isinstance(value, (Tensor, namespace(value).ndarray))


def holds_array(tree: Any) -> bool:
    """Whether there is an array anywhere in a structure."""
    if isinstance(tree, dict):
        return any(map(holds_array, tree.values()))
    if isinstance(tree, (list, tuple)):
        return any(map(holds_array, tree))
    return is_array(tree)


def mapped(convert: Callable[[Any], Any], tree: Any) -> Any:
    """The same structure with each array or number converted, in order."""
    if isinstance(tree, dict):
        return {key: mapped(convert, item) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        items = [mapped(convert, item) for item in tree]
        kind = type(tree)
        if kind is list:
            return items
        return kind(*items) if hasattr(tree, "_fields") else kind(items)
    return convert(tree)


def leaf(value: Any) -> Tensor:
    """A tensor that wants a gradient and shares the array's memory; numbers become float64."""
    xp = namespace(value)
    if type(value) is xp.ndarray:
        array = value
    elif type(value) is Tensor:
        array = value._array
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        array = xp.asarray(value, dtype=float)
    else:
        array = _plain_array(value, xp)
    if array.dtype.kind != "f":
        raise DtypeError(
            f"expected arrays of floating-point numbers to differentiate by, got dtype {array.dtype}; "
            "convert them with astype(float), or leave the argument out of argnums"
        )
    made = Tensor.__new__(Tensor)
    made._array, made._node = array, Leaf(array)
    return made


def _plain_array(value: Any, xp: Any) -> Array:
    if isinstance(value, xp.ndarray):
        raise InputError(f"expected a plain array, got {type(value).__name__}, whose operators mean something else")
    if not hasattr(value, "dtype"):
        raise InputError(f"expected arrays and numbers, got {type(value).__name__} {value!r:.60}")
    return xp.asarray(value)


def lifted(tree: Any) -> tuple[Any, list[Tensor]]:
    """A structure with a leaf in place of each array and number, and the leaves in order."""
    leaves: list[Tensor] = []

    def lift(value: Any) -> Tensor:
        leaves.append(leaf(value))
        return leaves[-1]

    return mapped(lift, tree), leaves


def gradients(tree: Any, leaves: list[Tensor]) -> Any:
    """A structure with the gradient in place of each array (an array of its dtype) and number (a float)."""
    order: Iterator[Tensor] = iter(leaves)

    def gradient(value: Any) -> Any:
        found = next(order)
        made = found._node.grad
        if made is None:
            made = namespace(found._array).zeros(found.shape, found.dtype)
        return made if is_array(value) else float(made)

    return mapped(gradient, tree)


def value_and_gradients(
    f: Callable[..., Any], args: Sequence[Any], chosen: Sequence[int]
) -> tuple[float, tuple[Any, ...]]:
    """The value of f, and its gradient with respect to each of the chosen arguments."""
    made = list(args)
    leaves = {}
    for k in chosen:
        made[k], leaves[k] = lifted(args[k])
    result = f(*made)
    if type(result) is Tensor and result.size == 1:
        value = result.item()
        if result.requires_grad:
            result.backward()
    elif isinstance(result, (int, float)):
        value = float(result)
    else:
        shape = f" of shape {result.shape}" if isinstance(result, Tensor) else ""
        raise InputError(
            f"expected the function to return one number, got {type(result).__name__}{shape}; "
            "reduce it (.sum()), or use tapegrad.jacobian for several"
        )
    return value, tuple([gradients(args[k], leaves[k]) for k in chosen])


def jacobian_of(f: Callable[..., Any], args: Sequence[Any], argnum: int) -> Array:
    """All derivatives of f's results with respect to one array: the result's shape, then the array's."""
    if not is_array(args[argnum]):
        raise InputError(f"expected one array to differentiate by, got {type(args[argnum]).__name__}")
    made = list(args)
    made[argnum] = x = leaf(args[argnum])
    result = f(*made)
    outputs = list(_outputs(result))
    xp = namespace(x._array)
    rows = []
    for output in outputs:
        for index in range(output.size):
            x.grad = None
            if output.requires_grad:
                seed = xp.zeros(output.size, output.dtype)
                seed[index] = 1
                output.backward(seed.reshape(output.shape), retain=True)
            rows.append(xp.zeros(x.shape, x.dtype) if x.grad is None else x.grad)
    shape = outputs[0].shape if isinstance(result, Tensor) else (len(outputs), *outputs[0].shape)
    return xp.stack(rows).reshape(*shape, *x.shape)


def _outputs(result: Any) -> Iterator[Tensor]:
    """What a function returned as tensors: one, or a sequence of them and of numbers."""
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, list | tuple) and result:
        for item in result:
            if not isinstance(item, Tensor | int | float):
                raise InputError(f"expected the function to return tensors, got {type(item).__name__} in a sequence")
            yield item if isinstance(item, Tensor) else Tensor(item)
    else:
        raise InputError(f"expected the function to return a tensor or a sequence of them, got {result!r:.60}")
