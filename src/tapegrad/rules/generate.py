"""Writes what is made from the rules. setup.py runs it before anything is compiled; a test looks whether it did.

The files are kept in the repository: they are what a reader, a type checker and a diff want to see.
"""

from pathlib import Path

from .code import helpers_h, rules_h, slopes_h
from .opcodes import opcodes_h, opcodes_pxd
from .python import functions_py, functions_pyi, operations_md, operations_py, operations_pyi
from .shares import shares_h

FILES = {
    "opcodes.h": opcodes_h,
    "opcodes.pxd": opcodes_pxd,
    "helpers.h": helpers_h,
    "rules.h": rules_h,
    "slopes.h": slopes_h,
    "shares.h": shares_h,
    "functions.py": functions_py,
    "functions.pyi": functions_pyi,
    "operations.py": operations_py,
    "operations.pyi": operations_pyi,
}


def texts(scalar: Path, page: Path | None = None) -> dict[Path, str]:
    """What each file should hold: those in the folder of the scalar engine, and the reference, where there is one."""
    text_of = {scalar / name: make() for name, make in FILES.items()}
    if page is not None and page.exists():
        text_of[page] = operations_md(page.read_text(encoding="utf-8"))
    return text_of


def write(scalar: Path, page: Path | None = None) -> None:
    """Writes the files that have changed, so that only what needs it is compiled again."""
    for path, text in texts(scalar, page).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
