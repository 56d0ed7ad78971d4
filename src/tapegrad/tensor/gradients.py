"""Values and gradients of functions of arrays.

In: a function, its arguments, and which of them to differentiate by. Out: the value, and gradients of their structure.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.errors import InputError
from tapegrad.tensor.arguments import gradient, leaf, lowered
from tapegrad.tensor.backward import propagate
from tapegrad.tensor.namespaces import namespace
from tapegrad.tensor.nesting.levels import closed, depth, opened
from tapegrad.tensor.tensor import Tensor
from tapegrad.tensor.trees import flat, rebuilt


def value_and_gradients(
    f: Callable[..., Any], args: Sequence[Any], chosen: Sequence[int]
) -> tuple[Any, tuple[Any, ...]]:
    """The value of f, and its gradient with respect to each of the chosen arguments.

    Inside another transform they are tensors that it can differentiate, else floats and arrays.
    """
    unique = list(dict.fromkeys(chosen))  # one that is named twice has one gradient
    trees = [args[k] for k in unique]
    values = flat(trees)
    level = opened()
    try:
        leaves = [leaf(value, level) for value in values]
        lifted = rebuilt(trees, iter(leaves))
        arguments = list(args)
        for place in range(len(trees)):
            arguments[unique[place]] = lifted[place]
        result = one_number(f(*arguments))
        value: Any = result
        if type(result) is Tensor:
            array = value = result._array
            if result._node is not None and result._node.level == level:
                shape, dtype = array.shape, array.dtype
                propagate(result._node, namespace(array).ones(shape, dtype) if shape else dtype.type(1), False)
            elif result._node is not None:
                value = result
    finally:
        closed()
    inside = depth() > 0
    if type(value) is not Tensor and type(value) is not float:
        value = lowered(value.reshape(()) if value.shape else value, True, inside)
    flat_gradients = [gradient(values[k], leaves[k], inside) for k in range(len(leaves))]
    gradients = rebuilt(trees, iter(flat_gradients))
    return value, tuple(gradients if len(unique) == len(chosen) else [gradients[unique.index(k)] for k in chosen])


def one_number(result: Any) -> Any:
    """What a function returned, if it is a tensor of one number or a number."""
    if type(result) is Tensor and result.size == 1:
        return result
    if isinstance(result, (int, float)) or (hasattr(result, "dtype") and getattr(result, "shape", None) == ()):
        return float(result)
    shape = f" of shape {result.shape}" if isinstance(result, Tensor) else ""
    raise InputError(
        f"expected the function to return one number, got {type(result).__name__}{shape}; "
        "reduce it (.sum()), or use tapegrad.jacobian for several"
    )
