"""Elementary functions as instructions of LLVM, on vectors and on numbers of the two floating-point dtypes.

In: the name of an operation and its operands. Out: the lines that compute it. Written so that nan, infinities and zeros
come out as NumPy's.
"""

import struct
from dataclasses import dataclass, field

import numpy

from tapegrad.compile import maths

ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
WHOLE = {"add": "add", "subtract": "sub", "multiply": "mul"}
CALLS = {
    "exp": "exp",
    "expm1": "expm1",
    "log": "log",
    "log1p": "log1p",
    "sin": "sin",
    "cos": "cos",
    "tanh": "tanh",
    "erf": "erf",
    "power": "pow",
}
ORDERED = {
    "less": ("olt", "slt"),
    "less_equal": ("ole", "sle"),
    "greater": ("ogt", "sgt"),
    "greater_equal": ("oge", "sge"),
    "equal": ("oeq", "eq"),
    "not_equal": ("une", "ne"),
}
# Dearer than writing a number to the cache and reading it again.
DEAR = {*CALLS, "divide", "sqrt"}
NAMES = {"float": "float32", "double": "float64"}
# How numbers lie in memory, and how many bytes each takes.
MEMORY = {"float": "float", "double": "double", "i64": "i64", "i32": "i32", "i1": "i8"}
BYTES = {"float": 4, "double": 8, "i64": 8, "i32": 4, "i1": 1}


def literal(value: object, element: str) -> str:
    """A number in LLVM's words."""
    if element in ("float", "double"):
        number = float(numpy.float32(value)) if element == "float" else float(value)  # type: ignore[arg-type]
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    if element == "i1":
        return "true" if value else "false"
    return str(int(value))  # type: ignore[call-overload]


@dataclass
class Writer:
    """Lines of a function, and what they call."""

    lines: list[str] = field(default_factory=list)
    definitions: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def name(self, stem: str = "v") -> str:
        """A new name."""
        self.count += 1
        return f"{stem}{self.count}"

    def put(self, words: str) -> str:
        """An instruction with a result."""
        result = f"%{self.name()}"
        self.lines.append(f"{result} = {words}")
        return result

    def say(self, words: str) -> None:
        """An instruction without one, or a label."""
        self.lines.append(words)

    def intrinsic(self, name: str, result: str, operands: list[tuple[str, str]]) -> str:
        """A call of one of LLVM's own functions."""
        self.definitions[name] = f"declare {result} @{name}({', '.join(kind for kind, _ in operands)})\n"
        return self.put(f"call {result} @{name}({', '.join(f'{kind} {value}' for kind, value in operands)})")

    def slot(self, table: str, k: int) -> str:
        """Where a table holds its address number k."""
        return self.put(f"getelementptr ptr, ptr {table}, i64 {k}")

    def held(self, table: str, k: int) -> str:
        """The address number k that a table holds."""
        return self.put(f"load ptr, ptr {self.slot(table, k)}")

    # elementwise operations; lanes 0: of numbers

    def kind(self, element: str, lanes: int) -> str:
        """The type of a value."""
        return f"<{lanes} x {element}>" if lanes else element

    def number(self, value: object, element: str, lanes: int) -> str:
        """A number as an operand."""
        text = literal(value, element)
        return f"splat ({element} {text})" if lanes else text

    def operation(self, op: str, elements: list[str], values: list[str], result: str, lanes: int) -> str:
        """The result of an operation; elements and result: the types of operands and result."""
        element = elements[0]
        kind = self.kind(element, lanes)
        first = values[0]
        if op in ("broadcast_to", "copy"):
            return first
        if op == "astype":
            return self.converted(first, element, result, lanes)
        if op == "where":
            chosen = self.kind(result, lanes)
            return self.put(f"select {self.kind('i1', lanes)} {first}, {chosen} {values[1]}, {chosen} {values[2]}")
        floating = element in NAMES
        if op in ORDERED:
            words = f"fcmp {ORDERED[op][0]}" if floating else f"icmp {ORDERED[op][1]}"
            return self.put(f"{words} {kind} {first}, {values[1]}")
        if op in ("bitwise_and", "bitwise_or"):
            return self.put(f"{op[8:]} {kind} {first}, {values[1]}")
        if op == "invert":
            return self.put(f"xor {kind} {first}, {self.number(1, 'i1', lanes)}")
        if not floating:
            if op == "negative":
                return self.put(f"sub {kind} {self.number(0, element, lanes)}, {first}")
            return self.put(f"{WHOLE[op]} {kind} {first}, {values[1]}")
        if op in ARITHMETIC:
            return self.put(f"{ARITHMETIC[op]} {kind} {first}, {values[1]}")
        if op in ("maximum", "minimum"):
            return self.extreme(op, first, values[1], element, lanes)
        return self.of_one(op, values, element, lanes)

    def extreme(self, op: str, x: str, y: str, element: str, lanes: int) -> str:
        """The larger or the smaller; nan if either is."""
        kind, flag = self.kind(element, lanes), self.kind("i1", lanes)
        won = self.put(f"fcmp {'oge' if op == 'maximum' else 'ole'} {kind} {x}, {y}")
        odd = self.put(f"fcmp uno {kind} {x}, {x}")
        either = self.put(f"or {flag} {won}, {odd}")
        return self.put(f"select {flag} {either}, {kind} {x}, {kind} {y}")

    def of_one(self, op: str, values: list[str], element: str, lanes: int) -> str:
        """A function of a floating-point number, or a power."""
        kind, flag, x = self.kind(element, lanes), self.kind("i1", lanes), values[0]
        zero, one = self.number(0.0, element, lanes), self.number(1.0, element, lanes)
        mark = (f"v{lanes}" if lanes else "") + ("f32" if element == "float" else "f64")
        if op == "negative":
            return self.put(f"fneg {kind} {x}")
        if op == "square":
            return self.put(f"fmul {kind} {x}, {x}")
        if op in ("absolute", "sqrt"):
            name = f"llvm.{'fabs' if op == 'absolute' else 'sqrt'}.{mark}"
            return self.intrinsic(name, kind, [(kind, x)])
        if op == "isfinite":
            size = self.intrinsic(f"llvm.fabs.{mark}", kind, [(kind, x)])
            return self.put(f"fcmp olt {kind} {size}, {self.number(float('inf'), element, lanes)}")
        if op == "sign":
            positive = self.put(f"fcmp ogt {kind} {x}, {zero}")
            negative = self.put(f"fcmp olt {kind} {x}, {zero}")
            odd = self.put(f"fcmp uno {kind} {x}, {x}")
            minus = self.number(-1.0, element, lanes)
            rest = self.put(f"select {flag} {odd}, {kind} {x}, {kind} {zero}")
            low = self.put(f"select {flag} {negative}, {kind} {minus}, {kind} {rest}")
            return self.put(f"select {flag} {positive}, {kind} {one}, {kind} {low}")
        function, texts = maths.call(CALLS[op], NAMES[element], lanes or 1)
        self.definitions |= texts
        return self.put(f"call {kind} @{function}({', '.join(f'{kind} {value}' for value in values)})")

    def converted(self, x: str, element: str, result: str, lanes: int) -> str:
        """The same number as another type."""
        if element == result:
            return x
        kind, target = self.kind(element, lanes), self.kind(result, lanes)
        if result == "i1":
            test = "fcmp une" if element in NAMES else "icmp ne"
            return self.put(f"{test} {kind} {x}, {self.number(0, element, lanes)}")
        if element in NAMES and result in NAMES:
            return self.put(f"{'fpext' if result == 'double' else 'fptrunc'} {kind} {x} to {target}")
        if result in NAMES:
            return self.put(f"{'uitofp' if element == 'i1' else 'sitofp'} {kind} {x} to {target}")
        word = "zext" if element == "i1" else "sext" if result == "i64" else "trunc"
        return self.put(f"{word} {kind} {x} to {target}")

    def splat(self, x: str, element: str, lanes: int) -> str:
        """A number in every lane."""
        if not lanes:
            return x
        kind = self.kind(element, lanes)
        first = self.put(f"insertelement {kind} poison, {element} {x}, i32 0")
        return self.put(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")
