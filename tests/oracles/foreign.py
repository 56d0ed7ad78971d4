"""Arrays of another library than NumPy, as far as the engine can tell.

They are NumPy's underneath, but their functions are those of their own namespace: a function of NumPy that is called on
one by name raises. What the namespace gives are such arrays again, also where NumPy would give a number.
"""

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.special


class Inside:
    """Whether a function of the namespace, or a method of an array, is running; and which functions have."""

    depth = 0
    called: set[str] = set()


@contextmanager
def inside():
    Inside.depth += 1
    try:
        yield
    finally:
        Inside.depth -= 1


def foreign(result: Any) -> Any:
    """Arrays and NumPy's numbers as foreign arrays; anything else as it is."""
    if isinstance(result, np.ndarray | np.generic):
        return np.asarray(result).view(ForeignArray)
    if isinstance(result, tuple):
        return tuple(map(foreign, result))
    return result


def plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, ForeignArray) else value


class ForeignArray(np.ndarray):
    """An array whose namespace is `NAMESPACE`."""

    def __array_namespace__(self, api_version: Any = None) -> Any:
        return NAMESPACE

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **named: Any) -> Any:
        assert Inside.depth, f"numpy.{ufunc.__name__} was called by name on a foreign array"
        if out is not None:
            named["out"] = tuple(map(plain, out))
        result = getattr(ufunc, method)(*map(plain, inputs), **named)
        return out[0] if out is not None else foreign(result)

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        assert Inside.depth, f"numpy.{function.__name__} was called by name on a foreign array"
        return foreign(super().__array_function__(function, types, args, named))


def method(name: str) -> Callable[..., Any]:
    def run(self: ForeignArray, *args: Any, **named: Any) -> Any:
        with inside():
            return foreign(getattr(np.ndarray, name)(self, *args, **named))

    return run


METHODS = [name for name in vars(np.ndarray) if not name.startswith("__") and callable(getattr(np.ndarray, name))]
ARITHMETIC = ["add", "sub", "mul", "truediv", "pow", "matmul", "and", "or", "xor"]
OTHER = [
    "mod",
    "neg",
    "abs",
    "invert",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
    "getitem",
    "setitem",
    "bool",
    "float",
    "repr",
]
OPERATORS = [f"__{kind}{name}__" for kind in ("", "r", "i") for name in ARITHMETIC]
OPERATORS += [f"__{name}__" for name in OTHER]
# a view and an item are no computation, and this file needs them as they are
for _name in [*set(METHODS) - {"view", "item", "tolist"}, *OPERATORS]:
    setattr(ForeignArray, _name, method(_name))


class Namespace:
    """NumPy's functions for foreign arrays."""

    ndarray = ForeignArray

    def __init__(self, name: str, source: Any):
        self.__name__ = name
        self._source = source

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._source, name)
        if isinstance(found, type) or not callable(found):
            return found if not hasattr(found, "default_rng") else Namespace(name, found)
        return Function(found)


class Function:
    """A function of the namespace; for a ufunc also its methods."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def __call__(self, *args: Any, **named: Any) -> Any:
        Inside.called.add(self._function.__name__)
        if self._function is np.broadcast_to:  # CuPy's takes its own arrays only
            assert isinstance(args[0], ForeignArray), f"broadcast_to was given a {type(args[0]).__name__}"
        with inside():
            result = self._function(*args, **named)
        return Namespace("generator", result) if isinstance(result, np.random.Generator) else foreign(result)

    def __getattr__(self, name: str) -> Any:
        return Function(getattr(self._function, name))


NAMESPACE = Namespace("foreign", np)
expit = Function(scipy.special.expit)
erf = Function(scipy.special.erf)
