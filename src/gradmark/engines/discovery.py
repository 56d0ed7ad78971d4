"""Discovery: from an engine's name to the engine.

In: a built-in name, `package.module:Class`, or the name of an entry point. Out: an engine, or an error that helps.
"""

import difflib
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from typing import Any, cast

from gradmark.engines.protocol import Engine
from gradmark.errors import EngineError, MissingEngineError, SelectionError

BUILT_IN = {
    "null": "gradmark.engines.null:Null",
    "python-floats": "gradmark.engines.floats:PythonFloats",
    "numpy": "gradmark.engines.numpy_arrays:NumpyArrays",
    "finite-difference": "gradmark.engines.finite_difference:FiniteDifference",
    "tapegrad": "gradmark.engines.tapegrad:Tapegrad",
    "tapegrad:fresh": "gradmark.engines.tapegrad:TapegradFresh",
    "tapegrad:program": "gradmark.engines.tapegrad:TapegradProgram",
    "tapegrad:recording-constants": "gradmark.engines.tapegrad:TapegradRecordingConstants",
    "manual": "gradmark.engines.manual:Manual",
    "torch": "gradmark.engines.torch:Torch",
    "torch:compile": "gradmark.engines.torch:TorchCompile",
    "torch:cuda": "gradmark.engines.torch:TorchCuda",
    "jax": "gradmark.engines.jax:Jax",
    "jax:eager": "gradmark.engines.jax:JaxEager",
    "autograd": "gradmark.engines.autograd:Autograd",
    "mygrad": "gradmark.engines.mygrad:MyGrad",
    "casadi": "gradmark.engines.casadi:Casadi",
    "xad": "gradmark.engines.xad:Xad",
    "micrograd": "gradmark.engines.micrograd:Micrograd",
    "tinygrad": "gradmark.engines.tinygrad:Tinygrad",
}
# Engines that are packages of others: an optional extra, never imported before somebody asks for one.
PEERS = ("torch", "jax", "autograd", "mygrad", "casadi", "xad", "micrograd", "tinygrad")
# `all` leaves out what does not differentiate, the oracle, and variants that only hypotheses and `also` need.
NOT_COMPARED = ("null", "python-floats", "numpy", "finite-difference", "tapegrad:fresh", "tapegrad:recording-constants")
EVERY = "all"
ENTRY_POINTS = "gradmark.engines"


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
    package = name.partition(":")[0]
    return package not in PEERS or importlib.util.find_spec(package) is not None


def chosen(names: Sequence[str]) -> list[str]:
    """What the user named, once each; `all` is every installed engine that differentiates on its own account."""
    every = [name for name in known() if name not in NOT_COMPARED and installed(name)]
    found = list(dict.fromkeys(engine for name in names for engine in (every if name == EVERY else [name])))
    for name in found:
        check(name)
    return found


def check(name: str) -> None:
    """Raises for a name that leads nowhere, without importing the engine."""
    if name in BUILT_IN or ":" in name:
        return
    names = known()
    if name in names:
        return
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names)}."
    raise SelectionError(f"no engine is called {name!r}; {hint} Your own is named as package.module:Class")


def load(name: str) -> Engine:
    """The engine of that name. Imports what it needs, so it is called in a worker."""
    check(name)
    path = BUILT_IN.get(name) or known().get(name, name)
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise EngineError(f"engine {name!r} is not of the form package.module:Class")
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
        hint = "" if name in BUILT_IN else "; a name with ':' is read as package.module:Class"
        raise MissingEngineError(f"engine {name!r} cannot be imported: {error}{hint}") from error
    except ImportError as error:
        hint = "" if name in BUILT_IN else "; a name with ':' is read as package.module:Class"
        raise EngineError(f"engine {name!r} cannot be imported: {error}{hint}") from error
    made: Any = getattr(module, attribute, None)
    if made is None:
        classes = [key for key, value in vars(module).items() if isinstance(value, type)]
        near = difflib.get_close_matches(attribute, classes, n=3) or classes[:5]
        raise EngineError(f"{module_name} has no {attribute!r}; it has: {', '.join(near) or 'no classes'}")
    engine = made() if isinstance(made, type) else made
    missing = [part for part in ("name", "capabilities", "prepare") if not hasattr(engine, part)]
    if missing:
        raise EngineError(f"engine {name!r} lacks {', '.join(missing)}; see gradmark.Engine for the protocol")
    return cast(Engine, engine)
