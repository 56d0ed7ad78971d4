"""C of the rules: what the sweeps include, for one point and for blocks of them.

In: the table. Out: the text of helpers.h, rules.h and slopes.h. The words of rules.h, such as EACH and MAP, get their
meaning in sweeps.h. A function of the C library is applied to a whole block (MAP); all else is arithmetic on the
doubles of point k.
"""

import math
from collections.abc import Iterator

from .awkward import HELPERS, Helper
from .language import SYMBOLS, Expression
from .rule import Rule
from .table import RULES

# Functions of the C library that have vector forms: blocks.c.
MAPPED = (
    *("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "erf", "pow", "atan2", "hypot"),
)
INFIX = {
    "add": ("+", 4),
    "sub": ("-", 4),
    "mul": ("*", 5),
    "div": ("/", 5),
    "lt": ("<", 3),
    "le": ("<=", 3),
    "gt": (">", 3),
    "ge": (">=", 3),
    "eq": ("==", 2),
    "ne": ("!=", 2),
    "and": ("&&", 1),
    "or": ("||", 0),
    "both_of": ("&", 1),
    "either_of": ("|", 0),
}
BLOCKS = {"a": "A[k]", "b": "B[k]", "c": "C[k]", "v": "V[k]", "g": "G[k]"}
SCALARS = {symbol: symbol for symbol in SYMBOLS}
SCRATCH = ("S", "T", "U", "Z")
COMPARISONS = ("lt", "le", "eq", "ne")
CONDITIONS = (*COMPARISONS, "gt", "ge", "and", "or", "not")
HEADER = "/* Made from the rules in src/tapegrad/rules by setup.py; do not edit. */\n"


def literal(number: float) -> str:
    """A double in C."""
    return "NAN" if math.isnan(number) else repr(number)


def inlined(x: Expression) -> Expression:
    """Internal operations, and those that are no C functions, replaced by their values."""
    operands = tuple(inlined(operand) for operand in x.operands)
    rule = RULES.get(x.name)
    library = x.name in MAPPED or x.name in INFIX or x.name in ("neg", "abs", "sqrt")
    if rule is None or library or x.name in COMPARISONS:
        return Expression(x.name, operands, x.number)
    return inlined(rule.value.put(dict(zip("abc", operands, strict=False))))


def text(x: Expression, names: dict[str, str], outer: int = -1) -> str:
    """An expression in C, with no more brackets than the order of its operations needs."""
    if x.name in names:
        return names[x.name]
    if x.name == "number":
        return literal(x.number)
    if x.name in INFIX:
        sign, level = INFIX[x.name]
        left, right = x.operands
        if x.name in ("both_of", "either_of"):  # which bind less than one would think
            return f"({text(left, names, 4)} {sign} {text(right, names, 4)})"
        code = f"{text(left, names, level)} {sign} {text(right, names, level + 1)}"
        return f"({code})" if level < outer else code
    if x.name == "neg":
        code = f"-{text(x.operands[0], names, 7)}"
        return f"({code})" if outer > 6 else code
    if x.name == "not":
        return f"!({text(x.operands[0], names)})"
    if x.name == "choice":
        return _choice(x, names, outer)
    name = {"abs": "fabs"}.get(x.name, x.name)
    return f"{name}({', '.join(text(operand, names) for operand in x.operands)})"


def _choice(x: Expression, names: dict[str, str], outer: int) -> str:
    condition, first, second = x.operands
    if condition == Expression("ne", (Expression("g"), _ZERO)) and second == _ZERO:
        return f"LIVE({text(first, names)})"
    code = f"{text(condition, names)} ? {text(first, names, 0)} : {text(second, names)}"
    return f"({code})" if outer >= 0 else code


_ZERO = Expression("number", (), 0.0)


class Block:
    """Statements for a block of points: library functions into scratch blocks, the rest as expressions of point k."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.names = dict(BLOCKS)
        self.used = 0
        self.made: dict[Expression, Expression] = {}  # what stands in a scratch block already

    def _scratch(self) -> tuple[str, Expression]:
        block = SCRATCH[self.used]
        self.used += 1
        self.names[block] = f"{block}[k]"
        return block, Expression(block)

    def lowered(self, x: Expression) -> Expression:
        """The expression with a scratch block in place of each library function and each repair."""
        if x in self.made:
            return self.made[x]
        if x.name == "repaired":
            return self._repaired(x)
        operands = tuple(self.lowered(operand) for operand in x.operands)
        if x.name not in MAPPED:
            return Expression(x.name, operands, x.number)
        block, scratch = self._scratch()
        self.apply(x.name, operands, block)
        self.made[x] = scratch
        return scratch

    def apply(self, name: str, operands: tuple[Expression, ...], into: str) -> None:
        """A library function of operands that are lowered already."""
        blocks = []
        for operand in operands:
            if operand.name in self.names:
                blocks.append(self.names[operand.name][:-3])
                continue
            self.statements.append(f"EACH {into}[k] = {text(operand, self.names)};")
            blocks.append(into)
        self.statements.append(f"MAP{'' if len(operands) == 1 else 2}({name}, {into}, {', '.join(blocks)});")

    def _repaired(self, x: Expression) -> Expression:
        usual = self.lowered(x.operands[0])
        block, scratch = self._scratch()
        self.names["r"] = f"{block}[k]"
        when, instead = (self.lowered(operand) for operand in x.operands[1:])
        self.statements.append(f"EACH {block}[k] = {text(usual, self.names)};")
        self.statements.append(f"REPAIR({text(when, self.names)}, {block}[k] = {text(instead, self.names)})")
        del self.names["r"]
        self.made[x] = scratch
        return scratch


def value_statements(rule: Rule) -> str:
    """Statements that fill V."""
    block, value = Block(), inlined(rule.value)
    if value.name in MAPPED:
        block.apply(value.name, tuple(block.lowered(operand) for operand in value.operands), "V")
    else:
        lowered = block.lowered(value)
        block.statements.append(f"EACH V[k] = {text(lowered, block.names)};")
    return " ".join(block.statements)


def is_live(share: Expression) -> bool:
    """Whether a share is a product or quotient of the cotangent, which does not count where that is zero."""
    if share.name == "neg":
        return is_live(share.operands[0])
    return share.name in ("mul", "div") and "g" in share.symbols()


def share_statements(share: Expression, into: str) -> str:
    """Statements that add what an operand gets to its adjoint."""
    block, share = Block(), inlined(share)
    sign = "+"
    if share.name == "neg":
        sign, share = "-", share.operands[0]
    lowered = block.lowered(share)
    code = text(lowered, block.names)
    code = f"LIVE({code})" if is_live(share) else code
    return " ".join([*block.statements, f"EACH {into}[k] {sign}= {code};"])


def short(share: Expression) -> str:
    """What an operand gets, as an expression of a, b, v and g."""
    share = inlined(share)
    return f"LIVE({text(share, SCALARS)})" if is_live(share) else text(share, SCALARS)


def is_arithmetic(x: Expression) -> bool:
    """Whether an expression needs no library function and no repair."""
    return x.name not in (*MAPPED, "repaired") and all(is_arithmetic(operand) for operand in x.operands)


def comment(rule: Rule) -> str:
    """The formula above a rule."""
    about = f"{rule.formula}: {rule.derivative}" if rule.formula else ""
    return (
        "/* "
        + " ".join(filter(None, [f"{about}." if about and rule.note else about, rule.note])).replace("\n", "\n * ")
        + " */"
    )


def entry(rule: Rule) -> str:
    """A rule in the words of sweeps.h."""
    shares = [share for share in rule.shares if share is not None]
    if rule.name in COMPARISONS:
        return f"COMPARISON({rule.code}, {text(rule.value, SCALARS)})"
    if rule.arity == 1:
        pieces = [value_statements(rule), share_statements(shares[0], "GA")]
        return _laid_out("UNARY", rule.code, [f"{{ {piece} }}" for piece in pieces])
    if rule.arity == 2 and all(is_arithmetic(inlined(x)) for x in (rule.value, *shares)):
        shown = ["0.0" if share is None else short(share) for share in rule.shares]
        return _laid_out("BINARY", rule.code, [text(inlined(rule.value), SCALARS), *shown])
    pieces = [value_statements(rule)]
    pieces += [
        "" if share is None else share_statements(share, into)
        for share, into in zip(rule.shares, ("GA", "GB", "GC"), strict=False)
    ]
    word = "BINARY_BLOCK" if rule.arity == 2 else "TERNARY"
    return _laid_out(word, rule.code, [f"{{ {piece} }}" for piece in pieces])


def _laid_out(word: str, code: str, pieces: list[str]) -> str:
    line = f"{word}({code}, {', '.join(pieces)})"
    if len(line) <= 120:
        return line
    indent = "\n" + " " * 4
    return f"{word}({code},{indent}{f',{indent}'.join(pieces)})"


def tape_rules() -> list[Rule]:
    """The operations that a tape may hold."""
    return [rule for rule in RULES.values() if not rule.internal or rule.name in COMPARISONS]


def slopes() -> list[Rule]:
    """The operations that only derivative programs hold."""
    return [rule for rule in RULES.values() if rule.internal and rule.name not in COMPARISONS]


def rules_h() -> str:
    """The operations of a tape."""
    entries = [f"{comment(rule)}\n{entry(rule)}\n" for rule in tape_rules()]
    choice = "/* where(c, a, b): to the chosen one. The condition c is always the value recorded just before. */\n"
    return f"{HEADER}\n" + "\n".join(entries) + f"\n{choice}CHOICE(WHERE)\n"


def slopes_h() -> str:
    """The operations of derivative programs."""
    return f"{HEADER}\n" + "\n".join(f"{comment(rule)}\n{entry(rule)}\n" for rule in slopes())


def helpers_h() -> str:
    """The helpers as C functions."""
    return f"{HEADER}\n" + "\n".join(_helper(helper) for helper in HELPERS)


def _helper(helper: Helper) -> str:
    value = helper.value if helper.rare else _without_jumps(helper.value)
    counts: dict[Expression, int] = {}
    for x in _walk(value):
        counts[x] = counts.get(x, 0) + 1
    names = dict(SCALARS)
    lines: list[str] = []
    for x in _postorder(value):
        # what is used twice gets a name; conditions stay where they are
        if counts[x] > 1 and x.operands and x.name not in CONDITIONS:
            lines.append(f"    const double t{len(lines)} = {text(_named(x, names), names)};")
            names[repr(x)] = f"t{len(lines) - 1}"
    ends = "int" if helper.value.name in CONDITIONS else "double"
    kind = f"RARE static {ends}" if helper.rare else f"INLINE {ends}"
    arguments = ", ".join(f"double {operand}" for operand in helper.operands)
    body = text(_named(value, names), names)
    note = helper.note.replace("\n", "\n * ")
    return f"/* {note} */\n{kind} {helper.name}({arguments})\n{{\n" + "\n".join(
        [*lines, f"    return {body};", "}", ""]
    )


def _without_jumps(x: Expression) -> Expression:
    """Conditions with & and |, so that loops over them become vector instructions."""
    name = {"and": "both_of", "or": "either_of"}.get(x.name, x.name)
    return Expression(name, tuple(_without_jumps(operand) for operand in x.operands), x.number)


def _named(x: Expression, names: dict[str, str]) -> Expression:
    if x.operands and repr(x) in names:
        return Expression(repr(x))
    return Expression(x.name, tuple(_named(operand, names) for operand in x.operands), x.number)


def _walk(x: Expression) -> Iterator[Expression]:
    yield x
    for operand in x.operands:
        yield from _walk(operand)


def _postorder(x: Expression) -> Iterator[Expression]:
    seen: set[Expression] = set()

    def visit(y: Expression) -> Iterator[Expression]:
        for operand in y.operands:
            yield from visit(operand)
        if y not in seen:
            seen.add(y)
            yield y

    yield from visit(x)
