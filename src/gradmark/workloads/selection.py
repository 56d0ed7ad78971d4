"""Selection: from what the user typed to workloads.

In: names, suites, globs and files. Out: workloads, or an error with the nearest names.
"""

import contextlib
import difflib
import fnmatch
import importlib
import importlib.metadata
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from gradmark.errors import SelectionError, WorkloadError
from gradmark.workloads.workload import Workload

BUILT_IN = [f"gradmark.workloads.{name}" for name in ("scalar", "tensor", "networks", "operators", "tensor_operators")]
# What a run without a selection measures, less what is `extra`.
DEFAULT_SUITES = ("scalar", "tensor")
ENTRY_POINTS = "gradmark.workloads"


def of_module(module: ModuleType) -> list[Workload]:
    """The workloads that a module defines, in the order of its source."""
    found = list({id(thing): thing for thing in vars(module).values() if isinstance(thing, Workload)}.values())
    names = [workload.name for workload in found]
    for name in names:
        if names.count(name) > 1:
            raise WorkloadError(f"{names.count(name)} workloads of {module.__name__} are called {name!r}; rename them")
    return found


def available() -> list[Workload]:
    """The built-in suites, and those that installed packages offer through the entry point `gradmark.workloads`."""
    found = [w for name in BUILT_IN for w in of_module(importlib.import_module(name))]
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            found += of_module(point.load())
        except Exception as error:
            raise WorkloadError(f"the package that offers workloads as {point.value!r} is broken: {error!r}") from error
    return found


def from_file(path: Path) -> list[Workload]:
    """The workloads of a user's file. What is wrong in it is shown with its own line."""
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
    found = of_module(module)
    if not found:
        raise WorkloadError(f"{path} has no workload; decorate a function with @gradmark.workload(suite=…, stresses=…)")
    return found


def where_it_failed(error: BaseException) -> str:
    """The user's own line of a traceback and the error, on one line."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {type(error).__name__}: {error.msg}"
    ours = str(Path(__file__).parents[1])
    theirs = [f for f in frames if not f.filename.startswith((ours, "<frozen"))] or list(frames)
    place = f"{Path(theirs[-1].filename).name}, line {theirs[-1].lineno}, `{theirs[-1].line}`: " if theirs else ""
    return f"{place}{type(error).__name__}: {error}"


def select(patterns: Sequence[str], keyword: str | None = None) -> list[Workload]:
    """The workloads that the patterns name: a file, a suite, a name or a glob. `keyword` narrows them.

    Without patterns: the suites that come with gradmark, without what makes them long.
    """
    known = available()
    usual = [] if patterns else [w for w in known if w.suite in DEFAULT_SUITES and not w.extra]
    chosen = {w.name: w for w in usual}
    for pattern in patterns:
        if pattern.endswith(".py"):
            matching = from_file(Path(pattern))
        else:
            matching = [w for w in known if pattern == w.suite or fnmatch.fnmatch(w.name, pattern)]
        if not matching:
            raise SelectionError(_no_such(pattern, known))
        for workload in matching:
            other = chosen.get(workload.name)
            if other is not None and other is not workload and other.file != workload.file:
                raise SelectionError(
                    f"two workloads are called {workload.name!r} ({other.file} and {workload.file}); rename one"
                )
            chosen[workload.name] = workload
    found = [w for w in chosen.values() if keyword is None or keyword in w.name]
    if not found:
        raise SelectionError(f"no selected workload has {keyword!r} in its name; there are: {', '.join(chosen)}")
    return found


def _no_such(pattern: str, known: Sequence[Workload]) -> str:
    names = list(dict.fromkeys([w.name for w in known] + [w.suite for w in known]))
    near = difflib.get_close_matches(pattern, names, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`gradmark list` shows all; a file must end in .py"
    return f"no workload or suite is called {pattern!r}; {hint}"
