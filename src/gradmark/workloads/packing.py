"""Packing: a function that lives in a notebook or a script, as a file that workers load like any other workload file.

In: a function with its inputs, or a workload. Out: a Python file, with a pickle beside it. Decision 32 says why a
pickle. Workers import this too, so what only packing needs is imported there.
"""

import dataclasses
import hashlib
import os
import pickle
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from gradmark.errors import SelectionError, WorkloadError
from gradmark.workloads.workload import Workload, parameters, workload

# Under the folder that runs are in: the files are named by their functions, so that a run of today has the rows that
# the run of yesterday had, and both can be compared.
FOLDER = Path(".gradmark") / "functions"
SUITE = "functions"  # of functions that are no workloads: the title of their table
NAMESPACE = "ops"  # the first parameter of a function that wants the operations of the engine
INSTEAD = "Decorate it with gradmark.workload(…), which has sizes and draws inputs: docs/guide/your-function.md"
HINT = "or give the function a first parameter called ops, and write ops.sin(x)"
# Calls a function that does not want `ops`. Arguments one by one are the quickest way; `try` costs nothing.
CALLING = """
def calling(ops, {arguments}):
    try:
        return function({arguments})
    except TypeError as error:
        error.args = (f"{{error}}; {{HINT}}",)
        raise
"""
TEXT = '''\
"""{name}, as Python had it in memory: gradmark keeps it here for its workers. Made by gradmark; edits are lost."""

from gradmark.workloads.packing import unpack

packed = unpack(__file__, sha256="{sha256}", path={path})

{source}'''


@dataclasses.dataclass(frozen=True)
class Fixed:
    """Inputs that do not depend on the seed."""

    values: tuple[Any, ...]

    def __call__(self, draw: random.Random) -> list[Any]:  # noqa: ARG002  what inputs are called with
        """Copies: the laboratory writes other numbers into arrays."""
        return [value.copy() if hasattr(value, "copy") else value for value in self.values]


def of_function(function: Callable[..., Any], inputs: Any, name: str | None = None) -> Workload:
    """A plain function at these inputs: numbers, or arrays. It takes `ops` first if it names it, and then the inputs.

    >>> of_function(lambda x, y: x * y, [2.0, 3.0], "product").draw(0, {})
    [2.0, 3.0]
    """
    title = name or _name(function)
    if not callable(function):
        raise SelectionError(
            f"expected a function, a workload, or the name of one such as 'poly/n=1000', got {function!r}"
        )
    if inputs is None:
        raise WorkloadError(
            f"{title} has no inputs; give the numbers or arrays at which it is differentiated: run({title}, [0.5, 2.0])"
        )
    values = _values(title, inputs)
    taking = _taking_ops(title, function, len(values))
    if all(isinstance(value, float) for value in values):
        return workload(suite=SUITE, stresses="", name=title, inputs=Fixed(values))(taking)
    return workload(
        suite=SUITE, stresses="", name=title, arrays=Fixed(values), dtypes=_dtypes(title, values)
    )(taking)  # fmt: skip


def _name(function: Any) -> str:
    name = str(getattr(function, "__name__", None) or type(function).__name__)
    return name if name.isidentifier() else "lambda" if name == "<lambda>" else "function"


def _values(name: str, inputs: Any) -> tuple[Any, ...]:
    """Numbers as floats; if there is an array among them, all as arrays."""
    if _is_number(inputs) or hasattr(inputs, "__array__"):
        inputs = [inputs]
    if not isinstance(inputs, Sequence) or isinstance(inputs, str) or not inputs:
        raise WorkloadError(f"{name}: inputs must be numbers or arrays, one for each parameter, got {inputs!r}")
    if all(map(_is_number, inputs)):
        return tuple(float(x) for x in inputs)
    import numpy as np

    try:
        arrays = tuple(np.array(x) for x in inputs)
    except (TypeError, ValueError) as error:
        raise WorkloadError(f"{name}: inputs must be numbers or arrays: {error}") from error
    for place, x in enumerate(arrays):
        if x.dtype.kind not in "fiub":
            raise WorkloadError(f"{name}: input {place} is no number and no array of numbers: {inputs[place]!r}")
    return arrays


def _is_number(x: Any) -> bool:
    import numbers

    return isinstance(x, numbers.Real) and not isinstance(x, bool)


def _dtypes(name: str, arrays: Sequence[Any]) -> tuple[str, ...]:
    """That of the arrays, and the other one for those who ask for it."""
    import numpy as np

    floating = [x.dtype for x in arrays if x.dtype.kind == "f"]
    if not floating:
        raise WorkloadError(f"{name}: no input is an array of floating numbers, so there is nothing to differentiate")
    usual = "float32" if np.result_type(*floating).itemsize <= 4 else "float64"
    return (usual, "float64" if usual == "float32" else "float32")


def _taking_ops(name: str, function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function that takes `ops` and so many inputs. One that does not want `ops` is called by another that does."""
    known = list(parameters(function).values())
    wants = bool(known) and known[0].name == NAMESPACE
    rest = known[wants:]
    several = any(p.kind is p.VAR_POSITIONAL for p in rest)
    positional = [p for p in rest if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    sizes = [p.name for p in rest if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if sizes:
        raise WorkloadError(f"{name} has the parameter {sizes[0]}, for which inputs has nothing. {INSTEAD}")
    needed = sum(p.default is p.empty for p in positional)
    if known and (count < needed or (count > len(positional) and not several)):
        takes = f"{needed}" if needed == len(positional) and not several else f"{needed} or more"
        given = f"{count} {'was' if count == 1 else 'were'} given"
        raise WorkloadError(
            f"{name} takes {takes} input{'s' * (takes != '1')}, but {given}; give one for each parameter"
        )
    if wants:
        return function
    arguments = ", ".join(f"x{k}" for k in range(count))
    names = {"function": function, "__name__": "gradmark_function", "HINT": HINT}
    exec(CALLING.format(arguments=arguments), names)
    calling: Any = names["calling"]
    calling.__name__ = calling.__qualname__ = name if name.isidentifier() else "function"
    return calling  # type: ignore[no-any-return]


def select_of(what: Workload, folder: Path) -> str:
    """How a workload is selected: by its name or its file where a worker finds it there, else by a file made for it."""
    if what.module.startswith("gradmark.workloads."):
        return what.name
    file = for_workers(what, folder).file
    assert file is not None
    return f"{os.path.relpath(file)}:{what.name}"


def for_workers(what: Workload, folder: Path) -> Workload:
    """A workload whose file is one that workers can load: its own, or one that is made for it."""
    if what.module.startswith("gradmark.workloads.") or (what.file is not None and _is_defined_there(what)):
        return what
    return dataclasses.replace(what, file=os.path.abspath(pack(what, folder)))


def _is_defined_there(what: Workload) -> bool:
    """Whether a worker that loads the file has the workload.

    Not of the script that is running: loading it would run it once more.
    """
    module = sys.modules.get(what.module)
    if module is None or what.module == "__main__" or what.file is None or not Path(what.file).is_file():
        return False
    there = getattr(module, "__file__", None)
    return (
        there is not None
        and os.path.samefile(there, what.file)
        and any(thing is what for thing in vars(module).values())
    )


def pack(what: Workload, folder: Path = FOLDER) -> Path:
    """Writes a workload into a file that workers can load; one of the same name is replaced."""
    data = _pickled(what)
    stem = re.sub(r"\W", "_", what.name)
    path = folder / f"{stem}.py"
    text = TEXT.format(
        name=what.name,
        sha256=hashlib.sha256(data).hexdigest(),
        path=[os.path.abspath(entry) for entry in sys.path if os.path.isdir(entry or ".")],
        source=_source(what.function),
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, contents in ((path.with_suffix(".pickle"), data), (path, text.encode("utf-8", "replace"))):
            beside = file.with_name(f".{file.name}.{os.getpid()}")
            beside.write_bytes(contents)
            os.replace(beside, file)
    except OSError as error:
        raise WorkloadError(f"{what.name} cannot be kept for the workers in {folder}: {error.strerror}") from error
    return path


def _source(function: Any) -> str:
    """The text of a function as comments, for whoever opens the file."""
    import inspect

    try:
        lines = inspect.getsource(function).splitlines()
    except (OSError, TypeError):
        return "# Python does not know the text of the function.\n"
    return "".join(f"# {line}\n" for line in ["As it was written:", "", *lines])


def _pickled(what: Workload) -> bytes:
    """The workload with the functions that it needs, and the text of those that are in no file, for messages."""
    import linecache

    import cloudpickle

    module = sys.modules.get(what.module)
    own = module is not None and what.module != "__main__" and _is_users(module)
    if own:
        cloudpickle.register_pickle_by_value(module)  # as it is in memory, and whether or not a worker could import it
    try:
        data: bytes = cloudpickle.dumps(what)
        texts = {
            name: "".join(entry[2])
            for name, entry in list(linecache.cache.items())
            if len(entry) == 4 and name.encode("utf-8", "replace") in data and not os.path.exists(name)
        }
        return bytes(cloudpickle.dumps((data, texts)))
    except Exception as error:  # whatever an object's own pickling raises
        raise WorkloadError(_cannot(what, error)) from error
    finally:
        if own:
            cloudpickle.unregister_pickle_by_value(module)


def _is_users(module: ModuleType) -> bool:
    """Whether a module is the user's own, as against an installed one."""
    import sysconfig

    installed = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    file = getattr(module, "__file__", None)
    ours = module.__name__.partition(".")[0] == "gradmark"
    return file is not None and not ours and not file.startswith(installed) and "site-packages" not in file


def _cannot(what: Workload, error: Exception) -> str:
    """Why a function cannot be given to another process: the name in it that cannot, if that is the reason."""
    import cloudpickle

    functions = [getattr(what, field.name) for field in dataclasses.fields(what)]
    for name, thing in (pair for function in functions for pair in _referred(function, set())):
        try:
            cloudpickle.dumps(thing)
        except Exception as reason:
            return (
                f"{what.name} cannot be given to worker processes: it uses {name!r}, a {type(thing).__name__}, and "
                f"{reason}. Make {name} inside the function, or give it as an input"
            )
    return f"{what.name} cannot be given to worker processes: {type(error).__name__}: {error}"


def _referred(function: Any, seen: set[CodeType]) -> Iterator[tuple[str, Any]]:
    """The variables and globals that a function uses, and before each function among them what that one uses."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or code in seen:
        return
    seen.add(code)
    closed = [cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell)]
    names = {name: function.__globals__[name] for name in _names(code) if name in function.__globals__}
    for name, thing in [*zip(code.co_freevars, closed, strict=False), *names.items()]:
        yield from _referred(thing, seen)
        yield name, thing


def _is_empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  raises if there is nothing in it yet
    except ValueError:
        return True
    return False


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def unpack(file: str, *, sha256: str, path: Sequence[str]) -> Workload:
    """The workload that a file was made for, in a worker."""
    import linecache

    sys.path += [entry for entry in path if entry not in sys.path]  # at the end: it hides nothing of Python's own
    data = Path(file).with_suffix(".pickle").read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise WorkloadError(f"{Path(file).stem}.pickle is not what was written with {Path(file).name}; run it again")
    packed, texts = pickle.loads(data)
    for name, text in texts.items():
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    what: Workload = pickle.loads(packed)
    return dataclasses.replace(what, file=os.path.abspath(file), module=f"gradmark_user_{Path(file).stem}")
