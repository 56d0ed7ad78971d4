"""Transforms: from a function of numbers or arrays to the function of its gradient.

In: a Python function of floats or arrays, or of nested lists, tuples and dicts of them. Out: one that also
differentiates. Where an argument holds an array the function gets tensors, else the variables of a scalar tape.
"""

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tapegrad.errors import InputError, OperandError
from tapegrad.scalar.tape import Tape
from tapegrad.scalar.variables import Var
from tapegrad.tensor.differentiate import flat, holds_array, jacobian_of, rebuilt, value_and_gradients


def _lifted(tape: Tape, tree: Any) -> tuple[Any, list[Var]]:
    """The structure with a variable in place of each number, and these variables in order."""
    variables = [tape.var(number) for number in flat(tree)]
    return rebuilt(tree, iter(variables)), variables


def _gradients(variables: list[Var], tree: Any) -> Any:
    """The structure with the gradient in place of each number."""
    return rebuilt(tree, iter([x.grad for x in variables]))


def value_and_grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., tuple[float, Any]]:
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

    def evaluate(*args: Any) -> tuple[float, Any]:
        arrays = False
        for argnum in chosen:
            if not 0 <= argnum < len(args):
                raise InputError(f"argnums asks for argument {argnum}, but the call has {len(args)} positional ones")
            arrays = arrays or holds_array(args[argnum])
        if arrays:
            value, found = value_and_gradients(f, args, chosen)
            return value, found[0] if one else found
        tape = Tape()
        lifted = list(args)
        variables: dict[int, list[Var]] = {}
        for argnum in chosen:
            lifted[argnum], variables[argnum] = _lifted(tape, args[argnum])
        result = f(*lifted)
        if isinstance(result, list | tuple | dict | np.ndarray) or result is None:
            raise InputError(
                f"expected the function to return one number, got {type(result).__name__}; "
                "return a single value, or use tapegrad.jacobian for several"
            )
        if isinstance(result, Var) and not result.is_constant:
            tape.backward(result)
        gradients = tuple(_gradients(variables[argnum], args[argnum]) for argnum in chosen)
        return tape.value(result), gradients[0] if one else gradients

    return evaluate


def grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that gives the gradient of f; see `value_and_grad`.

    >>> import tapegrad
    >>> tapegrad.grad(lambda x: x * x + tapegrad.sin(x))(3.0)
    5.010007503399555
    """
    both = value_and_grad(f, argnums)
    return lambda *args: both(*args)[1]


def jacobian(f: Callable[..., Any], argnum: int = 0) -> Callable[..., NDArray[Any]]:
    """A function that gives all derivatives of f's outputs with respect to one argument, as an array.

    Its shape is that of the output followed by that of the input: (m, n) for a sequence of n floats to one of m.

    >>> import tapegrad
    >>> tapegrad.jacobian(lambda x: [x[0] * x[1], x[0] + x[1]])([2.0, 3.0])
    array([[3., 2.],
           [1., 1.]])
    """

    def evaluate(*args: Any) -> NDArray[Any]:
        if not 0 <= argnum < len(args):
            raise InputError(f"argnum asks for argument {argnum}, but the call has {len(args)} positional ones")
        if holds_array(args[argnum]):
            return jacobian_of(f, args, argnum)  # type: ignore[no-any-return]
        try:
            shape = np.asarray(args[argnum], dtype=np.float64).shape
        except (TypeError, ValueError) as error:
            raise InputError(f"expected a float or an array-like of floats, got {args[argnum]!r:.60}") from error
        tape = Tape()
        lifted = list(args)
        lifted[argnum], variables = _lifted(tape, args[argnum])
        outputs = np.asarray(_as_objects(f(*lifted)), dtype=object)
        rows = np.zeros((outputs.size, len(variables)))
        for row, output in zip(rows, outputs.flat, strict=True):
            if isinstance(output, Var) and not output.is_constant:
                tape.zero_grad()
                tape.backward(output)
                row[:] = [x.grad for x in variables]
            else:
                tape.value(output)  # a number: its row is zero; anything else is an error
        return rows.reshape(outputs.shape + shape)

    return evaluate


def _as_objects(result: Any) -> Any:
    """What f returned, so that NumPy makes an array of objects of it and does not look into the Vars."""
    if isinstance(result, list | tuple | np.ndarray):
        return result
    if isinstance(result, dict) or result is None:
        raise OperandError(f"expected the function to return a number or a sequence of them, got {result!r:.60}")
    holder = np.empty((), dtype=object)
    holder[()] = result
    return holder
