"""Structures of arguments and results: nested lists, tuples and dicts of arrays and numbers."""

from collections.abc import Iterator
from typing import Any

from tapegrad.errors import InputError
from tapegrad.tensor.namespaces import namespace
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
    leaves: list[Any] = []
    collect(tree, leaves)
    return leaves


def collect(tree: Any, leaves: list[Any]) -> None:
    """Adds the arrays and numbers of a structure to a list."""
    if isinstance(tree, dict):
        tree = tree.values()
    elif not isinstance(tree, (list, tuple)):
        leaves.append(tree)
        return
    for item in tree:
        collect(item, leaves)


def rebuilt(tree: Any, items: Iterator[Any]) -> Any:
    """The same structure with the next of the items in place of each array and number."""
    if isinstance(tree, dict):
        return {key: rebuilt(item, items) for key, item in tree.items()}
    if not isinstance(tree, (list, tuple)):
        return next(items)
    parts = [rebuilt(item, items) for item in tree]
    kind = type(tree)
    if kind is list:
        return parts
    return kind(*parts) if hasattr(tree, "_fields") else kind(parts)


def matched(tree: Any, other: Any, what: str) -> list[Any]:
    """The items of a structure that must have the shape of another, in the order of that one's.

    what: how the message calls the first, "a tangent of argument 0".
    """
    items: list[Any] = []
    match(tree, other, what, "", items)
    return items


def match(tree: Any, other: Any, what: str, place: str, items: list[Any]) -> None:
    """Adds the items of a structure to a list, or says where it is not as the other."""
    if isinstance(other, dict):
        if not isinstance(tree, dict) or tree.keys() != other.keys():
            keys = sorted(map(str, tree)) if isinstance(tree, dict) else type(tree).__name__
            raise InputError(f"expected {what}{place} to be a dict with the keys {sorted(map(str, other))}, got {keys}")
        for key in other:
            match(tree[key], other[key], what, f"{place}[{key!r}]", items)
    elif isinstance(other, (list, tuple)):
        if not isinstance(tree, (list, tuple)) or len(tree) != len(other):
            got = f"{len(tree)} items" if isinstance(tree, (list, tuple)) else type(tree).__name__
            raise InputError(f"expected {what}{place} to be a sequence of {len(other)} items, got {got}")
        for k in range(len(other)):
            match(tree[k], other[k], what, f"{place}[{k}]", items)
    elif isinstance(tree, (list, tuple, dict)) and not is_array(other) and not hasattr(other, "shape"):
        raise InputError(f"expected {what}{place} to be a number, got {type(tree).__name__}")
    else:
        items.append(tree)
