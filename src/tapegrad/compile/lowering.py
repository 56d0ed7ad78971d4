"""Lowering: from the rules to LLVM's instructions, for one number or for a vector with one number of each point.

In: the table of rules, as code.py reads it for C. Out: for each operation a text with gaps for its operands and result,
and the functions that such texts call. Nothing is written twice: a new rule is compiled as it is interpreted.
"""

import struct
from dataclasses import dataclass, field
from functools import cache

from tapegrad.compile import llvm, maths
from tapegrad.rules.awkward import HELPERS, Helper
from tapegrad.rules.code import CONDITIONS, MAPPED, inlined
from tapegrad.rules.language import Expression
from tapegrad.rules.table import RULES

ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
# Ordered: false where an operand is a nan, but for `ne`, as in C.
PREDICATES = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
LOGIC = {"and": "and", "or": "or"}
INTRINSICS = {"abs": "llvm.fabs", "sqrt": "llvm.sqrt"}
RARELY = {helper.name: helper for helper in HELPERS if helper.rare}
INLINED = {helper.name: helper for helper in HELPERS if not helper.rare}


def number_text(number: float) -> str:
    """A double in LLVM's words: its bits."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


@dataclass
class Lowering:
    """The texts for vectors of so many lanes; for numbers, 1."""

    lanes: int
    definitions: dict[str, str] = field(default_factory=dict)  # of what the texts call, by name

    @property
    def kind(self) -> str:
        """The type of a value."""
        return f"<{self.lanes} x double>" if self.lanes > 1 else "double"

    @property
    def condition(self) -> str:
        """The type of a condition."""
        return f"<{self.lanes} x i1>" if self.lanes > 1 else "i1"

    @property
    def mark(self) -> str:
        """What the names of overloaded intrinsics end with."""
        return f"v{self.lanes}f64" if self.lanes > 1 else "f64"

    def constant(self, number: float) -> str:
        """A number as an operand."""
        return f"splat (double {number_text(number)})" if self.lanes > 1 else number_text(number)

    def truth(self, value: bool) -> str:
        """A condition as an operand."""
        word = "true" if value else "false"
        return f"splat (i1 {word})" if self.lanes > 1 else word

    def operation(self, name: str) -> str:
        """The text of an operation with the gaps {r} for its result and {a}, {b}, {c} for its operands."""
        rule = RULES[name]
        value = inlined(rule.value)
        operands = "abc"[: rule.arity]
        if _has_repair(value):
            function = f"rule.{name}{self._suffix}"
            if function not in self.definitions:
                self.definitions[function] = ""  # holds its place before what it calls
                self.definitions[function] = self._function(function, operands, value)
            given = ", ".join(f"{self.kind} {{{x}}}" for x in operands)
            return f"{{r}} = call {self.kind} @{function}({given})\n"
        body = Body(self, {x: f"{{{x}}}" for x in operands}, "{r}.")
        return body.finished(value)

    @property
    def _suffix(self) -> str:
        return f".v{self.lanes}" if self.lanes > 1 else ""

    def _function(self, function: str, operands: str, value: Expression) -> str:
        body = Body(self, {x: f"%{x}" for x in operands}, "%t")
        result = body.lowered(value)
        given = ", ".join(f"{self.kind} %{x}" for x in operands)
        return (
            f"define internal {self.kind} @{function}({given}) nounwind {{\nentry:\n"
            f"{''.join(body.lines)}ret {self.kind} {result}\n}}\n"
        )

    def called(self, name: str) -> str:
        """A function of the C library: what to call."""
        symbol, texts = maths.call(name, "float64", self.lanes)
        self.definitions |= texts
        return symbol

    def intrinsic(self, name: str) -> str:
        """One of LLVM's own functions of one value."""
        whole = f"{name}.{self.mark}"
        self.definitions[whole] = f"declare {self.kind} @{whole}({self.kind})\n"
        return whole

    def rare(self, helper: Helper) -> str:
        """A helper for one number, as a function."""
        name = f"rare.{helper.name}"
        if name not in self.definitions:
            one = Lowering(1, self.definitions)
            body = Body(one, {x: f"%{x}" for x in helper.operands}, "%t")
            result = body.lowered(inlined(helper.value))
            given = ", ".join(f"double %{x}" for x in helper.operands)
            self.definitions[name] = (
                f"define internal double @{name}({given}) nounwind noinline cold {{\nentry:\n"
                f"{''.join(body.lines)}ret double {result}\n}}\n"
            )
        return name

    def rare_lanes(self, helper: Helper) -> str:
        """The same for those lanes of a vector that a mask chooses; the others keep what they had."""
        one, name = self.rare(helper), f"rare.{helper.name}.v{self.lanes}"
        if name not in self.definitions:
            given = "".join(f", {self.kind} %{x}" for x in helper.operands)
            lines = [
                f"define internal {self.kind} @{name}({self.condition} %mask, {self.kind} %usual{given}) "
                "nounwind noinline cold {",
                "entry:",
                "br label %lane",
                "lane:",
                "%k = phi i32 [ 0, %entry ], [ %next, %after ]",
                f"%kept = phi {self.kind} [ %usual, %entry ], [ %result, %after ]",
                f"%chosen = extractelement {self.condition} %mask, i32 %k",
                "br i1 %chosen, label %odd, label %after",
                "odd:",
                *(f"%{x}.k = extractelement {self.kind} %{x}, i32 %k" for x in helper.operands),
                f"%value = call double @{one}({', '.join(f'double %{x}.k' for x in helper.operands)})",
                f"%changed = insertelement {self.kind} %kept, double %value, i32 %k",
                "br label %after",
                "after:",
                f"%result = phi {self.kind} [ %kept, %lane ], [ %changed, %odd ]",
                "%next = add i32 %k, 1",
                f"%more = icmp ult i32 %next, {self.lanes}",
                "br i1 %more, label %lane, label %done",
                "done:",
                f"ret {self.kind} %result",
                "}\n",
            ]
            self.definitions[name] = "\n".join(lines)
        return name


class Body:
    """Instructions of one expression, each part of it once."""

    def __init__(self, lowering: Lowering, names: dict[str, str], prefix: str) -> None:
        self.lowering = lowering
        self.names = names
        self.prefix = prefix
        self.lines: list[str] = []
        self.places: dict[Expression, str] = {}
        self.count = 0
        self.block = "entry"  # the label of the instructions being written, for phis

    def finished(self, value: Expression) -> str:
        """The text whose last instruction gives {r}."""
        result = self.lowered(value)
        kind = self.lowering.kind
        if value.name in CONDITIONS:
            one, zero = self.lowering.constant(1.0), self.lowering.constant(0.0)
            self.lines.append(
                f"{{r}} = select {self.lowering.condition} {result}, {kind} {one}, {kind} {zero}\n",
            )
        else:
            last = self.lines[-1]
            assert last.startswith(f"{result} = "), "the value of an operation is no operand or number"
            self.lines[-1] = f"{{r}}{last[len(result) :]}"
        return "".join(self.lines)

    def lowered(self, x: Expression) -> str:
        """Where the expression stands; writes the instructions that compute it."""
        if x.name in self.names:
            return self.names[x.name]
        if x.name == "number":
            return self.lowering.constant(x.number)
        if x not in self.places:
            self.places[x] = self._repaired(x) if x.name == "repaired" else self._computed(x)
        return self.places[x]

    def _new(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"

    def _put(self, words: str) -> str:
        place = self._new()
        self.lines.append(f"{place} = {words}\n")
        return place

    def _computed(self, x: Expression) -> str:
        lowering, kind = self.lowering, self.lowering.kind
        if x.name in INLINED:
            helper = INLINED[x.name]
            return self.lowered(helper.value.put(dict(zip(helper.operands, x.operands, strict=True))))
        operands = [self.lowered(operand) for operand in x.operands]
        if x.name in ARITHMETIC:
            return self._put(f"{ARITHMETIC[x.name]} {kind} {operands[0]}, {operands[1]}")
        if x.name in PREDICATES:
            return self._put(f"fcmp {PREDICATES[x.name]} {kind} {operands[0]}, {operands[1]}")
        if x.name in LOGIC:
            return self._put(f"{LOGIC[x.name]} {lowering.condition} {operands[0]}, {operands[1]}")
        if x.name == "not":
            return self._put(f"xor {lowering.condition} {operands[0]}, {lowering.truth(True)}")
        if x.name == "neg":
            return self._put(f"fneg {kind} {operands[0]}")
        if x.name == "choice":
            condition, first, second = operands
            return self._put(f"select {lowering.condition} {condition}, {kind} {first}, {kind} {second}")
        if x.name in INTRINSICS:
            return self._put(f"call {kind} @{lowering.intrinsic(INTRINSICS[x.name])}({kind} {operands[0]})")
        if x.name in ("exponent", "scaled"):
            return self._exact_step(x.name, operands)
        if x.name in RARELY:
            assert lowering.lanes == 1, "a rare helper is called for one number"
            name = lowering.rare(RARELY[x.name])
        else:
            assert x.name in MAPPED, f"no instruction for {x.name}"
            name = lowering.called(x.name)
        return self._put(f"call {kind} @{name}({', '.join(f'{kind} {operand}' for operand in operands)})")

    def _exact_step(self, name: str, operands: list[str]) -> str:
        """frexp's exponent, and ldexp, of one number; they occur in rare helpers only."""
        assert self.lowering.lanes == 1
        if name == "exponent":
            symbol = maths.scalar_symbol("frexp")
            self.lowering.definitions[symbol] = f"declare double @{symbol}(double, ptr) nounwind\n"
            place = self._put("alloca i32")
            self._put(f"call double @{symbol}(double {operands[0]}, ptr {place})")
            size = self._put(f"load i32, ptr {place}")
            return self._put(f"sitofp i32 {size} to double")
        symbol = maths.scalar_symbol("ldexp")
        self.lowering.definitions[symbol] = llvm.declared(symbol, "double", ["double", "i32"])
        power = self._put(f"fptosi double {operands[1]} to i32")
        return self._put(f"call double @{symbol}(double {operands[0]}, i32 {power})")

    def _repaired(self, x: Expression) -> str:
        """A branch to what is rarely needed."""
        lowering, kind = self.lowering, self.lowering.kind
        usual = self.lowered(x.operands[0])
        self.names["r"] = usual
        when = self.lowered(x.operands[1])
        del self.names["r"]
        helper = RARELY[x.operands[2].name]
        given = [f"{kind} {self.lowered(operand)}" for operand in x.operands[2].operands]
        label = f"{self.count}"
        odd, done, before = f"odd{label}", f"done{label}", self.block
        if lowering.lanes == 1:
            rare, call = when, f"call double @{lowering.rare(helper)}({', '.join(given)})"
        else:
            whole = f"llvm.vector.reduce.or.v{lowering.lanes}i1"
            lowering.definitions[whole] = f"declare i1 @{whole}({lowering.condition})\n"
            rare = self._put(f"call i1 @{whole}({lowering.condition} {when})")
            first = [f"{lowering.condition} {when}", f"{kind} {usual}"]
            call = f"call {kind} @{lowering.rare_lanes(helper)}({', '.join(first + given)})"
        self.lines.append(f"br i1 {rare}, label %{odd}, label %{done}\n{odd}:\n")
        instead = self._put(call)
        self.lines.append(f"br label %{done}\n{done}:\n")
        self.block = done
        return self._put(f"phi {kind} [ {usual}, %{before} ], [ {instead}, %{odd} ]")


def _has_repair(x: Expression) -> bool:
    return x.name == "repaired" or any(_has_repair(operand) for operand in x.operands)


@cache
def operation_text(name: str, lanes: int) -> tuple[str, dict[str, str]]:
    """The text of an operation, and the definitions that it needs."""
    lowering = Lowering(lanes)
    return lowering.operation(name), lowering.definitions
