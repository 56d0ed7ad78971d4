"""Selection: from what the user typed to workloads, each with the sizes, dtypes and devices that were asked for.

In: suites, names, globs, files, and rows as tables print them. Out: `Selected`, or an error with what there is.
"""

import contextlib
import dataclasses
import difflib
import fnmatch
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from gradmark.errors import SelectionError, WorkloadError
from gradmark.workloads.workload import Workload

if TYPE_CHECKING:  # rows are imported when they are selected: workers only look workloads up, and each would pay
    from gradmark.workloads.row import Selected

BUILT_IN = [f"gradmark.workloads.{name}" for name in ("scalar", "tensor", "networks", "operators", "tensor_operators")]
# What a run without a selection measures, less what is `extra`.
DEFAULT_SUITES = ("scalar", "tensor")
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
    return [
        dataclasses.replace(workload, file=None)
        for name in BUILT_IN
        for workload in of_module(importlib.import_module(name))
    ]


def available() -> list[Workload]:
    """The built-in suites, and those that installed packages offer through the entry point `gradmark.workloads`.

    Their file is None: a worker finds them here again, as parts of the packages that they belong to. Read by its path,
    a module of a package cannot import its neighbours.
    """
    import importlib.metadata  # here: workers seldom need it, and each would pay for it

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
    defined = of_module(module)
    if not defined:
        raise WorkloadError(f"{path} has no workload; decorate a function with @gradmark.workload(suite=…, stresses=…)")
    return defined


def where_it_failed(error: BaseException) -> str:
    """The user's own line of a traceback and the error, on one line."""
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
    import sysconfig  # here: it takes a while, and only what fails needs it

    folders = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return not Path(filename).is_absolute() or filename.startswith(folders) or "site-packages" in filename


def select(patterns: Sequence[str], keyword: str | None = None) -> list[Workload]:
    """The workloads that the patterns name, once each, whatever sizes were asked for."""
    return list({part.workload.name: part.workload for part in select_rows(patterns, keyword)}.values())


def select_rows(patterns: Sequence[str], keyword: str | None = None) -> "list[Selected]":
    """What the patterns name, in their order: a workload may come more than once, with other sizes.

    A pattern is a suite, a name, a glob or a file, `mine.py`; a row of one of these, `poly/n=777`, `matmul/n=*`,
    `mine.py:price/n=3`. `keyword` keeps rows with that text in their names. Without patterns: the suites that come with
    gradmark, without what makes them long.

    >>> [(part.workload.name, part.points(full=False)) for part in select_rows(["chain/f=tanh", "poly/n=777"])]
    [('chain', [{'f': 'tanh'}]), ('poly', [{'n': 777}])]
    """
    from gradmark.workloads.row import Selected

    known = available()
    selected = [] if patterns else [Selected(w) for w in known if w.suite in DEFAULT_SUITES and not w.extra]
    for pattern in patterns:
        selected += _matching(pattern, known)
    _refuse_namesakes([part.workload for part in selected])
    if keyword is None:
        return selected
    kept = [dataclasses.replace(part, keyword=keyword) for part in selected]
    kept = [part for part in kept if part.points(full=False)]
    if not kept:
        names = dict.fromkeys(part.workload.name for part in selected)
        raise SelectionError(f"no selected row has {keyword!r} in its name; the workloads are: {', '.join(names)}")
    return kept


def _matching(pattern: str, known: Sequence[Workload]) -> "list[Selected]":
    """The workloads of one pattern that have the sizes it names."""
    from gradmark.workloads.row import Row, Selected, fitted, lists

    if pattern.endswith(".py"):
        return [Selected(workload) for workload in from_file(Path(pattern))]
    file, separator, rest = pattern.rpartition(".py:")
    if separator:
        known = from_file(Path(f"{file}.py"))
    elif ".py/" in pattern:
        file, _, rest = pattern.rpartition(".py/")
        raise SelectionError(f"{pattern!r} names no workload; write {file}.py:NAME/{rest}")
    row = Row.parsed(rest)
    named = [w for w in known if row.name == w.suite or fnmatch.fnmatchcase(w.name, row.name)]
    if not named and separator:
        names = ", ".join(w.name for w in known)
        raise SelectionError(f"{file}.py has no workload {row.name!r}; it has: {names}")
    if not named:
        raise SelectionError(_no_such(row.name, known))
    selected, problems = [], []
    # of a suite or a glob those are meant that list such a size; `*/n=1000` is no order for 1000³ numbers
    for workload in [w for w in named if lists(w, row)] or named:
        try:
            selected.append(fitted(workload, row))
        except SelectionError as error:
            problems.append(error)
    if not selected:
        raise problems[0]
    return selected


def _refuse_namesakes(workloads: Sequence[Workload]) -> None:
    """Raises if two workloads of one name were selected: their rows could not be told apart."""
    chosen: dict[str, Workload] = {}
    for workload in workloads:
        other = chosen.setdefault(workload.name, workload)
        same = other is workload if workload.file is None else other.file == workload.file
        if not same:
            places = " and ".join(w.file or str(w.function.__module__) for w in (other, workload))
            raise SelectionError(f"two workloads are called {workload.name!r} ({places}); rename one")


def _no_such(name: str, known: Sequence[Workload]) -> str:
    names = list(dict.fromkeys([w.name for w in known] + [w.suite for w in known]))
    near = difflib.get_close_matches(name, names, n=3)
    hint = (
        f"did you mean {' or '.join(near)}?"
        if near
        else "`gradmark list` shows all; a workload of your own is named as file.py or file.py:name"
    )
    return f"no workload or suite is called {name!r}; {hint}"
