"""Opcodes: the byte that stands for each operation and form on a tape and in a program.

In: the table. Out: the text of opcodes.h and opcodes.pxd. A binary operation has three codes: both operands are values
(OP), the second is a constant (OP + VC), the first is one (OP + CV). Operations with three operands have a fourth
(OP + CC). The third is always a value.
"""

from collections.abc import Iterator

from .code import HEADER, slopes, tape_rules

FORMS = ("VV", "VC", "CV", "CC")


def codes() -> Iterator[tuple[str, int]]:
    """Each operation with the number of its codes, those of tapes first."""
    yield "INPUT", 1
    for rule in tape_rules():
        yield rule.code, 1 if rule.arity == 1 else 3
    yield "WHERE", 4
    yield "CONSTANT", 1  # in derivative programs, where a value must be one
    for rule in slopes():
        yield rule.code, (1, 3, 4)[rule.arity - 1]


def numbered() -> dict[str, int]:
    """The first code of each operation."""
    first_codes, next_code = {}, 0
    for name, count in codes():
        first_codes[name] = next_code
        next_code += count
    return first_codes | {"OPCODES": next_code}


def opcodes_h() -> str:
    """The enumeration in C, and for each code which operands are values: 1 the first, 2 the second, 4 the third."""
    lines = [f"    {name} = {code}," for name, code in numbered().items()]
    bases = [f"    {', '.join([name] * count)}," for name, count in codes()]
    rows = []
    for name, count in codes():
        third = 4 if count == 4 and name != "WHERE" else 0
        masks = (0 if name in ("INPUT", "CONSTANT") else 1,) if count == 1 else (3, 1, 2, 0)[:count]
        rows.append(f"    {', '.join(str(mask | third) for mask in masks)}, /* {name} */")
    return (
        f"{HEADER}#ifndef TAPEGRAD_OPCODES_H\n#define TAPEGRAD_OPCODES_H\n\n#include <stdint.h>\n\n"
        "enum form { VV = 0, VC = 1, CV = 2, CC = 3 };\n\nenum opcode {\n" + "\n".join(lines) + "\n};\n\n"
        "/* Which operands of an instruction are values: 1 the first, 2 the second, 4 the third. */\n"
        "enum operand { LHS_VALUE = 1, RHS_VALUE = 2, THIRD_VALUE = 4 };\n"
        "static const uint8_t OPERANDS[OPCODES] = {\n"
        + "\n".join(rows)
        + "\n};\n/* The first code of an instruction's operation. */\nstatic const uint8_t BASES[OPCODES] = {\n"
        + "\n".join(bases)
        + "\n};\n\n#endif\n"
    )


def opcodes_pxd() -> str:
    """The same for Cython."""
    names = list(numbered())
    lines = [", ".join(names[k : k + 8]) for k in range(0, len(names), 8)]
    return (
        "# Made from the rules in src/tapegrad/rules by setup.py; do not edit.\n"
        "from libc.stdint cimport uint8_t\n\n"
        'cdef extern from "opcodes.h" nogil:\n    enum:\n        VV, VC, CV, CC\n'
        "        LHS_VALUE, RHS_VALUE, THIRD_VALUE\n"
        + "".join(f"        {line}\n" for line in lines)
        + "    const uint8_t OPERANDS[]\n    const uint8_t BASES[]\n"
    )
