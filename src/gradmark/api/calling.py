"""Calling: a verb with Python's arguments, as the command would be called with the same words.

In: what is to be measured, and options by name. Out: the verb's own parameters and its `Invocation`. So a run that was
made from Python is the run of a command: it has the same plan and the same record, and `--resume` goes on with it.
"""

import contextlib
import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import click

from gradmark.commands.main import gradmark as group
from gradmark.commands.measuring import Invocation
from gradmark.commands.options import SAMPLING, settings_of
from gradmark.errors import OptionError, SelectionError, WorkloadError
from gradmark.workloads import packing
from gradmark.workloads.workload import Workload

Function = Callable[..., Any]
What = str | Path | Workload | Function
# Without a terminal, such as in a log or a notebook.
WIDTH = 120


class How(TypedDict, total=False):
    """How to measure: the options of the command of the same names."""

    full: bool
    processes: int
    seed: int
    threads: int
    timeout: float
    memory_limit: float
    memory: bool
    instructions: bool
    pin: bool
    huge_pages: bool
    data: str
    store: str | Path


@dataclass(frozen=True)
class Call:
    """A verb that was called from Python."""

    invocation: Invocation
    params: Mapping[str, Any]  # of the verb, without those on how to measure


def width() -> int:
    """How wide a table may be."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def select(what: "What | Sequence[What] | None", inputs: Any = None, name: str | None = None) -> list[str]:
    """What a command would be told to select. Functions that are in no file are written into one."""
    _refuse_worker()
    if what is None:
        return []
    several = isinstance(what, Sequence) and not isinstance(what, str)
    parts = list(what) if several else [what]  # type: ignore[arg-type]
    if inputs is not None and (several or isinstance(what, str | Path | Workload)):
        raise SelectionError(
            "inputs go with one plain function; names, files and workloads have inputs of their own: leave inputs out"
        )
    words = []
    claimed: dict[str, tuple[Any, str]] = {}  # what each file was made for, or each name given
    for part in parts:
        words.append(_word(part, inputs, name))
        if not isinstance(part, str | Path):
            file, separator, _ = words[-1].rpartition(".py:")
            ours = separator and Path(file).parent == packing.FOLDER
            before, called = claimed.setdefault(file if ours else words[-1], (part, _title(part)))
            if before is not part:
                both = (
                    f"two workloads called {called!r}" if called == _title(part) else f"{called!r} and {_title(part)!r}"
                )
                raise SelectionError(
                    f"{both} cannot be measured together: the file of one would replace that of the other; give one "
                    "of them another name, gradmark.workload(name=…)"
                )
    return words


def _title(part: Any) -> str:
    return str(part.name if isinstance(part, Workload) else getattr(part, "__name__", part))


def _word(what: Any, inputs: Any, name: str | None) -> str:
    if isinstance(what, str | Path):
        return str(what)
    described = what if isinstance(what, Workload) else packing.of_function(what, inputs, name)
    return packing.select_of(described, packing.FOLDER)


def _refuse_worker() -> None:
    """Raises in the process that loads the user's file: it would measure itself, without an end."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    loading = spec is not None and spec.name == "gradmark.isolation.called"
    if loading or ("GRADMARK_FOLDER" in os.environ and "gradmark.measure.worker.jobs" in sys.modules):
        raise WorkloadError(
            "gradmark was called while it loads this file for a worker; put the call under `if __name__ == "
            "'__main__':`, or into a file of its own"
        )


@contextlib.contextmanager
def called(verb: str, words: Sequence[str], **options: Any) -> Iterator[Call]:
    """The verb's parameters, as its command makes them of words and options. Errors are those of gradmark.

    A list is an option that is given more than once; None is one that is not given.
    """
    command = importlib.import_module(f"gradmark.commands.{verb}").command
    for word in words:
        if word.startswith("-"):
            raise SelectionError(f"{word!r} would be an option; a file is named as ./{word}")
    arguments = [*words, *_options(verb, command, options)]
    try:
        parent = click.Context(group, info_name="gradmark")
        context = command.make_context(verb, list(arguments), parent)
    except click.UsageError as error:
        raise OptionError(error.format_message()) from None
    given = dict(context.params)
    how = {name: given.pop(name) for name in SAMPLING if name in given}
    store = how.pop("store")
    del how["resume"], how["trust"]
    try:
        with context.scope():
            yield Call(Invocation(verb, arguments, settings_of(**how), store), given)
    except click.exceptions.Abort as error:
        raise KeyboardInterrupt(str(error)) from error
    except click.UsageError as error:
        raise OptionError(error.format_message()) from None


def _options(verb: str, command: click.Command, options: Mapping[str, Any]) -> list[str]:
    """Options as one would type them."""
    known = {parameter.name: parameter for parameter in command.params if isinstance(parameter, click.Option)}
    words: list[str] = []
    for name, value in options.items():
        if name == "full" and "quick" in known:
            words += ["--full"] if value else []
            continue
        option = known.get(name)
        if option is None:
            _refuse_unknown(verb, name, known)
        elif value is None:
            continue
        elif option.is_flag:
            flags = option.opts if value else option.secondary_opts
            words += flags[-1:]
        else:
            several = option.multiple and not isinstance(value, str)
            for part in value if several else [value]:
                words += [option.opts[-1], os.fspath(part) if isinstance(part, os.PathLike) else str(part)]
    return words


def _refuse_unknown(verb: str, name: str, known: Mapping[Any, click.Option]) -> None:
    import difflib

    named = [key for key in ("engines", "derivatives", "dtypes", "devices") if key in known]
    there = [str(key) for key in known if key in How.__annotations__] + ["full"] * ("quick" in known) + named
    near = difflib.get_close_matches(name, there, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(there))}"
    raise TypeError(f"{verb}() has no option {name!r}; {hint}")


def names(engines: str | Sequence[str]) -> list[str]:
    """Engines by their names."""
    listed = [engines] if isinstance(engines, str) else list(engines)
    for engine in listed:
        if not isinstance(engine, str):
            raise SelectionError(
                f"engines are named, as in engines=['tapegrad', 'jax', 'my_package.adapter:MyEngine'], got {engine!r}"
            )
    return listed
