"""Transforms: from a function of numbers or arrays to its derivatives.

In: a Python function of floats or arrays, or of nested lists, tuples and dicts of them. Out: derivatives in the same
structure. Where an argument to differentiate by holds an array the function gets tensors (tensor/differentiate.py),
else the variables of a scalar tape (scalar/differentiate.py). Transforms nest, in any order and to any depth.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from numpy.typing import NDArray

from tapegrad.errors import InputError
from tapegrad.scalar import differentiate as numbers
from tapegrad.tensor import differentiate as arrays
from tapegrad.tensor.differentiate import holds_array


def value_and_grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., tuple[Any, Any]]:
    """A function that gives `f(*args)` and its gradient with respect to one argument, or to several (`argnums`).

    The gradient has the structure of the argument. If an argument to differentiate by holds an array, f gets a
    `Tensor` for each array and number of it, else a `Var` for each number.

    >>> import numpy, tapegrad
    >>> tapegrad.value_and_grad(lambda p: p["a"] * p["b"])({"a": 2.0, "b": 3.0})
    (6.0, {'a': 3.0, 'b': 2.0})
    >>> tapegrad.value_and_grad(lambda p: (p["w"] * p["w"]).sum())({"w": numpy.array([1.0, 2.0])})
    (5.0, {'w': array([2., 4.])})
    """
    one = not isinstance(argnums, Iterable)
    chosen = tuple(operator.index(n) for n in ((argnums,) if one else argnums))  # type: ignore[union-attr,arg-type]

    def evaluate(*args: Any) -> tuple[Any, Any]:
        for argnum in chosen:
            _check("argnums", argnum, args)
        if any(holds_array(args[argnum]) for argnum in chosen):
            value, gradients = arrays.value_and_gradients(f, args, chosen)
        else:
            value, gradients = numbers.gradients_of(f, args, chosen)
        return value, gradients[0] if one else gradients

    return evaluate


def grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that gives the gradient of f; see `value_and_grad`.

    >>> import tapegrad
    >>> tapegrad.grad(lambda x: x * x + tapegrad.sin(x))(3.0)
    5.010007503399555
    >>> tapegrad.grad(tapegrad.grad(lambda x: x * x * x))(2.0)
    12.0
    """
    both = value_and_grad(f, argnums)
    return lambda *args: both(*args)[1]


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """`f(*primals)`, and its derivative in the direction of the tangents, one for each argument: forward mode.

    f may return several numbers, in lists, tuples and dicts; the derivative has the same structure.

    >>> import tapegrad
    >>> tapegrad.jvp(lambda x, y: [x * y, x + y], (2.0, 3.0), (1.0, 0.0))
    ([6.0, 5.0], [3.0, 1.0])
    """
    args, directions = _pairs(primals, tangents)
    return _engine(args, "jvp_of")(f, args, range(len(args)), directions)  # type: ignore[no-any-return]


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`f(*primals)`, and the function from a cotangent of the result to a gradient for each argument: reverse mode.

    The function may be called with many cotangents; f runs only once.

    >>> import tapegrad
    >>> value, pullback = tapegrad.vjp(lambda x, y: [x * y, x + y], 2.0, 3.0)
    >>> pullback([1.0, 0.0])
    (3.0, 2.0)
    """
    return _engine(primals, "vjp_of")(f, primals, range(len(primals)))  # type: ignore[no-any-return]


def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """The Hessian of f, a function that returns one number, times the tangents: for each argument a product.

    Forward over reverse: it costs a few gradients, and the Hessian is never there.

    >>> import tapegrad
    >>> tapegrad.hvp(lambda x: x[0] * x[0] * x[1], ([2.0, 3.0],), ([1.0, 0.0],))
    ([6.0, 4.0],)
    """
    args, directions = _pairs(primals, tangents)
    return _engine(args, "hvp_of")(f, args, range(len(args)), directions)[1]  # type: ignore[no-any-return]


def jacobian(
    f: Callable[..., Any], argnum: int = 0, *, mode: Literal["forward", "reverse"] | None = None
) -> Callable[..., NDArray[Any]]:
    """A function that gives all derivatives of f's outputs with respect to one argument, as an array.

    Its shape is that of the output followed by that of the input: (m, n) for a sequence of n floats to one of m.
    mode: "forward" costs as many evaluations as there are inputs, "reverse" as there are outputs; without it, the
    cheaper one.

    >>> import tapegrad
    >>> tapegrad.jacobian(lambda x: [x[0] * x[1], x[0] + x[1]])([2.0, 3.0])
    array([[3., 2.],
           [1., 1.]])
    """

    def evaluate(*args: Any) -> NDArray[Any]:
        _check("argnum", argnum, args)
        modes = () if mode is None else (mode,)
        return _engine(args[argnum], "jacobian_of")(f, args, argnum, *modes)  # type: ignore[no-any-return]

    return evaluate


def hessian(f: Callable[..., Any], argnum: int = 0) -> Callable[..., NDArray[Any]]:
    """A function that gives all second derivatives of f, a function that returns one number, by one argument.

    Its shape is that of the argument, twice.

    >>> import tapegrad
    >>> tapegrad.hessian(lambda x: x[0] * x[0] * x[1])([2.0, 3.0])
    array([[6., 4.],
           [4., 0.]])
    """

    def evaluate(*args: Any) -> NDArray[Any]:
        _check("argnum", argnum, args)
        return _engine(args[argnum], "hessian_of")(f, args, argnum)  # type: ignore[no-any-return]

    return evaluate


def _engine(tree: Any, name: str) -> Callable[..., Any]:
    """The function of that name that differentiates by such arguments."""
    differentiate: Callable[..., Any] = getattr(arrays if holds_array(tree) else numbers, name)
    return differentiate


def _check(what: str, argnum: int, args: Sequence[Any]) -> None:
    if not 0 <= argnum < len(args):
        raise InputError(f"{what} asks for argument {argnum}, but the call has {len(args)} positional ones")


def _pairs(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Arguments and directions, as many of the one as of the other."""
    for what, entries in (("primals", primals), ("tangents", tangents)):
        if not isinstance(entries, list | tuple):
            raise InputError(
                f"expected {what} to be a tuple with one entry for each argument, got {type(entries).__name__}; "
                "write (x,) for one argument"
            )
    if len(primals) != len(tangents):
        raise InputError(f"expected a tangent for each of {len(primals)} arguments, got {len(tangents)}")
    return tuple(primals), tuple(tangents)
