"""Selection: from what the user typed to workloads, each with the sizes, dtypes and devices that were asked for.

In: suites, names, globs, files, and rows as tables print them. Out: `Selected`, or an error with what there is.
"""

import dataclasses
import difflib
import fnmatch
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

from gradmark.errors import SelectionError
from gradmark.records import Settings
from gradmark.workloads import catalogue
from gradmark.workloads.outline import Outline
from gradmark.workloads.row import Row, Selected, fitted, lists

OfFile = Callable[[Path], list[Outline]]

# What a run without a selection measures, less what is `extra`.
DEFAULT_SUITES = ("scalar", "tensor")


def select(patterns: Sequence[str], keyword: str | None = None, settings: Settings = catalogue.USUAL) -> list[Outline]:
    """The workloads that the patterns name, once each, whatever sizes were asked for."""
    return list({part.workload.name: part.workload for part in select_rows(patterns, keyword, settings)}.values())


def select_rows(
    patterns: Sequence[str], keyword: str | None = None, settings: Settings = catalogue.USUAL
) -> list[Selected]:
    """What the patterns name, in their order: a workload may come more than once, with other sizes.

    A pattern is a suite, a name, a glob or a file, `mine.py`; a row of one of these, `poly/n=777`, `matmul/n=*`,
    `mine.py:price/n=3`. `keyword` keeps rows with that text in their names. Without patterns: the suites that come with
    gradmark, without what makes them long. Files and installed packages are loaded under the limits of the settings.

    >>> [(part.workload.name, part.points(full=False)) for part in select_rows(["chain/f=tanh", "poly/n=777"])]
    [('chain', [{'f': 'tanh'}]), ('poly', [{'n': 777}])]
    """
    known = catalogue.available(settings)
    of_file = functools.cache(lambda path: catalogue.of_file(path, settings))
    selected = [] if patterns else [Selected(w) for w in known if w.suite in DEFAULT_SUITES and not w.extra]
    for pattern in patterns:
        selected += _matching(pattern, known, of_file)
    _refuse_namesakes([part.workload for part in selected])
    if keyword is None:
        return selected
    kept = [dataclasses.replace(part, keyword=keyword) for part in selected]
    kept = [part for part in kept if part.points(full=False)]
    if not kept:
        names = dict.fromkeys(part.workload.name for part in selected)
        raise SelectionError(f"no selected row has {keyword!r} in its name; the workloads are: {', '.join(names)}")
    return kept


def _matching(pattern: str, known: Sequence[Outline], of_file: OfFile) -> list[Selected]:
    """The workloads of one pattern that have the sizes it names."""
    if pattern.endswith(".py"):
        return [Selected(workload) for workload in of_file(Path(pattern))]
    file, separator, rest = pattern.rpartition(".py:")
    if separator:
        known = of_file(Path(f"{file}.py"))
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


def _refuse_namesakes(workloads: Sequence[Outline]) -> None:
    """Raises if two workloads of one name were selected: their rows could not be told apart."""
    chosen: dict[str, Outline] = {}
    for workload in workloads:
        other = chosen.setdefault(workload.name, workload)
        same = other is workload if workload.file is None else other.file == workload.file
        if not same:
            places = " and ".join(w.file or w.module for w in (other, workload))
            raise SelectionError(f"two workloads are called {workload.name!r} ({places}); rename one")


def _no_such(name: str, known: Sequence[Outline]) -> str:
    names = list(dict.fromkeys([w.name for w in known] + [w.suite for w in known]))
    near = difflib.get_close_matches(name, names, n=3)
    hint = (
        f"did you mean {' or '.join(near)}?"
        if near
        else "`gradmark list` shows all; a workload of your own is named as file.py or file.py:name"
    )
    return f"no workload or suite is called {name!r}; {hint}"
