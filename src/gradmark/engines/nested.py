"""Nested: derivatives that are part of a function, for plain numbers. Engines have their own; this is the
reference's.

In: the operations of some kind of numbers. Out: `gradient_of(f, xs, mode)`, by numbers that carry a tangent. Every
kind of number will do, floats and those of mpmath among them: what is computed is exact but for their rounding.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


class Dual:
    """A number and its derivative along one direction."""

    __slots__ = ("tangent", "value")

    def __init__(self, value: Any, tangent: Any) -> None:
        self.value, self.tangent = value, tangent

    def __add__(self, other: Any) -> "Dual":
        value, tangent = _parts(other)
        return Dual(self.value + value, self.tangent + tangent)

    def __sub__(self, other: Any) -> "Dual":
        value, tangent = _parts(other)
        return Dual(self.value - value, self.tangent - tangent)

    def __rsub__(self, other: Any) -> "Dual":
        return Dual(other - self.value, -self.tangent)

    def __mul__(self, other: Any) -> "Dual":
        value, tangent = _parts(other)
        return Dual(self.value * value, self.tangent * value + self.value * tangent)

    def __truediv__(self, other: Any) -> "Dual":
        value, tangent = _parts(other)
        quotient = self.value / value
        return Dual(quotient, (self.tangent - quotient * tangent) / value)

    def __rtruediv__(self, other: Any) -> "Dual":
        quotient = other / self.value
        return Dual(quotient, -(quotient * self.tangent) / self.value)

    def __neg__(self) -> "Dual":
        return Dual(-self.value, -self.tangent)

    __radd__, __rmul__ = __add__, __mul__


def _parts(number: Any) -> tuple[Any, Any]:
    return (number.value, number.tangent) if isinstance(number, Dual) else (number, 0)


def _operations(ops: Any) -> ModuleType:
    """What functions of duals may use, beside the operators."""

    def sqrt(x: Any) -> Any:
        if not isinstance(x, Dual):
            return ops.sqrt(x)
        root = ops.sqrt(x.value)
        return Dual(root, x.tangent / (2 * root))

    def exp(x: Any) -> Any:
        if not isinstance(x, Dual):
            return ops.exp(x)
        value = ops.exp(x.value)
        return Dual(value, value * x.tangent)

    def tanh(x: Any) -> Any:
        if not isinstance(x, Dual):
            return ops.tanh(x)
        value = ops.tanh(x.value)
        return Dual(value, (1 - value * value) * x.tangent)

    duals = ModuleType("ops")
    vars(duals).update(sqrt=sqrt, exp=exp, tanh=tanh, gradient_of=gradient_of(duals), while_loop=while_loop)
    return duals


def gradient_of(ops: Any) -> Callable[..., list[Any]]:
    """The gradient of `f(ops, *xs)`, one number after the other. The mode is that of engines, which this is none of.

    >>> import math
    >>> gradient_of(math)(lambda ops, x, y: ops.sqrt(x * x + y * y), [3.0, 4.0], "reverse")
    [0.6, 0.8]
    """

    def compute(f: Callable[..., Any], xs: Sequence[Any], mode: str) -> list[Any]:  # noqa: ARG001
        duals = _operations(ops)
        results = [f(duals, *(Dual(x, int(k == place)) for k, x in enumerate(xs))) for place in range(len(xs))]
        return [_parts(result)[1] for result in results]

    return compute


def while_loop(condition: Callable[[Any], Any], step: Callable[[Any], Any], carry: Any) -> Any:
    """JAX's loop for engines that record Python's.

    >>> while_loop(lambda x: x < 10, lambda x: 2 * x, 3)
    12
    """
    while condition(carry):
        carry = step(carry)
    return carry
