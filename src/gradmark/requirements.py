"""The packages that gradmark needs: those of the laboratory, without which nothing runs, and those of its other extras.

Imports nothing but Python's own, since it is asked when an import has failed; and what reads metadata only then, since
every worker imports this.
"""

import importlib.util
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

NAME = re.compile(r"[A-Za-z0-9._-]+")
# The extra with the laboratory, beside the engine.
LABORATORY = "lab"


class Extra(NamedTuple):
    """An extra of pyproject.toml that is not there: how its packages are imported, and what cannot be done."""

    name: str
    lacks: tuple[str, ...]
    purpose: str

    @property
    def command(self) -> str:
        """What installs it."""
        return install(self.name)


# Extra: its packages as they are imported, and what they are for.
EXTRAS: dict[str, tuple[tuple[str, ...], str]] = {
    "compile": (("llvmlite", "scipy"), "machine code: tapegrad:compiled, and tapegrad:jit without the interpreter"),
    "peers": (
        ("asdex", "autograd", "casadi", "jax", "micrograd", "mygrad", "tinygrad", "torch", "xad"),
        "other engines to compare with",
    ),
    "fleet": (("distributed", "psutil"), "measuring on many machines"),
    "postgresql": (("psycopg",), "runs in a database"),
}


def install(extra: str) -> str:
    """The command that installs an extra.

    >>> install("lab")
    "python -m pip install 'gradmark[lab]'"
    """
    return f"python -m pip install 'gradmark[{extra}]'"


def required() -> set[str]:
    """The packages of the engine and the laboratory, other extras apart, as they are imported."""
    import importlib.metadata

    try:
        lines = importlib.metadata.requires("gradmark") or []
    except importlib.metadata.PackageNotFoundError:
        return set()  # run from a folder
    names = (NAME.match(line) for line in lines if "extra ==" not in line or _extra(line) == LABORATORY)
    return {name[0].lower().replace("-", "_") for name in names if name}


def _extra(line: str) -> str:
    """The extra of a line of metadata: `click>=8.1; extra == "lab"`."""
    match = re.search(r"""extra == ["']([^"']+)["']""", line)
    return match[1] if match else ""


def lacking(error: BaseException) -> str:
    """The package of gradmark's own that is not there, if that is why an import failed; else nothing."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ModuleNotFoundError) and cause.name:
            package = cause.name.partition(".")[0]
            if package in required():
                return package
        cause = cause.__cause__ or cause.__context__
    return ""


def absent_extras() -> Iterator[Extra]:
    """Extras of which a package is not installed; nothing is imported."""
    for name, (packages, purpose) in EXTRAS.items():
        lacks = tuple(package for package in packages if importlib.util.find_spec(package) is None)
        if lacks:
            yield Extra(name, lacks, purpose)


def advice(package: str) -> str:
    """What to do about it."""
    return (
        f"{package} is not installed for {sys.executable}, and gradmark cannot work without it: nothing was decided; "
        f"install the laboratory: {install(LABORATORY)}"
    )
