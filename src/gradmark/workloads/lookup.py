"""Lookup: where workloads come from, and what is said of a file that cannot be loaded.

In: a name, a module or a file. Out: workloads, or an error with the user's own line. Every worker imports this, so what
only files and failures need is imported there.
"""

import contextlib
import dataclasses
import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from gradmark.errors import SelectionError, WorkloadError
from gradmark.workloads.workload import Workload

if TYPE_CHECKING:
    from pathlib import Path

BUILT_IN = [f"gradmark.workloads.{name}" for name in ("scalar", "tensor", "networks", "operators", "tensor_operators")]
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
        found = [workload for workload in _of_suite(module) if workload.name == name]
        if found:
            return found
    return [workload for workload in available() if workload.name == name]


def available() -> list[Workload]:
    """The built-in suites, and those that installed packages offer through the entry point `gradmark.workloads`.

    Their file is None: a worker finds them here again, as parts of the packages that they belong to. Read by its path,
    a module of a package cannot import its neighbours.
    """
    import importlib.metadata

    installed: list[Workload] = []
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            offer = point.load()
        except Exception as error:
            raise WorkloadError(
                f"the package that offers workloads as {point.value!r} is broken: {where_it_failed(error)}"
            ) from error
        defined = [offer] if isinstance(offer, Workload) else of_module(offer) if isinstance(offer, ModuleType) else []
        if not defined:
            raise WorkloadError(
                f"the entry point {point.name} = {point.value!r} has no workloads; expected a module with workloads, "
                "or one workload"
            )
        installed += defined
    return [*built_in(), *(dataclasses.replace(workload, file=None) for workload in installed)]


def file_of(workload: Workload) -> str | None:
    """Where a worker finds a workload again: its file, or None for those that `available` has."""
    if workload.file is None or any(other.function is workload.function for other in available()):
        return None
    return workload.file


def from_file(path: "Path") -> list[Workload]:
    """The workloads of a user's file. What is wrong in it is shown with its own line."""
    import importlib.util

    if not path.is_file():
        raise SelectionError(f"there is no file {path}; expected a Python file with workloads, or a workload's name")
    name = f"gradmark_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise WorkloadError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what it prints must not get into our output
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise WorkloadError(f"{path} cannot be loaded: {where_it_failed(error)}") from error
    finally:
        sys.path.remove(str(path.parent.resolve()))
    defined = of_module(module)
    if not defined:
        raise WorkloadError(f"{path} has no workload; decorate a function with @gradmark.workload(suite=…, stresses=…)")
    return defined


def where_it_failed(error: BaseException) -> str:
    """The user's own line of a traceback and the error, on one line."""
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
    return f"{place}{type(error).__name__}: {error}{hint}"


def _is_installed(filename: str) -> bool:
    """Whether a file is of a package or of Python itself, as against the user's own. Compiled code has short names."""
    import sysconfig
    from pathlib import Path

    folders = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return not Path(filename).is_absolute() or filename.startswith(folders) or "site-packages" in filename
