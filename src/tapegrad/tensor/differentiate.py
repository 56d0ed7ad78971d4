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
        tree = tree.values()
    elif not isinstance(tree, (list, tuple)):
        return is_array(tree)
    for item in tree:  # noqa: SIM110  a C function has no generators
        if holds_array(item):
            return True
    return False


def flat(tree: Any) -> list[Any]:
    """The arrays and numbers of a structure, in order."""
    found: list[Any] = []
    collect(tree, found)
    return found


def collect(tree: Any, found: list[Any]) -> None:
    """Adds the arrays and numbers of a structure to a list."""
    if isinstance(tree, dict):
        tree = tree.values()
    elif not isinstance(tree, (list, tuple)):
        found.append(tree)
        return
    for item in tree:
        collect(item, found)


def rebuilt(tree: Any, items: Iterator[Any]) -> Any:
    """The same structure with the next of the items in place of each array and number."""
    if isinstance(tree, dict):
        return {key: rebuilt(item, items) for key, item in tree.items()}
    if not isinstance(tree, (list, tuple)):
        return next(items)
    made = [rebuilt(item, items) for item in tree]
    kind = type(tree)
    if kind is list:
        return made
    return kind(*made) if hasattr(tree, "_fields") else kind(made)


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
    node = Leaf.__new__(Leaf)
    node.shape, node.dtype, node.grad = array.shape, array.dtype, None
    made = Tensor.__new__(Tensor)
    made._array, made._node = array, node
    return made


def _plain_array(value: Any, xp: Any) -> Array:
    if isinstance(value, xp.ndarray):
        raise InputError(f"expected a plain array, got {type(value).__name__}, whose operators mean something else")
    if not hasattr(value, "dtype"):
        raise InputError(f"expected arrays and numbers, got {type(value).__name__} {value!r:.60}")
    return xp.asarray(value)


def gradient(value: Any, tensor: Tensor) -> Any:
    """What backward left in a leaf, 0 if nothing: an array for an array (of its dtype), a float for a number."""
    made = tensor._node.grad
    if made is None:
        made = namespace(tensor._array).zeros(tensor.shape, tensor.dtype)
    return made if is_array(value) else float(made)


def value_and_gradients(
    f: Callable[..., Any], args: Sequence[Any], chosen: Sequence[int]
) -> tuple[float, tuple[Any, ...]]:
    """The value of f, and its gradient with respect to each of the chosen arguments."""
    unique = list(dict.fromkeys(chosen))  # one that is named twice has one gradient
    trees = [args[k] for k in unique]
    values = flat(trees)
    leaves = [leaf(value) for value in values]
    lifted = rebuilt(trees, iter(leaves))
    made = list(args)
    for place in range(len(trees)):
        made[unique[place]] = lifted[place]
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
    found = [gradient(values[k], leaves[k]) for k in range(len(leaves))]
    gradients = rebuilt(trees, iter(found))
    return value, tuple(gradients if len(unique) == len(chosen) else [gradients[unique.index(k)] for k in chosen])


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
