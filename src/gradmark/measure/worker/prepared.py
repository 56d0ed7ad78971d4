"""Prepared: an engine and its session on one cell, ready to be called.

In: a job. Out: the calls of an iteration and the gradient after it, or `UnsupportedError` with the reason.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from gradmark.engines.discovery import load
from gradmark.engines.protocol import Engine, Session, no_operation
from gradmark.errors import AbsentError, UnsupportedError, WorkloadError
from gradmark.measure.job import Job
from gradmark.measure.worker.session import capabilities_of, checked, gradients_of, takes_device
from gradmark.records import Cell
from gradmark.workloads.lookup import from_file, named
from gradmark.workloads.vocabulary import SCALAR_FUNCTIONS, TENSOR_FUNCTIONS
from gradmark.workloads.workload import Workload, parameters

VOCABULARY = {*SCALAR_FUNCTIONS, *TENSOR_FUNCTIONS}


def workload_of(cell: Cell) -> Workload:
    """The workload that a cell names: of its file, or of those that come with gradmark and installed packages."""
    if cell.file:
        from pathlib import Path  # here: few workers need it, and all would pay for it

        matching = [workload for workload in from_file(Path(cell.file)) if workload.name == cell.workload]
    else:
        matching = named(cell.workload)
    if len(matching) != 1:
        raise WorkloadError(
            f"{cell.file or 'gradmark with what is installed'} has {len(matching)} workloads called {cell.workload!r}; "
            "expected one"
        )
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
        self.workload = workload_of(job.cell)
        self.cell = cell = msgspec.structs.replace(job.cell, kind=self.workload.kind)
        self.inputs = self.workload.draw(job.settings.seed, cell.params, cell.dtype)
        self.active = self.workload.active(self.inputs)
        start = time.perf_counter_ns()
        self.engine: Engine = load(cell.engine)
        imported = time.perf_counter_ns()
        self.can = capabilities_of(cell.engine, self.engine)
        lacking = self.can.lacking(cell)
        if lacking:
            raise (AbsentError if self.can.absent else UnsupportedError)(lacking)
        self.params = cell.params
        # an engine that computes in one place need not be told where
        self.told = {"device": cell.device} if takes_device(self.engine) else {}
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

    def make(self) -> Session:
        """A new session."""
        return self.engine.prepare(self.workload, self.inputs, self.params, **self.told)

    def calls(self, session: Session) -> tuple[Callable[[], Any], ...]:
        """The calls of one iteration: forward and backward, or whatever the engine has of them."""
        if session.total is not None:
            return (session.total,)
        both = tuple(call for call in (session.forward, session.backward) if call is not None)
        return both or tuple(call for call in (session.primal,) if call is not None)

    def recording(self, session: Session) -> tuple[Callable[[], Any], ...]:
        """The call that leaves a recording behind."""
        return self.calls(session)[:1] if session.forward is None else (session.forward,)

    def iterate(self) -> None:
        """One iteration, finished."""
        for call in self.calls(self.session):
            call()
        self.session.synchronize()

    def iteration_ns(self) -> float:
        """Roughly the time of one iteration."""
        start = time.perf_counter_ns()
        for _ in range(3):
            self.iterate()
        return (time.perf_counter_ns() - start) / 3

    def gradient(self) -> Sequence[Any]:
        """The gradient after an iteration: numbers, or arrays."""
        return gradients_of(self.session, self.workload, self.inputs, self.cell)
