"""Lying engines: tapegrad, with its work where the clock does not see it. What `gradmark audit` plants beside faults.

Each gives the right gradient whenever it is asked in the usual way; workers load them by name.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from gradmark.engines.protocol import Session
from gradmark.engines.tapegrad import Tapegrad, TapegradProgram
from gradmark.records import Param
from gradmark.workloads.scalar import poly
from gradmark.workloads.workload import Workload

# Calls with the same inputs before an engine that waits for the clock begins to lie: an inspection makes fewer.
PATIENCE = 100


class Computed(NamedTuple):
    """A value and its gradient."""

    value: float
    gradient: Sequence[float]


NOTHING = Computed(0.0, ())
Compute = Callable[[Sequence[float]], Computed]


def computing(
    workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param], engine: Tapegrad | TapegradProgram
) -> Compute:
    """The work itself, for any inputs."""
    point = list(inputs)
    session = engine.prepare(workload, point, params)

    def compute(new: Sequence[float]) -> Computed:
        point[:] = new
        if session.move is not None:
            session.move(point)
        calls = (session.forward, session.backward) if session.total is None else (session.total,)
        for call in calls:
            assert call is not None
            call()
        assert session.value is not None
        assert session.gradients is not None
        return Computed(float(session.value()), list(session.gradients()))

    return compute


class Liar(Tapegrad):
    """Does its work as `tapegrad` does, in some call that is not timed."""

    inner: type[Tapegrad | TapegradProgram] = Tapegrad

    def prepare(  # type: ignore[override]  # of gradients only, see `worker/session.py`
        self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]
    ) -> Session:
        """One call that is timed, and what is read after it."""
        compute = computing(workload, inputs, params, self.inner())
        plain = super().prepare(workload, inputs, params)
        return dataclasses.replace(
            self.session(compute, inputs), primal=plain.primal, forward=None, backward=None, tape=plain.tape
        )

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """How the work is hidden."""
        raise NotImplementedError


class WrongValue(Tapegrad):
    """The value is none."""

    name = "wrong-value"

    def prepare(  # type: ignore[override]  # of gradients only, see `worker/session.py`
        self, workload: Workload, inputs: Sequence[Any], params: Mapping[str, Param]
    ) -> Session:
        """All else is as it should be."""
        return dataclasses.replace(super().prepare(workload, inputs, params), value=lambda: 12345.0)


class NeverComputing(Liar):
    """Returns a number, and computes a gradient for whoever looks."""

    name = "never-computing"

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """As seen in the wild."""
        return Session(total=lambda: 12345.0, gradients=lambda: compute(inputs).gradient)


class WhenRead(Liar):
    """Computes value and gradient whenever they are read."""

    name = "when-read"

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """Nothing is timed."""
        return Session(
            total=lambda: None, gradients=lambda: compute(inputs).gradient, value=lambda: compute(inputs).value
        )


class Lazy(Liar):
    """Keeps the inputs of a call, and computes when the result is first read: compiled, so without the function."""

    name = "lazy"
    inner = TapegradProgram

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """As a library with lazy arrays does that nobody asks to finish."""
        waiting: list[float] = []
        result = NOTHING

        def total() -> None:
            waiting[:] = inputs

        def read() -> Computed:
            nonlocal result
            if waiting:
                result = compute(waiting)
                waiting.clear()
            return result

        return Session(total=total, gradients=lambda: read().gradient, value=lambda: read().value)


class Kept(Liar):
    """The result of the last call, if the inputs are the same."""

    name = "kept"

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """A cache of one."""
        last: list[float] = []
        result = NOTHING

        def total() -> float:
            nonlocal result
            if last != inputs:
                last[:] = inputs
                result = compute(inputs)
            return result.value

        return Session(total=total, gradients=lambda: result.gradient)


class Remembered(Liar):
    """The results of all calls, by their inputs; compiled, so without the function."""

    name = "remembered"
    inner = TapegradProgram

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """A cache of all."""
        results: dict[tuple[float, ...], Computed] = {}
        result = NOTHING

        def total() -> float:
            nonlocal result
            key = tuple(inputs)
            if key not in results:
                results[key] = compute(inputs)
            result = results[key]
            return result.value

        return Session(total=total, gradients=lambda: result.gradient)


class KeptLater(Liar):
    """As `Kept`, but only after so many calls that it must be the clock that looks."""

    name = "kept-later"

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """Honest until it pays."""
        last: list[float] = []
        result, calls = NOTHING, 0

        def total() -> float:
            nonlocal result, calls
            calls = calls + 1 if last == inputs else 0
            if calls < PATIENCE:
                last[:] = inputs
                result = compute(inputs)
            return result.value

        return Session(total=total, gradients=lambda: result.gradient)


class FirstInputs(Liar):
    """Computes in the first call, and never again."""

    name = "first-inputs"

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """As one that traces values instead of operations."""
        result = NOTHING

        def total() -> float:
            nonlocal result
            if result is NOTHING:
                result = compute(inputs)
            return result.value

        return Session(total=total, gradients=lambda: result.gradient)


class InPrepare(Liar):
    """Computes when it is prepared."""

    name = "in-prepare"

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """What is timed hands it out."""
        result = compute(inputs)
        return Session(total=lambda: result.value, gradients=lambda: result.gradient)


class AtImport(Liar):
    """Has the result of a workload that comes with gradmark before anybody asks."""

    name = "at-import"

    def __init__(self) -> None:
        inputs = poly.draw(0, POLY)
        self.result = computing(poly, inputs, POLY, Tapegrad())(inputs)

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:  # noqa: ARG002
        """What is timed hands it out."""
        return Session(total=lambda: self.result.value, gradients=lambda: self.result.gradient)


class InMove(Liar):
    """Computes when it takes new inputs."""

    name = "in-move"

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """What is timed hands it out."""
        result = compute(inputs)

        def move(new: Sequence[float]) -> None:
            nonlocal result
            result = compute(new)

        return Session(total=lambda: result.value, gradients=lambda: result.gradient, move=move)


class InSynchronize(Liar):
    """Computes once for any number of calls, when it is waited for."""

    name = "in-synchronize"

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """A queue that drops what is out of date."""
        waiting: list[float] = []
        result = NOTHING

        def total() -> None:
            waiting[:] = inputs

        def synchronize() -> None:
            nonlocal result
            if waiting:
                result = compute(waiting)
                waiting.clear()

        return Session(
            total=total, gradients=lambda: result.gradient, value=lambda: result.value, synchronize=synchronize
        )


class InThread(Liar):
    """Returns at once; a thread does the work, and whoever reads the result waits for it."""

    name = "in-thread"

    def session(self, compute: Compute, inputs: Sequence[float]) -> Session:
        """As a device without a barrier does."""
        queue = ThreadPoolExecutor(1)
        result: Future[Computed] = Future()

        def total() -> None:
            nonlocal result
            result = queue.submit(partial(compute, list(inputs)))

        return Session(total=total, gradients=lambda: result.result().gradient, value=lambda: result.result().value)


POLY: dict[str, Param] = {"n": 1000}
