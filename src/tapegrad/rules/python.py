"""The operations by name: functions of the module, methods of `Tape`, their stubs, and the tables of the reference.

In: the table. Out: the text of functions.py, operations.py and their stubs, and operations.md with its tables renewed.
"""

import re

from .code import tape_rules
from .rule import Rule
from .special import SPECIAL

HEADER = "Made from the rules in src/tapegrad/rules by setup.py; do not edit."


def _public() -> list[Rule]:
    return [rule for rule in tape_rules() if not rule.internal]


def _imports() -> str:
    return "".join(f"    {rule.code},\n" for rule in sorted(_public(), key=lambda rule: rule.code))


def functions_py() -> str:
    """`tapegrad.sin(x)` and its kin."""
    names = "".join(f'    "{name}",\n' for name in sorted(rule.name for rule in _public()))
    parts = [
        "# cython: binding=False, embedsignature=True, embedsignature.format=clinic\n"
        f"# {HEADER}\n"
        '"""The operations as functions of the module: `tapegrad.sin(x)`. A Var in, a Var out; '
        'numbers in, a float out."""\n\n'
        f"from cython.cimports.tapegrad.scalar.opcodes import (\n{_imports()})\n"
        "from cython.cimports.tapegrad.scalar.variables import binary, unary\n\n"
        f"__all__ = [\n{names}]\n"
    ]
    for rule in _public():
        call = "unary" if rule.arity == 1 else "binary"
        arguments = ", ".join(rule.operands)
        parts.append(
            f'\n\ndef {rule.name}({arguments}, /):\n    """{rule.doc}"""\n    return {call}({rule.code}, {arguments})\n'
        )
    return "".join(parts)


def functions_pyi() -> str:
    """The types of these functions."""
    names = "".join(f'    "{name}",\n' for name in sorted(rule.name for rule in _public()))
    parts = [
        f"# {HEADER}\nfrom typing import overload\n\nfrom tapegrad.scalar.variables import Number, Var\n\n"
        f"__all__ = [\n{names}]\n"
    ]
    for rule in _public():
        operands, most = rule.operands, "Var | Number"
        cases = [(("Var",) * rule.arity, "Var")]
        if rule.arity == 2:
            cases = [(("Var", most), "Var"), (("Number", "Var"), "Var")]
        cases.append((("Number",) * rule.arity, "float"))
        for kinds, result in cases:
            typed = ", ".join(f"{name}: {kind}" for name, kind in zip(operands, kinds, strict=True))
            parts.append(f"\n@overload\ndef {rule.name}({typed}, /) -> {result}: ...")
    return "".join(parts) + "\n"


def operations_py() -> str:
    """The methods of a tape."""
    parts = [
        "# cython: cdivision=True, boundscheck=False, wraparound=False\n"
        "# cython: binding=False, embedsignature=True, embedsignature.format=clinic, auto_pickle=False\n"
        f"# {HEADER}\n"
        '"""The operations as methods of a tape: they check that their operands belong to it, and always '
        'give a Var."""\n\n'
        "import cython\n"
        f"from cython.cimports.tapegrad.scalar.opcodes import (\n{_imports()})\n"
        "from cython.cimports.tapegrad.scalar.recording import Recording\n"
        "from cython.cimports.tapegrad.scalar.variables import binary_here, unary_here\n\n\n"
        '@cython.cclass\nclass Operations(Recording):\n    """The operations of `Tape`."""\n'
    ]
    for rule in _public():
        call = "unary_here" if rule.arity == 1 else "binary_here"
        arguments = ", ".join(rule.operands)
        parts.append(
            f'\n    def {rule.name}(self, {arguments}):\n        """{rule.doc}"""\n'
            f"        return {call}(cython.address(self.store), {rule.code}, {arguments})\n"
        )
    return "".join(parts)


def operations_pyi() -> str:
    """The types of these methods."""
    parts = [
        f"# {HEADER}\nfrom tapegrad.scalar.recording import Recording\n"
        "from tapegrad.scalar.variables import Number, Var\n\n"
        "class Operations(Recording):\n"
    ]
    for rule in _public():
        typed = ", ".join(f"{name}: Var | Number" for name in rule.operands)
        parts.append(f"    def {rule.name}(self, {typed}) -> Var: ...\n")
    return "".join(parts)


def operations_md(page: str) -> str:
    """The reference with the tables of accuracy and of special points as the rules have them."""
    accuracy = [
        " | ".join([f"| `{rule.name}`", rule.formula, rule.derivative, *(f"{bound:g}" for bound in rule.bounds[:4])])
        + " |"
        for rule in _public()
    ]
    second = [f"| `{rule.name}` | {rule.bounds[4]:g} | {rule.bounds[5]:g} |" for rule in _public()]
    special = [
        f"| `{name}({arguments})` | {value} | {derivatives} |"
        for name, rows in SPECIAL.items()
        for arguments, value, derivatives in (_split(row) for row in rows.strip().splitlines())
    ]
    for start, rows in (("operation | value", accuracy), ("operation | second", second), ("call |", special)):
        table = re.search(rf"\| {re.escape(start)}[^\n]*\n\|[-|]+\|\n((?:\|[^\n]*\n)*)", page)
        if table is not None:
            page = page[: table.start(1)] + "".join(f"{row}\n" for row in rows) + page[table.end(1) :]
    return page


def _split(row: str) -> tuple[str, str, str]:
    arguments, _, results = row.strip().partition(": ")
    value, _, derivatives = results.partition(", ")
    return arguments, value, derivatives
