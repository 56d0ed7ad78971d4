"""Values: expressions in LLVM's language, written with Python's operators.

In: values and numbers. Out: values, and the lines of a function that compute them. One description serves vectors of
every width and both precisions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tapegrad.compile.elementary import Writer, literal

WHOLE = {"double": "i64", "float": "i32"}  # integers of the same size
MARKS = {"double": "f64", "float": "f32", "i64": "i64", "i32": "i32"}


@dataclass(frozen=True)
class Value:
    """A value of a function that is being written: a number, or a vector of as many lanes as the function has."""

    body: "Body"
    name: str
    element: str

    @property
    def kind(self) -> str:
        """Its type."""
        return self.body.kind(self.element)

    def like(self, other: "Value | float") -> "Value":
        """A number as a value of the same type."""
        if isinstance(other, Value):
            return other
        return Value(self.body, self.body.constant(other, self.element), self.element)

    def _put(self, words: str, element: str | None = None) -> "Value":
        return Value(self.body, self.body.writer.put(words), element or self.element)

    def _with(self, op: str, other: "Value | float") -> "Value":
        return self._put(f"{op} {self.kind} {self.name}, {self.like(other).name}")

    def _floating(self, op: str) -> str:
        return f"f{op}" if self.element in WHOLE else op

    def __add__(self, other: "Value | float") -> "Value":
        return self._with(self._floating("add"), other)

    __radd__ = __add__

    def __sub__(self, other: "Value | float") -> "Value":
        return self._with(self._floating("sub"), other)

    def __rsub__(self, other: "Value | float") -> "Value":
        return self.like(other) - self

    def __mul__(self, other: "Value | float") -> "Value":
        return self._with(self._floating("mul"), other)

    __rmul__ = __mul__

    def __truediv__(self, other: "Value | float") -> "Value":
        return self._with("fdiv", other)

    def __rtruediv__(self, other: "Value | float") -> "Value":
        return self.like(other) / self

    def __neg__(self) -> "Value":
        return self._put(f"fneg {self.kind} {self.name}")

    def __and__(self, other: "Value | float") -> "Value":
        return self._with("and", other)

    def __or__(self, other: "Value | float") -> "Value":
        return self._with("or", other)

    def shifted(self, left: int) -> "Value":
        """The bits moved to the left; to the right, with the sign, where the count is negative."""
        return self._with("shl" if left > 0 else "ashr", abs(left))

    def compared(self, predicate: str, other: "Value | float") -> "Value":
        """A comparison by LLVM's predicate (olt, uno, eq, slt, ...)."""
        word = "fcmp" if self.element in WHOLE else "icmp"
        return self._put(f"{word} {predicate} {self.kind} {self.name}, {self.like(other).name}", "i1")

    def chosen(self, yes: "Value | float", no: "Value | float") -> "Value":
        """Of a condition: the first where it holds, else the second."""
        like = yes if isinstance(yes, Value) else no
        assert isinstance(like, Value)
        first, second = like.like(yes), like.like(no)
        return like._put(f"select {self.kind} {self.name}, {first.kind} {first.name}, {second.kind} {second.name}")

    def within(self, low: float, high: float) -> "Value":
        """No less and no more than these; nan stays."""
        more = self.compared("olt", low).chosen(low, self)
        return more.compared("ogt", high).chosen(high, more)

    def bits(self) -> "Value":
        """The bits of a floating-point number as an integer."""
        whole = WHOLE[self.element]
        return self._put(f"bitcast {self.kind} {self.name} to {self.body.kind(whole)}", whole)

    def floating(self) -> "Value":
        """The floating-point number that has these bits."""
        element = "double" if self.element == "i64" else "float"
        return self._put(f"bitcast {self.kind} {self.name} to {self.body.kind(element)}", element)

    def number(self) -> "Value":
        """An integer as a floating-point number."""
        element = "double" if self.element == "i64" else "float"
        return self._put(f"sitofp {self.kind} {self.name} to {self.body.kind(element)}", element)

    def to(self, element: str) -> "Value":
        """The same number in another precision."""
        if element == self.element:
            return self
        word = "fpext" if element == "double" else "fptrunc"
        return self._put(f"{word} {self.kind} {self.name} to {self.body.kind(element)}", element)

    def _intrinsic(self, name: str, *others: "Value") -> "Value":
        mark = MARKS[self.element]
        lanes = f"v{self.body.lanes}" if self.body.lanes > 1 else ""
        operands = [(self.kind, value.name) for value in (self, *others)]
        return Value(
            self.body, self.body.writer.intrinsic(f"llvm.{name}.{lanes}{mark}", self.kind, operands), self.element
        )

    def magnitude(self) -> "Value":
        """|x|."""
        return self._intrinsic("fabs")

    def signed_as(self, other: "Value") -> "Value":
        """The number with the sign of another one."""
        return self._intrinsic("copysign", other)

    def times(self, other: "Value | float", plus: "Value | float") -> "Value":
        """x·y + z, rounded once."""
        return self._intrinsic("fma", self.like(other), self.like(plus))

    def polynomial(self, coefficients: Sequence[float]) -> "Value":
        """Σ c·x^k, from the constant on, by Horner's rule."""
        result = self.like(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            result = result.times(self, coefficient)
        return result


class Body:
    """A function of values while it is being written."""

    def __init__(self, name: str, element: str, lanes: int, operands: str):
        self.name = name
        self.element = element
        self.lanes = lanes
        self.writer = Writer()
        self.operands = [Value(self, f"%{letter}", element) for letter in operands]

    def kind(self, element: str) -> str:
        """The type of values."""
        return f"<{self.lanes} x {element}>" if self.lanes > 1 else element

    def constant(self, number: float, element: str) -> str:
        """A number as an operand."""
        text = literal(number, element)
        return f"splat ({element} {text})" if self.lanes > 1 else text

    def text(self, result: Value) -> str:
        """The function that gives this."""
        given = ", ".join(f"{value.kind} {value.name}" for value in self.operands)
        return "\n".join(
            [
                f"define internal {result.kind} @{self.name}({given}) nounwind alwaysinline {{",
                "entry:",
                *self.writer.lines,
                f"ret {result.kind} {result.name}",
                "}",
                "",
            ]
        )
