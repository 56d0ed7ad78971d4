"""The packages that gradmark itself needs: an installation that lacks one is no result of anybody's code.

Imports nothing but Python's own, since it is asked when an import has failed; and what reads metadata only then, since
every worker imports this.
"""

import re
import sys

NAME = re.compile(r"[A-Za-z0-9._-]+")


def required() -> set[str]:
    """The packages that are installed with gradmark, extras apart, as they are imported."""
    import importlib.metadata

    try:
        lines = importlib.metadata.requires("gradmark") or []
    except importlib.metadata.PackageNotFoundError:
        return set()  # run from a folder
    names = (NAME.match(line) for line in lines if "extra ==" not in line)
    return {name[0].lower().replace("-", "_") for name in names if name}


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


def advice(package: str) -> str:
    """What to do about it."""
    return (
        f"{package} is not installed for {sys.executable}, and gradmark cannot work without it: nothing was decided; "
        f"install it, `python -m pip install {package}`, or gradmark anew"
    )
