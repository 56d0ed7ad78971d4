"""Lookup: where workloads come from, and what is said of a file that cannot be loaded.

In: a name, a module or a file. Out: workloads, or an error with the user's own line. Files and installed packages are
loaded in workers, and only there; others ask the catalogue. Every worker imports this, so what only files and failures
need is imported there.
"""

import contextlib
import dataclasses
import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from gradmark.errors import NoSuchWorkloadError, SelectionError, WorkloadError
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from pathlib import Path

SUITES = ("scalar", "tensor", "networks", "operators", "tensor_operators", "derivatives")
LITERATURE = (
    *("hello", "lse", "llsq", "ode", "det", "gmm", "lstm", "kmeans", "ba", "ht", "particle", "saddle"),
    *("libor", "heston", "pinn", "hierarchical"),
)
BUILT_IN = [
    *(f"gradmark.workloads.{name}" for name in SUITES),
    *(f"gradmark.workloads.literature.{name}" for name in LITERATURE),
]
ENTRY_POINTS = "gradmark.workloads"


def of_module(module: ModuleType) -> list[Workload]:
    """The workloads that a module defines, in the order of its source."""
    defined = list({id(thing): thing for thing in vars(module).values() if isinstance(thing, Workload)}.values())
    names = [workload.name for workload in defined]
    for name in names:
        if names.count(name) > 1:
            raise WorkloadError(f"{names.count(name)} workloads of {module.__name__} are called {name!r}; rename them")
    return defined


def built_in() -> list[Workload]:
    """The suites that come with gradmark."""
    return [workload for module in BUILT_IN for workload in _of_suite(module)]


def _of_suite(module: str) -> list[Workload]:
    return [dataclasses.replace(workload, file=None) for workload in of_module(importlib.import_module(module))]


def named(name: str) -> list[Workload]:
    """The workloads of that name: of gradmark, else of installed packages. Imports no more suites than it must.

    >>> [workload.suite for workload in named("matmul")]
    ['tensor']
    """
    for module in BUILT_IN:
        matching = [workload for workload in _of_suite(module) if workload.name == name]
        if matching:
            return matching
    return [workload for workload in available() if workload.name == name]


def available() -> list[Workload]:
    """The built-in suites, and those that installed packages offer through the entry point `gradmark.workloads`.

    Their file is None: a worker finds them here again, as parts of the packages that they belong to. Read by its path,
    a module of a package cannot import its neighbours.
    """
    return [*built_in(), *(workload for point in offers() for workload in offered_as(point))]


def offers() -> "list[EntryPoint]":
    """What installed packages say that they offer. Nothing of theirs is loaded."""
    import importlib.metadata

    return list(importlib.metadata.entry_points(group=ENTRY_POINTS))


def offered_as(point: "EntryPoint") -> list[Workload]:
    """The workloads of one entry point."""
    try:
        offer = point.load()
    except (Exception, SystemExit) as error:
        raise WorkloadError(f"{broken_package(point)}: {where_it_failed(error)}") from error
    defined = [offer] if isinstance(offer, Workload) else of_module(offer) if isinstance(offer, ModuleType) else []
    if not defined:
        raise WorkloadError(
            f"the entry point {point.name} = {point.value!r} has no workloads; expected a module with workloads, "
            "or one workload"
        )
    return [dataclasses.replace(workload, file=None) for workload in defined]


def broken_package(point: "EntryPoint") -> str:
    """How an error about an installed package begins."""
    return f"the package that offers workloads as {point.value!r} is broken"


def from_file(path: "Path") -> list[Workload]:
    """The workloads of a user's file. What is wrong in it is shown with its own line."""
    defined = of_module(module_of(path))
    if not defined:
        raise NoSuchWorkloadError(
            f"{path} has no workload; decorate a function with @gradmark.workload(suite=…, stresses=…)"
        )
    return defined


def module_of(path: "Path") -> ModuleType:
    """The module that a user's file is."""
    import importlib.util

    if not path.is_file():
        raise SelectionError(f"there is no file {path}; expected a Python file with workloads, or a workload's name")
    name = f"gradmark_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise WorkloadError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.parent.resolve())  # now: the file may go to another folder
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what it prints must not get into our output
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise WorkloadError(f"{path} cannot be loaded: {where_it_failed(error)}") from error
    finally:
        with contextlib.suppress(ValueError):  # the file may have taken it away itself
            sys.path.remove(folder)
    return module


def where_it_failed(error: BaseException) -> str:
    """The user's own line of a traceback and the error, on one line."""
    import re
    import traceback
    from pathlib import Path

    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {type(error).__name__}: {error.msg}"
    ours = str(Path(__file__).parents[1])
    shown = [f for f in frames if f.line and not f.filename.startswith((ours, "<"))]  # compiled code has no lines
    own = [f for f in shown if not _is_installed(f.filename)] or shown
    place = f"{Path(own[-1].filename).name}, line {own[-1].lineno}, `{own[-1].line}`: " if own else ""
    relative = isinstance(error, ImportError) and "relative import" in str(error)
    hint = "; write `from helper import …`: the file's folder is on the path" if relative else ""
    plain = re.search(r"\b(math|np|numpy)\.(\w+)\(", str(own[-1].line)) if own else None
    offered = plain is not None and plain[2] in {*SCALAR_FUNCTIONS, *TENSOR_FUNCTIONS}
    if isinstance(error, TypeError) and plain and offered and "ops." not in str(error):
        hint = f"; in a workload, write ops.{plain[2]}(…) in place of {plain[1]}.{plain[2]}(…)"
    return f"{place}{type(error).__name__}: {error}{hint}"


def _is_installed(filename: str) -> bool:
    """Whether a file is of a package or of Python itself, as against the user's own. Compiled code has short names."""
    import sysconfig
    from pathlib import Path

    folders = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return not Path(filename).is_absolute() or filename.startswith(folders) or "site-packages" in filename
