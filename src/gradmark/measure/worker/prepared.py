"""Prepared: an engine and its session on one cell, ready to be called.

In: a job. Out: the calls of an iteration and the gradient after it, or `UnsupportedError` with the reason.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from gradmark.engines.discovery import load
from gradmark.engines.protocol import Engine, Session
from gradmark.errors import AbsentError, UnsupportedError
from gradmark.measure.job import Job
from gradmark.records import Cell
from gradmark.workloads.selection import select
from gradmark.workloads.workload import Workload


def workload_of(cell: Cell) -> Workload:
    """The workload that a cell names."""
    (found,) = [w for w in select([cell.file or cell.workload]) if w.name == cell.workload]
    return found


class Prepared:
    """An engine and its session on one cell, with the times of what happens once."""

    def __init__(self, job: Job) -> None:
        cell = job.cell
        self.workload = workload_of(cell)
        self.inputs = self.workload.draw(job.settings.seed, cell.params, cell.dtype)
        start = time.perf_counter_ns()
        self.engine: Engine = load(cell.engine)
        imported = time.perf_counter_ns()
        self.can = self.engine.capabilities()
        if self.can.absent:
            raise AbsentError(self.can.absent)
        kind = self.workload.kind
        if kind not in self.can.kinds:
            raise UnsupportedError(f"{cell.engine} has no {kind}s, and {cell.workload} is a function of {kind}s")
        for what, wanted, offered in (
            ("dtype", cell.dtype, self.can.dtypes),
            ("device", cell.device, self.can.devices),
        ):
            if wanted not in offered:
                raise UnsupportedError(f"{cell.engine} has no {what} {wanted}; it has {', '.join(offered)}")
        self.params = cell.params
        ready = time.perf_counter_ns()
        self.session: Session = self.make()
        prepared = time.perf_counter_ns()
        self.iterate()
        self.once_ns = {
            "import": float(imported - start) if job.import_ns is None else job.import_ns,
            "prepare": float(prepared - ready),
            "first_call": float(time.perf_counter_ns() - prepared),
        }

    def make(self) -> Session:
        """A new session."""
        return self.engine.prepare(self.workload, self.inputs, self.params)

    def calls(self, session: Session) -> tuple[Callable[[], Any], ...]:
        """The calls of one iteration: forward and backward, or whatever the engine has of them."""
        if session.total is not None:
            return (session.total,)
        if session.forward is None:
            assert session.primal is not None
            return (session.primal,)
        return (session.forward,) if session.backward is None else (session.forward, session.backward)

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
        assert self.session.gradients is not None
        found = self.session.gradients()
        return found if self.workload.kind == "tensor" else [float(g) for g in found]
