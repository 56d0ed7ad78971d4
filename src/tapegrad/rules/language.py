"""The language of the rules: small expressions in the operands, the value and the cotangent of an operation.

In: Python's operators and the functions below. Out: trees, of which code.py makes C, shares.py the steps of derivative
programs, and tapegrad.plain a tape to read. `a`, `b`, `c` are the operands, `v` the value, `g` the cotangent of v.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Expression:
    """A function applied to expressions; a symbol or a number has no operands."""

    name: str
    operands: tuple["Expression", ...] = ()
    number: float = 0.0

    def __add__(self, other: "Operand") -> "Expression":
        return Expression("add", (self, lift(other)))

    def __radd__(self, other: float) -> "Expression":
        return Expression("add", (lift(other), self))

    def __sub__(self, other: "Operand") -> "Expression":
        return Expression("sub", (self, lift(other)))

    def __rsub__(self, other: float) -> "Expression":
        return Expression("sub", (lift(other), self))

    def __mul__(self, other: "Operand") -> "Expression":
        return Expression("mul", (self, lift(other)))

    def __rmul__(self, other: float) -> "Expression":
        return Expression("mul", (lift(other), self))

    def __truediv__(self, other: "Operand") -> "Expression":
        return Expression("div", (self, lift(other)))

    def __rtruediv__(self, other: float) -> "Expression":
        return Expression("div", (lift(other), self))

    def __neg__(self) -> "Expression":
        return Expression("neg", (self,))

    def __abs__(self) -> "Expression":
        return Expression("abs", (self,))

    def __lt__(self, other: "Operand") -> "Expression":
        return Expression("lt", (self, lift(other)))

    def __le__(self, other: "Operand") -> "Expression":
        return Expression("le", (self, lift(other)))

    def __gt__(self, other: "Operand") -> "Expression":
        return Expression("gt", (self, lift(other)))

    def __ge__(self, other: "Operand") -> "Expression":
        return Expression("ge", (self, lift(other)))

    def __and__(self, other: "Expression") -> "Expression":
        return Expression("and", (self, other))

    def __or__(self, other: "Expression") -> "Expression":
        return Expression("or", (self, other))

    def __invert__(self) -> "Expression":
        return Expression("not", (self,))

    def symbols(self) -> set[str]:
        """The symbols that occur in it."""
        if self.name in SYMBOLS:
            return {self.name}
        return set().union(*(operand.symbols() for operand in self.operands))

    def put(self, meanings: dict[str, "Expression"]) -> "Expression":
        """The same with expressions in place of symbols."""
        if self.name in meanings:
            return meanings[self.name]
        return Expression(self.name, tuple(operand.put(meanings) for operand in self.operands), self.number)


Operand: TypeAlias = Expression | float
SYMBOLS = ("a", "b", "c", "v", "g", "r")
a, b, c, v, g = (Expression(name) for name in SYMBOLS[:5])
r = Expression("r")  # in `repaired`: the result that may have to be redone


def lift(x: Operand) -> Expression:
    """An operand as an expression."""
    return x if isinstance(x, Expression) else Expression("number", (), float(x))


nan = lift(float("nan"))


def function(name: str) -> Callable[..., Expression]:
    """A function of the vocabulary: an operation, an internal one, or a helper of kernels.h."""
    return lambda *operands: Expression(name, tuple(lift(x) for x in operands))


def equal(x: Operand, y: Operand) -> Expression:
    """x == y, which Python needs for itself."""
    return Expression("eq", (lift(x), lift(y)))


def unequal(x: Operand, y: Operand) -> Expression:
    """x != y; of x and x, whether it is a nan."""
    return Expression("ne", (lift(x), lift(y)))


def where(condition: Expression, x: Operand, y: Operand) -> Expression:
    """x where the condition holds, else y; only that one is looked at."""
    return Expression("choice", (condition, lift(x), lift(y)))


def live(x: Operand) -> Expression:
    """Part of a share that counts only where the cotangent is not zero. Products and quotients with g are live without
    it: a branch that does not matter has the cotangent 0, and 0 * inf must not make it a nan."""
    return Expression("live", (lift(x),))


def repaired(usual: Expression, when: Expression, instead: Expression) -> Expression:
    """`usual`, called r, and `instead` where the condition on r and the operands holds, which is rare."""
    return Expression("repaired", (usual, when, instead))


# The C library's functions, which batches apply to a block at once.
exp, expm1, log, log1p = (function(name) for name in ("exp", "expm1", "log", "log1p"))
sin, cos, tan, asin, acos, atan = (function(name) for name in ("sin", "cos", "tan", "asin", "acos", "atan"))
sinh, cosh, tanh, erf = (function(name) for name in ("sinh", "cosh", "tanh", "erf"))
power, atan2, hypot = (function(name) for name in ("pow", "atan2", "hypot"))
sqrt = function("sqrt")
