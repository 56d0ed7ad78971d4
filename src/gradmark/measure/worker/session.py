"""Sessions and capabilities as the protocol wants them: whatever an adapter gets wrong is said here, and only here.

In: what an engine gave. Out: the same, if a worker can call it; else `EngineError` with what was expected, what came,
and how to mend it.
"""

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradmark.engines.protocol import Capabilities, Engine, Session
from gradmark.errors import EngineError, UnsupportedError
from gradmark.records import Cell
from gradmark.records.derivative import DERIVATIVES, USUAL_DERIVATIVE, with_article
from gradmark.workloads.lookup import where_it_failed
from gradmark.workloads.workload import DTYPES, Workload, parameters

KINDS = ("scalar", "tensor")
PARTS = ("forward", "gradients", "backward", "total", "primal", "value", "result")
PLACES = ("first", "second", "third")


def capabilities_of(name: str, engine: Engine) -> Capabilities:
    """What an engine can do, as it says."""
    try:
        can = engine.capabilities()
    except UnsupportedError:
        raise
    except Exception as error:
        raise EngineError(f"engine {name!r}: capabilities() failed: {where_it_failed(error)}") from error
    if not isinstance(can, Capabilities):
        raise EngineError(
            f"engine {name!r}: capabilities() returned {described(can)}; expected a gradmark.Capabilities, such as "
            "Capabilities(kinds=('scalar',))"
        )
    for field, known in (("kinds", KINDS), ("dtypes", DTYPES), ("devices", ())):
        words = getattr(can, field)
        if isinstance(words, str) or not isinstance(words, Sequence) or not all(isinstance(w, str) for w in words):
            raise EngineError(
                f"engine {name!r}: {field} of its capabilities is {words!r}; expected a tuple of words, such as "
                f"{(known or ('cpu',))[:1]!r}"
            )
        strange = [word for word in words if known and word not in known]
        if strange or not words:
            raise EngineError(
                f"engine {name!r}: {field} of its capabilities is {tuple(words)!r}; "
                + (f"expected some of {', '.join(known)}" if known else "expected at least one, such as 'cpu'")
            )
    can = _with_derivatives(name, engine, can)
    if len(can.devices) > 1 and not takes_device(engine):
        if _promised_by_another(engine) and _inherited_takes(
            engine, "device"
        ):  # an heir with a `prepare` of its own computes where it always did
            return replace(can, devices=can.devices[:1])
        raise EngineError(
            f"engine {name!r} has the devices {', '.join(can.devices)}, but its prepare cannot be told which; write "
            "prepare(self, workload, inputs, params, *, device)"
        )
    return can


def _with_derivatives(name: str, engine: Engine, can: Capabilities) -> Capabilities:
    """What it can do. Raises for derivatives that there are not, and for an engine that cannot be told which is wanted.

    An heir that has a `prepare` of its own, of gradients as it always was, has gradients.
    """
    words: Any = can.derivatives
    if not isinstance(words, Mapping) or not all(isinstance(mode, str) for mode in words.values()):
        raise EngineError(
            f"engine {name!r}: derivatives of its capabilities is {words!r}; expected a dict of modes by name, such as "
            "{'gradient': 'rev', 'jvp': 'fwd'}"
        )
    strange = [word for word in words if word not in DERIVATIVES]
    if strange:
        raise EngineError(
            f"engine {name!r}: its capabilities have a derivative {strange[0]!r}; expected some of "
            f"{', '.join(DERIVATIVES)}"
        )
    if not set(words) - {USUAL_DERIVATIVE} or takes(engine, "derivative"):
        return can
    if _inherited_takes(engine, "derivative"):
        return replace(can, derivatives={name: mode for name, mode in words.items() if name == USUAL_DERIVATIVE})
    raise EngineError(
        f"engine {name!r} has {', '.join(words)}, but its prepare cannot be told which; write "
        "prepare(self, workload, inputs, params, *, derivative)"
    )


def _inherited_takes(engine: Engine, keyword: str) -> bool:
    """Whether a `prepare` that the engine has replaced by its own takes a keyword."""
    inherited = [vars(base)["prepare"] for base in type(engine).__mro__[1:] if "prepare" in vars(base)]
    return any(keyword in parameters(prepare) for prepare in inherited)


def _promised_by_another(engine: Engine) -> bool:
    """Whether the capabilities are those of a class whose `prepare` an heir has replaced."""
    order = [name for base in type(engine).__mro__ for name in ("prepare", "capabilities") if name in vars(base)]
    return order[:1] == ["prepare"] and "prepare" in order[1:]


def refuse_prepare(name: str, engine: Engine) -> None:
    """Raises if `prepare` cannot be called as it will be."""
    known = parameters(engine.prepare)
    if not known and not hasattr(engine.prepare, "__code__"):
        return  # Python cannot tell
    options = {keyword: None for keyword in ("device", "derivative") if keyword in known}
    try:
        inspect.Signature(list(known.values())).bind(None, (), {}, **options)
    except TypeError:
        raise EngineError(
            f"engine {name!r}: its prepare takes ({', '.join(known)}); write prepare(self, workload, inputs, params)"
        ) from None


def takes_device(engine: Engine) -> bool:
    """Whether `prepare` is told the device."""
    return takes(engine, "device")


def takes(engine: Engine, keyword: str) -> bool:
    """Whether `prepare` takes a keyword."""
    known = parameters(engine.prepare)
    return keyword in known or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())


def checked(session: Any, can: Capabilities, cell: Cell) -> Session:
    """The session, if it has what the engine's capabilities say."""

    def refuse(what: str) -> EngineError:
        # without the row: what is wrong in all rows of an engine is said once
        return EngineError(f"engine {cell.engine!r}: its session {what}")

    if not isinstance(session, Session):
        raise EngineError(f"engine {cell.engine!r}: prepare returned {described(session)}; expected a gradmark.Session")
    for name in PARTS:
        part = getattr(session, name)
        if part is not None and not callable(part):
            raise refuse(f"has {described(part)} as {name}; expected a function without arguments")
        if needed := _needed(part):
            raise refuse(f"has {name}({', '.join(needed)}); {name} takes no arguments")
    if session.move is not None and (not callable(session.move) or len(_needed(session.move)) > 1):
        raise refuse(f"has {described(session.move)} as move; expected a function that takes the new inputs")
    for name in ("sparsity", "evaluations"):
        if getattr(session, name) is not None and not callable(getattr(session, name)):
            raise refuse(f"has {described(getattr(session, name))} as {name}; expected a function without arguments")
    for name in ("synchronize", "tape"):
        if not callable(getattr(session, name)):
            raise refuse(
                f"has {described(getattr(session, name))} as {name}; expected a function without arguments, or leave "
                "it out"
            )
    for name, part in _phases(session, refuse).items():
        if not callable(part):
            raise refuse(f"has {described(part)} as phase {name!r}; expected a function without arguments")
        if needed := _needed(part):
            raise refuse(f"has phase {name!r} with arguments ({', '.join(needed)}); phases take no arguments")
    if session.clock is not None:
        timed = getattr(session.clock, "phases", None)
        if not isinstance(timed, Mapping) or "total" not in timed or set(timed) - {"primal", "total"}:
            raise refuse(
                f"has {described(session.clock)} as clock; expected a gradmark.engines.protocol.OwnClock with the "
                "phases total and, if it has it, primal"
            )
    if session.backward is not None and session.forward is None:
        raise refuse("has backward without forward; give both, or total alone")
    if not can.gradients:
        if session.primal is None and session.forward is None and session.total is None:
            raise refuse("has nothing to call; an engine without gradients gives primal")
    elif cell.derivative != USUAL_DERIVATIVE:
        if session.total is None or session.result is None:
            lacking = " and ".join(name for name in ("total", "result") if getattr(session, name) is None)
            raise refuse(
                f"has no {lacking} for {with_article(cell.derivative)}; total computes it, result gives it after total"
            )
    elif session.gradients is None:
        raise refuse(
            "has no gradients; give a function that returns them, or say Capabilities(gradients=False, reason='…')"
        )
    elif session.total is None and session.backward is None:
        raise refuse("has neither backward nor total, so nothing computes its gradients; give one of them")
    if session.device_name is not None and session.device_name != cell.device:
        raise refuse(
            f"is on {session.device_name}, but {cell.device} was planned; its capabilities must say where it computes"
        )
    return session


def _phases(session: Session, refuse: Callable[[str], EngineError]) -> Mapping[str, Any]:
    phases: Any = session.phases
    if not isinstance(phases, Mapping):
        raise refuse(f"has {described(phases)} as phases; expected a dict of functions by name")
    if not phases:
        return phases
    from gradmark.records.metric import is_known  # here: every worker would pay for it, and few sessions need it

    for name in phases:
        if not isinstance(name, str) or not name.isidentifier():
            raise refuse(f"has a phase called {name!r}; expected a word, such as 'update'")
        if is_known(name) or name.startswith("harness"):
            raise refuse(f"has a further phase called {name!r}, which is the name of a metric; choose another")
    return phases


def gradients_of(session: Session, workload: Workload, inputs: Sequence[Any], cell: Cell) -> list[Any]:
    """The gradient after an iteration, as many parts as there are differentiated inputs: floats, or arrays."""
    assert session.gradients is not None  # `checked` has seen to it
    return numbers_of(session.gradients(), f"engine {cell.engine!r}: gradients()", workload, inputs)


def numbers_of(returned: Any, where: str, workload: Workload, inputs: Sequence[Any]) -> list[Any]:
    """What an engine gave for each differentiated input, as floats or arrays."""
    expected = "one number for each input" if workload.kind == "scalar" else "one array for each differentiated input"
    try:
        parts = list(returned)
    except TypeError:
        raise EngineError(f"{where} returned {described(returned)}; expected a list, {expected}") from None
    places = workload.active(inputs)
    if len(parts) != len(places):
        names = workload.names(len(inputs))
        raise EngineError(
            f"{where} returned {len(parts)}; expected {len(places)}, {expected} "
            f"({', '.join(names[place] for place in places)})"
        )
    if workload.kind == "tensor":
        import numpy as np

        arrays = [np.asarray(part) for part in parts]
        for part, array in zip(parts, arrays, strict=True):
            if array.dtype.kind not in "fiu":
                raise EngineError(f"{where} holds {described(part)}; expected {expected}, as NumPy's")
        return arrays
    numbers = []
    for place, part in enumerate(parts):
        try:
            if isinstance(part, str | bytes | bytearray):  # float would read them
                raise TypeError
            numbers.append(float(part))
        except (TypeError, ValueError):
            raise EngineError(
                f"{where} returned {described(part)} {ordinal(place)}; expected {expected}, as floats"
            ) from None
    return numbers


def value_of(session: Session, returned: Any, cell: Cell) -> float | None:
    """The value after a call that returned this: that number, or what the session reads; None if it gives neither."""
    own = number(returned)
    if own is not None or session.value is None:
        return own
    value = session.value()
    read = number(value)
    if read is None:
        raise EngineError(f"engine {cell.engine!r}: value() returned {described(value)}; expected one number")
    return read


def number(result: Any) -> float | None:
    """A result as a number, where it is one: Python's, NumPy's, or a tensor of one entry."""
    if result is None or isinstance(result, bool | str | bytes | bytearray):
        return None
    for read in (float, lambda one: float(one.item())):
        with contextlib.suppress(Exception):  # whatever an engine's own numbers raise
            return read(result)
    return None


def ordinal(place: int) -> str:
    """A place, counted from 0, as it is said.

    >>> ordinal(0), ordinal(6)
    ('first', 'as number 7')
    """
    return PLACES[place] if place < len(PLACES) else f"as number {place + 1}"


def _needed(function: Any) -> Sequence[str]:
    """The arguments that a function of Python must be given. Read off its code: a signature would be memory in use."""
    inner = getattr(function, "__func__", function)
    code = getattr(inner, "__code__", None)
    if code is None:
        return ()
    own = int(inner is not function)  # self
    return code.co_varnames[own : code.co_argcount - len(inner.__defaults__ or ())]  # type: ignore[no-any-return]


def described(thing: Any) -> str:
    """What a thing is, for an error: its class."""
    return "nothing" if thing is None else f"{type(thing).__module__}.{type(thing).__name__}".removeprefix("builtins.")
