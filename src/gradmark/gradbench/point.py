"""A function at its inputs, as an engine has it: sessions, runs to be timed, and results in numbers.

In: a workload, inputs and an engine. Out: functions without arguments, and vectors, matrices or numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gradmark.engines.protocol import Capabilities, Derivative, Engine, Session, rebind
from gradmark.errors import UnsupportedError
from gradmark.measure.worker.session import PARTS, number, takes
from gradmark.records import Cell, DerivativeName
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
from gradmark.workloads.workload import Workload, input_names

Run = Callable[[], Any]


@dataclass(frozen=True)
class Asked:
    """The engine that is asked."""

    name: str
    engine: Engine
    can: Capabilities


class Point:
    """A function at its inputs. Inputs are changed in place, where sessions find them."""

    def __init__(self, asked: Asked, workload: Workload, inputs: list[Any], params: Mapping[str, Any]) -> None:
        self.asked, self.workload, self.inputs, self.params = asked, workload, inputs, params

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """That of the function's result; of one number ()."""
        if self.workload.result == "number":
            return ()
        import numpy as np

        from gradmark.measure.worker.asked import plain_result

        cell = Cell(engine="", workload=self.workload.name, suite="", params=dict(self.params))
        return tuple(np.shape(plain_result(self.workload, self.inputs, cell)))

    def session(self, name: DerivativeName = USUAL_DERIVATIVE, tangents: Sequence[Any] = ()) -> Session:
        """A session of the engine for one derivative."""
        engine = self.asked.engine
        options: dict[str, Any] = {"device": self.asked.can.devices[0]} if takes(engine, "device") else {}
        if takes(engine, "derivative"):
            options["derivative"] = Derivative(name=name, tangents=tangents, shape=self.shape)
        elif name != USUAL_DERIVATIVE:
            raise UnsupportedError(f"{self.asked.name} has no {name}")
        return engine.prepare(self.workload, self.inputs, self.params, **options)

    def evaluating(self) -> Session:
        """A session of which only the function is called: of a derivative that the function has."""
        if self.workload.result == "number":
            session = self.session()
        else:
            session = self.session("jvp", [0.0 * self.inputs[place] for place in self.workload.active(self.inputs)])
        if session.primal is None:
            raise UnsupportedError(f"{self.asked.name} does not evaluate without differentiating")
        return session

    def value(self, returned: Any) -> Any:
        """What an engine returned for the function, in numbers: one, or a vector."""
        if self.workload.result == "number":
            return number(returned)
        from gradmark.measure.reference.flat import joined

        return joined(returned if isinstance(returned, list) else [returned])

    def move(self, sessions: Sequence[Session], numbers: Sequence[float]) -> None:
        """Other inputs, of a function of numbers."""
        self.inputs[:] = numbers
        for session in sessions:
            for part in PARTS:
                rebind(getattr(session, part), self.inputs)
            if session.move is not None:
                session.move(self.inputs)


def inputs_of(workload: Workload, params: Mapping[str, Any], values: Mapping[str, Any]) -> list[Any]:
    """The inputs of a workload from those of a message. Tables that follow from the sizes are made as for a run."""
    if workload.arrays is None:
        return [float(x) for value in values.values() for x in (value.ravel() if hasattr(value, "ravel") else value)]
    names = input_names(workload.function)
    if all(name in values for name in names):
        return [values[name] for name in names]
    drawn = workload.draw(0, params)
    return [values.get(name, x) for name, x in zip(names, drawn, strict=True)]


def differentiating(session: Session) -> Run:
    """One derivative, and waiting for it."""
    calls = [session.total] if session.total is not None else [session.forward, session.backward]
    return finished(session, [call for call in calls if call is not None])


def finished(session: Session, calls: Sequence[Run]) -> Run:
    """One run of these calls, and waiting for them; it gives what the first of them returned."""

    def run() -> Any:
        returned = [call() for call in calls]
        session.synchronize()
        return returned[0]

    return run


def reader(session: Session, name: DerivativeName) -> Run:
    """What gives a derivative after a run: a vector, or a matrix."""
    import numpy as np

    read = session.gradients if name == USUAL_DERIVATIVE else session.result
    assert read is not None  # an engine that has the derivative gives it
    if FACTS[name].form != "inputs":
        return lambda: np.asarray(read())
    return lambda: np.concatenate([np.ravel(part) for part in read()])
