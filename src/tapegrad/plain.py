"""A tape to read: what the compiled one does, in plain Python, from the same rules.

In: numbers, as `var`. Out: values and gradients, equal to those of `tapegrad.Tape` bit for bit, but slowly.

>>> from tapegrad import plain
>>> tape = plain.Tape()
>>> x = tape.var(3.0)
>>> y = x * x + plain.sin(x)
>>> tape.backward(y)
>>> x.grad
5.010007503399555
"""

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import tapegrad
from tapegrad.rules.awkward import HELPERS
from tapegrad.rules.language import Expression
from tapegrad.rules.rule import Rule
from tapegrad.rules.table import RULES

# ---- the tape ----------------------------------------------------------------------------------------------------


class Instruction(NamedTuple):
    """An operation that was recorded, and what on: variables, or numbers, which are constants."""

    rule: Rule
    operands: tuple["Variable | float", ...]


class Tape:
    """A list of instructions, with the value of each. An input is a value without an instruction."""

    def __init__(self) -> None:
        self.instructions: list[Instruction | None] = []
        self.values: list[float] = []
        self.adjoints: list[float] = []

    def var(self, value: float) -> "Variable":
        """A new input with this value."""
        return self.record(None, float(value))

    def record(self, instruction: Instruction | None, value: float) -> "Variable":
        """Appends an instruction and its value."""
        self.instructions.append(instruction)
        self.values.append(value)
        return Variable(self, len(self.values) - 1)

    def backward(self, y: "Variable", seed: float = 1.0) -> None:
        """Gives every value v its adjoint, seed * dy/dv: what y would change by if v changed by a little.

        That of y itself is the seed. From there back, every value hands its adjoint on to the operands it came from,
        times the derivative by each. A value that is used twice gets two shares, which add up. By the time a value is
        reached, all that came out of it has been there: operands always stand before their results.
        """
        self.adjoints = [0.0] * len(self.values)
        self.adjoints[y.index] = seed
        for index in reversed(range(y.index + 1)):
            instruction, adjoint = self.instructions[index], self.adjoints[index]
            if instruction is None or adjoint == 0.0:
                continue
            names = dict(zip("abc", map(value_of, instruction.operands), strict=False))
            names |= {"v": self.values[index], "g": adjoint}
            for operand, share in zip(instruction.operands, instruction.rule.shares, strict=True):
                if isinstance(operand, Variable) and share is not None:
                    self.adjoints[operand.index] += compute(share, names)

    def reset(self) -> None:
        """Forgets everything."""
        self.__init__()  # type: ignore[misc]


class Variable:
    """A number on a tape: its place there, and operators that record what is done with it."""

    def __init__(self, tape: Tape, index: int):
        self.tape = tape
        self.index = index

    @property
    def value(self) -> float:
        """The number itself."""
        return self.tape.values[self.index]

    @property
    def grad(self) -> float:
        """The adjoint that `backward` has left here."""
        return self.tape.adjoints[self.index] if self.tape.adjoints else 0.0

    def __pow__(self, other: Any) -> Any:
        return apply("mul", self, self) if not isinstance(other, Variable) and other == 2 else apply("pow", self, other)

    def __bool__(self) -> bool:
        return self.value != 0.0

    def __repr__(self) -> str:
        return f"Variable({self.value!r})"


def _operator(name: str, reverse: bool) -> Callable[..., Any]:
    return (lambda x, y: apply(name, y, x)) if reverse else lambda x, *y: apply(name, x, *y)


def _comparison(compare: Callable[[float, float], bool]) -> Callable[..., bool]:
    return lambda x, y: compare(x.value, value_of(y))


for _name, _word in {"add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "pow": "pow"}.items():
    setattr(Variable, f"__r{_word}__", _operator(_name, reverse=True))
    if _name != "pow":
        setattr(Variable, f"__{_word}__", _operator(_name, reverse=False))
for _name in ("neg", "abs"):
    setattr(Variable, f"__{_name}__", _operator(_name, reverse=False))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Variable, f"__{_name}__", _comparison(getattr(operator, _name)))


# ---- operations --------------------------------------------------------------------------------------------------


def value_of(x: "Variable | float") -> float:
    """The number of an operand."""
    return x.value if isinstance(x, Variable) else float(x)


def apply(name: str, *operands: Any) -> Any:
    """An operation: its value, recorded if one of the operands is on a tape."""
    rule = RULES[name]
    value = compute(rule.value, dict(zip("abc", map(value_of, operands), strict=False)))
    tape = next((x.tape for x in operands if isinstance(x, Variable)), None)
    return value if tape is None else tape.record(Instruction(rule, operands), value)


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y. Only that one gets an adjoint."""
    return apply("select", x, y, 1.0 if condition else 0.0)


def __getattr__(name: str) -> Callable[..., Any]:
    """`plain.sin(x)` and its kin: every operation of the table."""
    if name not in RULES or RULES[name].internal:
        raise AttributeError(f"tapegrad.plain has no {name}")
    return partial(apply, name)


# ---- expressions -------------------------------------------------------------------------------------------------

# The C library's functions as the compiled tape calls them. Python's own raise where these give inf or nan.
LIBRARY: dict[str, Callable[..., Any]] = {name: getattr(tapegrad, name) for name in RULES if hasattr(tapegrad, name)}
LIBRARY |= {
    name: getattr(operator, name) for name in ("neg", "abs", "add", "sub", "mul", "lt", "le", "gt", "ge", "eq", "ne")
}
LIBRARY |= {
    "not": operator.not_,
    "exponent": lambda x: float(math.frexp(x)[1]),
    "scaled": lambda x, y: math.ldexp(x, int(y)),
}
HELPER_VALUES = {helper.name: (helper.operands, helper.value) for helper in HELPERS}


def compute(x: Expression, names: dict[str, float]) -> Any:
    """The number that an expression of the rules stands for."""
    if not x.operands:
        return names.get(x.name, x.number)
    if x.name == "choice":
        return compute(x.operands[1] if compute(x.operands[0], names) else x.operands[2], names)
    if x.name in ("and", "or"):
        first = compute(x.operands[0], names)
        return compute(x.operands[1], names) if bool(first) == (x.name == "and") else first
    if x.name == "repaired":
        usual = compute(x.operands[0], names)
        broken = compute(x.operands[1], names | {"r": usual})
        return compute(x.operands[2], names) if broken else usual
    numbers = [compute(operand, names) for operand in x.operands]
    if x.name in HELPER_VALUES:
        operands, value = HELPER_VALUES[x.name]
        return compute(value, dict(zip(operands, numbers, strict=True)))
    if x.name in LIBRARY:
        return LIBRARY[x.name](*numbers)
    return compute(RULES[x.name].value, dict(zip("abc", numbers, strict=False)))
