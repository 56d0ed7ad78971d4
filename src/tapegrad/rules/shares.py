"""Shares as steps: what deriving.py does to put the derivative of an instruction into a program.

In: the table. Out: the text of shares.h. A share of an operand becomes a list of steps, each an operation on slots: 0
to 2 hold the operands, 3 the value, 4 the cotangent, 5 and up what the steps before have made.
"""

from .code import COMPARISONS, HEADER
from .language import Expression
from .opcodes import numbered
from .table import RULES

SLOTS = {"a": 0, "b": 1, "c": 2, "v": 3, "g": 4}
ZERO = Expression("number", (), 0.0)


class Steps:
    """The steps of one share, and the numbers that all shares use."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = numbers
        self.steps: list[tuple[str, int, int, int]] = []
        self.slots: dict[Expression, int] = {}

    def slot(self, x: Expression) -> int:
        """Where the expression stands; adds the steps that make it."""
        if x.name in SLOTS:
            return SLOTS[x.name]
        if x not in self.slots:
            step = self._step(x)
            self.steps.append(step)
            self.slots[x] = len(SLOTS) + len(self.steps) - 1
        return self.slots[x]

    def _step(self, x: Expression) -> tuple[str, int, int, int]:
        if x.name == "number":
            if x.number not in self.numbers:
                self.numbers.append(x.number)
            return "CONSTANT", self.numbers.index(x.number), 0, 0
        if x.name == "choice":
            condition, first, second = x.operands
            chosen = (
                condition.operands[0] if condition == Expression("ne", (condition.operands[0], ZERO)) else condition
            )
            return "SELECT", self.slot(first), self.slot(second), self.slot(chosen)
        name = x.name
        if name in ("mul", "div") and "g" in x.operands[0].symbols():
            name = f"live_{name}"
        assert name in RULES, f"a share uses {name}, which is no operation"
        places = [self.slot(operand) for operand in x.operands]
        return RULES[name].code, *[*places, 0, 0][:3]  # type: ignore[return-value]


def shares_h() -> str:
    """All steps, and for each operation where those of its three operands' shares are."""
    numbers: list[float] = []
    lines, spans, start = [], [], 0
    for rule in RULES.values():
        if rule.name in COMPARISONS:
            continue
        ranges = []
        for operand, share in zip("abc", rule.shares, strict=False):
            translated = Steps(numbers)
            if share is not None:
                if translated.slot(share) < len(SLOTS):  # the cotangent itself
                    translated.steps.append(("INPUT", SLOTS[share.name], 0, 0))
                lines.append(f"    /* {rule.name}, {operand} */")
                lines += [f"    {{{op}, {x}, {y}, {z}}}," for op, x, y, z in translated.steps]
            ranges.append(f"{{{start}, {len(translated.steps)}}}")
            start += len(translated.steps)
        spans.append(f"    [{rule.code}] = {{{', '.join(ranges)}}},")
    assert len(numbered()) < 256
    return (
        f'{HEADER}#ifndef TAPEGRAD_SHARES_H\n#define TAPEGRAD_SHARES_H\n\n#include "opcodes.h"\n\n'
        "struct step {\n    uint8_t op, x, y, z;\n};\nstruct span {\n    uint16_t start, count;\n};\n\n"
        f"static const double STEP_NUMBERS[] = {{{', '.join(map(repr, numbers))}}};\n\n"
        "static const struct step STEPS[] = {\n" + "\n".join(lines) + "\n};\n\n"
        "static const struct span SHARES[OPCODES][3] = {\n" + "\n".join(spans) + "\n};\n\n#endif\n"
    )
