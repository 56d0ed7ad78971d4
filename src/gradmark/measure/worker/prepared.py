"""Prepared: an engine and its session on one cell, ready to be called.

In: a job. Out: the calls of an iteration and the derivative after it, or `UnsupportedError` with the reason.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from gradmark.engines.discovery import load, path_of
from gradmark.engines.protocol import Derivative, Engine, Session, no_operation, rebind
from gradmark.errors import AbsentError, NoSuchWorkloadError, UnsupportedError, WorkloadError
from gradmark.measure.job import Job
from gradmark.measure.worker.session import (
    PARTS,
    capabilities_of,
    checked,
    gradients_of,
    number,
    takes,
    takes_device,
    value_of,
)
from gradmark.records import Cell
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE, why_not
from gradmark.workloads.lookup import from_file, named
from gradmark.workloads.vocabulary import LOOPS, NESTED, SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload, parameters

VOCABULARY = {*SCALAR_FUNCTIONS, *TENSOR_FUNCTIONS, *LOOPS, *NESTED}


def workload_of(cell: Cell) -> Workload:
    """The workload that a cell names: of its file, or of those that come with gradmark and installed packages."""
    if not cell.file:
        where, matching = "gradmark with what is installed", named(cell.workload)
    else:
        from pathlib import Path  # here: few workers need it, and all would pay for it

        where, path = os.path.relpath(cell.file), Path(cell.file)
        if not path.is_file():
            raise NoSuchWorkloadError(f"there is no file {where}")
        matching = [workload for workload in from_file(path) if workload.name == cell.workload]
        if not matching:
            raise NoSuchWorkloadError(f"{where} has no workload called {cell.workload!r}")
    if len(matching) != 1:
        raise WorkloadError(f"{where} has {len(matching)} workloads called {cell.workload!r}; expected one")
    return matching[0]


@contextlib.contextmanager
def lacking_operations(workload: Workload, engine: str) -> Iterator[None]:
    """An operation that a plain module or object lacks as `ops` is one that the engine lacks, not an error.

    What `ops` is, only the function knows: it is the value of its first parameter, in a frame of the traceback.
    """
    try:
        yield
    except Exception as error:
        first = next(iter(parameters(workload.function)), None)
        cause: BaseException | None = error
        while cause is not None:  # compilers wrap what a function raised
            if isinstance(cause, AttributeError) and cause.name in VOCABULARY and _is_local(first, cause):
                raise no_operation(engine, cause.name) from error
            cause = cause.__cause__
        raise


def _is_local(name: str | None, error: AttributeError) -> bool:
    """Whether the object that lacks an attribute is what a variable of that name held on the way."""
    step = error.__traceback__
    while step is not None:
        if name in step.tb_frame.f_locals and step.tb_frame.f_locals[name] is error.obj:
            return True
        step = step.tb_next
    return False


class Prepared:
    """An engine and its session on one cell, with the times of what happens once."""

    def __init__(self, job: Job) -> None:
        # the engine first: a workload may import it, or what it needs, and then nobody would know what that takes
        path = path_of(job.cell.engine)
        start = time.perf_counter_ns()
        self.engine: Engine = load(job.cell.engine, path)
        imported = time.perf_counter_ns()
        self.workload = workload_of(job.cell)
        self.cell = cell = msgspec.structs.replace(job.cell, kind=self.workload.kind)
        self.inputs = self.workload.draw(job.settings.seed, cell.params, cell.dtype)
        self.inputs = self.copy_of_inputs()  # others will be written into them: what was drawn may be a view
        self.active = self.workload.active(self.inputs)
        self.can = capabilities_of(cell.engine, self.engine)
        lacking = self.can.lacking(cell)
        lacking = lacking or why_not(cell.workload, self.workload.result, cell.derivative)
        if lacking:
            raise (AbsentError if self.can.absent else UnsupportedError)(lacking)
        self.params = cell.params
        self.derivative = self.asked(job)
        # an engine that computes in one place, or one derivative, need not be told which
        self.told: dict[str, Any] = {"device": cell.device} if takes_device(self.engine) else {}
        if takes(self.engine, "derivative") and not (cell.derivative == USUAL_DERIVATIVE and self.has_usual()):
            self.told["derivative"] = self.derivative
        ready = time.perf_counter_ns()
        with lacking_operations(self.workload, cell.engine):
            self.session: Session = self.make()
            prepared = time.perf_counter_ns()
            checked(self.session, self.can, cell)
            called = time.perf_counter_ns()
            self.iterate()
        self.once_ns = {
            "import": float(imported - start) if job.import_ns is None else job.import_ns,
            "prepare": float(prepared - ready),
            "first_call": float(time.perf_counter_ns() - called),
        }
        if self.session.clock is not None and (first_ns := self.session.clock.first_ns()) is not None:
            self.once_ns["first_call"] = first_ns

    def asked(self, job: Job) -> Derivative:
        """What the session is asked for. Of gradients there is nothing to draw, and less to import."""
        if self.cell.derivative == USUAL_DERIVATIVE and self.workload.result == "number":
            return Derivative()
        from gradmark.measure.worker.asked import derivative_of

        return derivative_of(self.workload, self.inputs, self.cell, job.settings)

    def make(
        self, engine: Engine | None = None, workload: Workload | None = None, derivative: Derivative | None = None
    ) -> Session:
        """A new session; of another engine or workload, on the same inputs."""
        options = self.told
        if (
            derivative is not None and "derivative" in options
        ):  # else no dict is made: this is counted as the engine's memory
            options = options | {"derivative": derivative}
        return (engine or self.engine).prepare(workload or self.workload, self.inputs, self.params, **options)

    def has_usual(self) -> bool:
        """Whether `prepare` has a default for the derivative, so that a gradient need not be asked for."""
        known = parameters(self.engine.prepare).get("derivative")
        return known is not None and known.default is not known.empty

    def copy_of_inputs(self) -> list[Any]:
        """The inputs as they are now, laid out in memory alike."""
        return [x if isinstance(x, float) else x.copy(order="K") for x in self.inputs]

    def write(self, inputs: Sequence[Any], session: Session | None = None) -> None:
        """Writes other numbers into the inputs, where calls that read them in each call find them."""
        for place in self.active:
            if isinstance(inputs[place], float):
                self.inputs[place] = inputs[place]
            else:
                self.inputs[place][...] = inputs[place]
        for part in PARTS:
            rebind(getattr(session or self.session, part), self.inputs)

    def move(self, inputs: Sequence[Any]) -> None:
        """Other inputs, for whatever is called next."""
        self.write(inputs)
        if self.session.move is not None:
            self.session.move(self.inputs)

    def calls(self, session: Session) -> tuple[Callable[[], Any], ...]:
        """The calls of one iteration: forward and backward, or whatever the engine has of them."""
        if session.total is not None:
            return (session.total,)
        both = tuple(call for call in (session.forward, session.backward) if call is not None)
        return both or tuple(call for call in (session.primal,) if call is not None)

    def recording(self, session: Session) -> tuple[Callable[[], Any], ...]:
        """The call that leaves a recording behind."""
        return self.calls(session)[:1] if session.forward is None else (session.forward,)

    def iterate(self, calls: Sequence[Callable[[], Any]] | None = None) -> Any:
        """One iteration, finished, or other calls; what the first of them returned."""
        returned = [call() for call in (self.calls(self.session) if calls is None else calls)]
        self.session.synchronize()
        return returned[0] if returned else None

    def iteration_ns(self) -> float:
        """Roughly the time of one iteration."""
        start = time.perf_counter_ns()
        for _ in range(3):
            self.iterate()
        return (time.perf_counter_ns() - start) / 3

    @property
    def differentiates(self) -> bool:
        """Whether there is a derivative to look at."""
        return self.can.gradients

    @property
    def dtype(self) -> str:
        """That of the numbers."""
        return self.cell.dtype if self.workload.kind == "tensor" else "float64"

    @property
    def mode(self) -> str:
        """How the derivative is computed: what the session says, else what the engine does."""
        return self.session.mode or self.can.derivatives.get(self.cell.derivative, "")

    @property
    def tolerance(self) -> float:
        """The relative error above which the derivative is wrong."""
        return self.can.tolerance_of(self.cell.derivative)

    def result(self) -> list[Any]:
        """The derivative after an iteration, in parts: numbers, arrays or one matrix."""
        if self.cell.derivative == USUAL_DERIVATIVE:
            return gradients_of(self.session, self.workload, self.inputs, self.cell)
        from gradmark.measure.worker.asked import result_of

        return result_of(self.session, self.workload, self.inputs, self.derivative, self.cell)

    def parts(self) -> list[str]:
        """What each part of the result is, in words."""
        if FACTS[self.cell.derivative].form != "inputs":
            return [""]
        names = self.workload.names(len(self.inputs))
        return [f"with respect to {names[place]} " for place in self.active]

    def value(self, returned: Any) -> float | None:
        """The value after a call that evaluates and returned this; None if the session does not give it.

        What computes another derivative may return that: there only `value` says what the function is. Several numbers
        count as one, of them all.
        """
        if self.cell.derivative == USUAL_DERIVATIVE:
            return value_of(self.session, returned, self.cell)
        return self.number(self.session.value()) if self.session.value is not None else None

    def number(self, returned: Any) -> float | None:
        """A result of the function as one number; None if it is none."""
        if self.workload.result == "number" or returned is None:
            return number(returned)
        from gradmark.measure.reference.flat import weighted

        try:
            return weighted(returned)
        except (TypeError, ValueError):
            return None
