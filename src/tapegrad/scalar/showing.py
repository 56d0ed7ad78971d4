"""What `print(tape)` and `print(program)` show: instructions, and values and adjoints or the rules that give them.

In: a tape or a program. Out: a line for each instruction; of many, the first and the last.
"""

from functools import cache
from typing import TYPE_CHECKING

from tapegrad.rules.code import text
from tapegrad.rules.language import Expression, where
from tapegrad.rules.opcodes import codes, numbered
from tapegrad.rules.table import RULES

if TYPE_CHECKING:
    from tapegrad.scalar.program import Program
    from tapegrad.scalar.tape import Tape

# Longer ones show half as many instructions from each end.
MOST_SHOWN = 40
SIGNS = {"ADD": "+", "SUB": "-", "MUL": "*", "DIV": "/", "POW": "**", "LT": "<", "LE": "<=", "EQ": "==", "NE": "!="}

# Instructions that do two operations: a product, and a sum with it.
FUSED = {"MUL_ADD", "MUL_SUB", "LIVE_ADD", "LIVE_SUB", "BOTH_ADD"}


@cache
def _names() -> dict[int, str]:
    """The operation of every opcode."""
    starts = numbered()
    return {starts[name] + form: name for name, count in codes() for form in range(count)}


def _operand(x: int | float) -> str:
    return repr(x) if isinstance(x, float) else f"%{x}"


def _words(op: int, operands: list[int | float]) -> str:
    """An instruction as a reader would write it."""
    name, shown = _names()[op], [_operand(x) for x in operands]
    if name == "INPUT":
        return "input"
    if name in SIGNS:
        return f"{shown[0]} {SIGNS[name]} {shown[1]}"
    if name == "NEG":
        return f"-{shown[0]}"
    if name in ("WHERE", "SELECT"):
        return f"where({shown[2]}, {shown[0]}, {shown[1]})"
    return shown[0] if name == "CONSTANT" else f"{name.lower()}({', '.join(shown)})"


def _handed_on(index: int, op: int, operands: list[int | float]) -> str:
    """What backward adds to the adjoints of the operands; %3' is the adjoint of %3."""
    name = _names()[op].lower()
    rule = RULES.get("select" if name == "where" else name)
    if rule is None:
        return ""
    names = {symbol: _operand(x) for symbol, x in zip("abc", operands, strict=False)}
    names |= {"v": f"%{index}", "g": f"%{index}'"}
    shares = []
    for x, share in zip(operands, rule.shares, strict=False):
        if not isinstance(x, float) and share is not None:
            shares.append(f"%{x}' += {_readable(share, names)}")
    return "; ".join(shares)


def _readable(share: Expression, names: dict[str, str]) -> str:
    if share.name != "choice":
        return text(share, names)
    condition, first, second = share.operands
    assert share == where(condition, first, second)
    return f"where({names['c']}, {_readable(first, names)}, {_readable(second, names)})"


def _elided(count: int) -> list[int | None]:
    """The indices to show; None stands for those left out."""
    if count <= MOST_SHOWN:
        return list(range(count))
    return [*range(MOST_SHOWN // 2), None, *range(count - MOST_SHOWN // 2, count)]


def _table(rows: list[tuple[str, ...] | None], left_out: int) -> list[str]:
    """Columns of the same width; the last is as long as it is."""
    full = [row for row in rows if row is not None]
    widths = [max(len(row[k]) for row in full) for k in range(len(full[0]))] if full else []
    lines = []
    for row in rows:
        if row is None:
            lines.append(f"… {left_out} more …")
        else:
            lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return lines


def shown_tape(tape: "Tape") -> str:
    """A tape with values and adjoints."""
    from tapegrad.scalar.tape import instruction

    indices = _elided(tape.stats().values)
    rows: list[tuple[str, ...] | None] = [("", "", "value", "adjoint")]
    for i in indices:
        if i is None:
            rows.append(None)
            continue
        op, operands, value, adjoint = instruction(tape, i)
        rows.append((f"%{i}", _words(op, operands).replace("input", "variable"), f"{value:.6g}", f"{adjoint:.6g}"))
    return "\n".join([repr(tape), *_table(rows, tape.stats().values - MOST_SHOWN)])


def shown_program(program: "Program") -> str:
    """A program with its rules."""
    from tapegrad.scalar.program import instruction, length_of_program, outputs

    count = length_of_program(program)
    rows: list[tuple[str, ...] | None] = []
    for i in _elided(count):
        if i is None:
            rows.append(None)
            continue
        op, operands = instruction(program, i)
        rows.append((f"%{i}", _words(op, operands), _handed_on(i, op, operands)))
    results = [_operand(x) for x in outputs(program)]
    if len(results) > MOST_SHOWN // 4:
        results = [*results[:4], f"… {len(results) - 8} more …", *results[-4:]]
    return "\n".join([repr(program), *_table(rows, count - MOST_SHOWN), f"outputs: {', '.join(results)}"])


def operations(program: "Program") -> int:
    """How many operations a program does: a fused instruction counts as the two that it stands for, an input not."""
    from tapegrad.scalar.program import instruction, length_of_program

    names = [_names()[instruction(program, i)[0]] for i in range(length_of_program(program))]
    return sum(2 if name in FUSED else name not in ("INPUT", "CONSTANT") for name in names)
