"""Discovery: from an engine's name to the engine.

In: a built-in name, `package.module:Class`, or the name of an entry point. Out: an engine, or an error that helps.
"""

import importlib
import inspect
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, cast

from gradmark.engines.protocol import Engine
from gradmark.errors import (
    EngineError,
    GradmarkError,
    MissingEngineError,
    NoSuchEngineError,
    NoSuchModuleError,
    SelectionError,
)
from gradmark.records.derivative import SPARSE_ONES, DerivativeName
from gradmark.workloads.lookup import where_it_failed

BUILT_IN = {
    "null": "gradmark.engines.null:Null",
    "python-floats": "gradmark.engines.floats:PythonFloats",
    "numpy": "gradmark.engines.numpy_arrays:NumpyArrays",
    "finite-difference": "gradmark.engines.finite_difference:FiniteDifference",
    "tapegrad": "gradmark.engines.tapegrad:Tapegrad",
    "tapegrad:compiled": "gradmark.engines.tapegrad:TapegradCompiled",
    "tapegrad:fresh": "gradmark.engines.tapegrad:TapegradFresh",
    "tapegrad:jit": "gradmark.engines.tapegrad:TapegradJit",
    "tapegrad:plain": "gradmark.engines.tapegrad:TapegradPlain",
    "tapegrad:program": "gradmark.engines.tapegrad:TapegradProgram",
    "tapegrad:recording-constants": "gradmark.engines.tapegrad:TapegradRecordingConstants",
    "manual": "gradmark.engines.manual:Manual",
    "torch": "gradmark.engines.torch:Torch",
    "torch:compile": "gradmark.engines.torch:TorchCompile",
    "torch:cuda": "gradmark.engines.torch:TorchCuda",
    "jax": "gradmark.engines.jax:Jax",
    "jax:eager": "gradmark.engines.jax:JaxEager",
    "asdex": "gradmark.engines.asdex:Asdex",
    "autograd": "gradmark.engines.autograd:Autograd",
    "mygrad": "gradmark.engines.mygrad:MyGrad",
    "casadi": "gradmark.engines.casadi:Casadi",
    "xad": "gradmark.engines.xad:Xad",
    "micrograd": "gradmark.engines.micrograd:Micrograd",
    "tinygrad": "gradmark.engines.tinygrad:Tinygrad",
}
# Engines that are packages of others: an optional extra, never imported before somebody asks for one.
PEERS = ("torch", "jax", "asdex", "autograd", "mygrad", "casadi", "xad", "micrograd", "tinygrad")
# `all` leaves out what does not differentiate, the oracle, and variants that only hypotheses and `also` need.
NOT_COMPARED = (
    *("null", "python-floats", "numpy", "finite-difference"),
    *("tapegrad:fresh", "tapegrad:plain", "tapegrad:recording-constants"),
)
# And what differentiates on its own account only where these are asked for.
COMPARED_FOR: Mapping[str, Sequence[DerivativeName]] = {"asdex": SPARSE_ONES}
# Engines that are programs: `gradbench:COMMAND` is made of the command that starts one.
PROGRAMS = {"gradbench": "gradmark.engines.gradbench.tool:Tool"}
EVERY = "all"
ENTRY_POINTS = "gradmark.engines"
# Classes of a module that a message lists.
MOST_SHOWN = 8


def known() -> dict[str, str]:
    """Every name that needs no module path, with where it leads. A package cannot take a built-in name."""
    import importlib.metadata  # here: it takes longer than the rest of this module, and workers seldom need it

    offered = {point.name: point.value for point in importlib.metadata.entry_points(group=ENTRY_POINTS)}
    return BUILT_IN | {name: path for name, path in offered.items() if name not in BUILT_IN}


def exists(name: str) -> bool:
    """Whether a name is known; says nothing about a module path."""
    return name in known()


def installed(name: str) -> bool:
    """Whether the package that an engine adapts is there, without importing it."""
    import importlib.util

    package = name.partition(":")[0]
    return package not in PEERS or importlib.util.find_spec(package) is not None


def chosen(names: Sequence[str], derivatives: Collection[DerivativeName] = ()) -> list[str]:
    """What the user named, once each; `all` is every installed engine that differentiates on its own account.

    derivatives: those that are asked for by name.
    """
    every = [name for name in known() if name not in NOT_COMPARED and installed(name)]
    every = [name for name in every if name not in COMPARED_FOR or not set(COMPARED_FOR[name]).isdisjoint(derivatives)]
    engines = list(dict.fromkeys(engine for name in names for engine in (every if name == EVERY else [name])))
    for name in engines:
        check(name)
    return engines


def check(name: str) -> None:
    """Raises for a name that leads nowhere, without importing the engine."""
    if name in BUILT_IN:
        return
    base, colon, rest = name.partition(":")
    if base in PROGRAMS:
        from gradmark.engines.gradbench.tool import words_of  # here: few runs have such an engine

        words_of(rest)
        return
    variants = [other for other in BUILT_IN if other.startswith(f"{base}:")]
    if colon and not variants:  # a module path; not so beside variants of ours, whose package has no engines
        return
    names = known()
    if name in names:
        return
    near = _near(name, variants or names, 1 if variants else 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"choose from: {', '.join(variants or names)}."
    raise SelectionError(f"no engine is called {name!r}; {hint} Your own is named as package.module:Class.")


def _near(name: str, there: Iterable[str], most: int) -> list[str]:
    """What somebody who typed the name may have meant."""
    import difflib  # here: only mistakes need it, and every worker would pay for it

    return difflib.get_close_matches(name, there, n=most)


def path_of(name: str) -> str:
    """Where a name leads, as package.module:Class. Looks through all installed packages if the name is not built in."""
    check(name)
    return BUILT_IN.get(name) or known().get(name) or name


def load(name: str, path: str = "") -> Engine:
    """The engine of that name, from where it leads. Imports what it needs, so it is called in a worker."""
    path = path or path_of(name)
    base, _, rest = name.partition(":")
    if base in PROGRAMS:
        home, _, attribute = PROGRAMS[base].partition(":")
        return cast(Engine, getattr(importlib.import_module(home), attribute)(rest))
    where = f" from {path!r}" if path != name and name not in BUILT_IN else ""
    typed = "" if path != name else "; a name with ':' is read as package.module:Class"
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute or module_name.startswith("."):
        raise EngineError(f"engine {name!r}{where} is not of the form package.module:Class")
    if "" not in sys.path:
        sys.path.append("")  # an engine in the current folder is found, but hides nothing
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        package = name.partition(":")[0]
        if name in BUILT_IN and error.name == package:
            raise MissingEngineError(
                f"engine {name!r} needs {package}, which is not installed; pip install 'gradmark[peers]' installs all "
                f"peers, pip install {package} this one"
            ) from error
        itself = f"{module_name}.".startswith(f"{error.name}.")  # as against something that it imports
        broken = NoSuchModuleError if itself else MissingEngineError
        raise broken(f"engine {name!r} cannot be imported{where}: {error}{typed}") from error
    except ImportError as error:
        raise EngineError(f"engine {name!r} cannot be imported{where}: {error}{typed}") from error
    offer: Any = getattr(module, attribute, None)
    if offer is None:
        raise NoSuchEngineError(f"{module_name} has no {attribute!r}; {_instead(module, attribute)}")
    engine = _made(offer, path) if isinstance(offer, type) else offer
    missing = [part for part in ("name", "capabilities", "prepare") if not hasattr(engine, part)]
    if missing:
        raise EngineError(f"engine {name!r} lacks {', '.join(missing)}; see gradmark.Engine for the protocol")
    return cast(Engine, engine)


def _instead(module: ModuleType, attribute: str) -> str:
    """What a module has in place of a class that it lacks."""
    classes = [key for key, value in vars(module).items() if isinstance(value, type)]
    near = _near(attribute, classes, 3)
    if near:
        return f"did you mean {' or '.join(near)}?"
    own = [key for key in classes if f"{getattr(module, key).__module__}.".startswith(f"{module.__name__}.")]
    more = ", …" if len(own) > MOST_SHOWN else ""
    return f"it has: {', '.join(own[:MOST_SHOWN])}{more}" if own else "it has no classes"


def _made(offer: type, path: str) -> Any:
    """An engine of a class, which takes no arguments."""
    try:
        required = [
            key
            for key, parameter in inspect.signature(offer).parameters.items()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
    except (TypeError, ValueError):  # a class whose parameters Python cannot tell
        required = []
    if required:
        needs = f"needs an argument {required[0]}" if len(required) == 1 else f"needs arguments {', '.join(required)}"
        raise EngineError(f"{path}() {needs}; engines are created without arguments")
    try:
        return offer()
    except GradmarkError:
        raise
    except Exception as error:
        raise EngineError(f"{path}() failed: {where_it_failed(error)}") from error
