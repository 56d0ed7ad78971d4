"""The worker: one process, one engine, one cell. Reads a job from standard input, writes a result to standard output.

Correctness comes first: a wrong gradient is never timed. Whatever the engine or the workload prints goes to standard
error, so that it cannot be taken for the result.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from gradmark.engines.discovery import load
from gradmark.engines.finite_difference import FiniteDifference
from gradmark.engines.protocol import Engine, Session
from gradmark.engines.python_floats import FLOATS
from gradmark.errors import GradmarkError, UnsupportedError
from gradmark.measure import accuracy, memory
from gradmark.measure.job import Job, Result
from gradmark.measure.timer import Timed, clock_resolution_ns, elapsed_ns, nothing, time_together
from gradmark.records import Cell, Memory, Phase, Sample
from gradmark.workloads.selection import select, where_it_failed
from gradmark.workloads.workload import Workload

# An engine that returns before its work is done makes the first look at its result slow: by more than this, and by more
# than two whole iterations, is more than a cache can explain.
LATE_NS = 50_000
# Forward and backward alone may be faster than in turns, by what the caches hold; not by more than half.
UNEXPLAINED = 1.5


def workload_of(cell: Cell) -> Workload:
    """The workload that a cell names."""
    (found,) = [w for w in select([cell.file or cell.workload]) if w.name == cell.workload]
    return found


class Prepared:
    """An engine and its session on one cell, with the times of what happens once."""

    def __init__(self, job: Job) -> None:
        cell = job.cell
        self.workload = workload_of(cell)
        self.inputs = self.workload.draw(job.settings.seed, cell.params)
        start = time.perf_counter_ns()
        self.engine: Engine = load(cell.engine)
        imported = time.perf_counter_ns()
        self.can = self.engine.capabilities()
        if "scalar" not in self.can.kinds:
            raise UnsupportedError(f"{cell.engine} has no scalars")
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
            "import": float(imported - start),
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

    def gradient(self) -> Sequence[float]:
        """The gradient after an iteration."""
        assert self.session.gradients is not None
        return [float(g) for g in self.session.gradients()]


def inspect(job: Job) -> Result:
    """Accuracy, tape size and memory of a cell."""
    prepared = Prepared(job)
    found = Result(operations=prepared.workload.count(job.cell.params), iteration_ns=prepared.iteration_ns())
    if not prepared.can.gradients:
        return msgspec.structs.replace(found, memory=Memory(reason=prepared.can.reason))
    found = msgspec.structs.replace(found, tape=prepared.session.tape())
    try:
        exact, name, is_exact = accuracy.reference_of(prepared.workload, prepared.inputs, job.cell.params)
    except accuracy.NoReferenceError as reason:
        warning = f"the gradient of {job.cell.row} was not checked: {reason}; choose other inputs to have it checked"
        found = msgspec.structs.replace(found, warnings=[warning])
    else:
        judged = accuracy.judge(prepared.gradient(), exact, name, prepared.can.tolerance, is_exact=is_exact)
        found = msgspec.structs.replace(found, reference=exact, accuracy=judged)
        if judged.relative_error > judged.tolerance:
            return msgspec.structs.replace(found, status="wrong-gradient", message=wrong(judged.relative_error, job))
    if not job.settings.memory:
        return msgspec.structs.replace(found, memory=Memory(reason="switched off with --no-memory"))
    measured = memory.measure(lambda: prepared.calls(prepared.make()), plain(prepared), found.iteration_ns or 0.0)
    return msgspec.structs.replace(found, memory=measured)


def plain(prepared: Prepared) -> tuple[Callable[[], Any], ...]:
    """An iteration of the same shape on plain floats: what a Python loop itself allocates is not the engine's.

    A compiled engine does not run that loop, so nothing is taken off for it.
    """
    if prepared.can.compiled:
        return (nothing,)
    f = partial(prepared.workload.function, FLOATS, **prepared.params)
    values = list(prepared.inputs)

    def one() -> None:
        f(values[0])

    def many() -> None:
        xs = [float(v) for v in values]
        f(*xs)

    return (one if len(values) == 1 else many, nothing)


def wrong(error: float, job: Job) -> str:
    """A wrong gradient in words."""
    return f"the gradient is off by {error:.1e} relative; {job.cell.engine} is not timed on {job.cell.row}"


def take_time(job: Job) -> Result:
    """One sample: every phase of a cell, in this process."""
    prepared = Prepared(job)
    session, settings = prepared.session, job.settings
    failed = check(prepared, job)
    if failed is not None:
        return failed
    clock_ns = clock_resolution_ns()
    finish = session.synchronize
    timed = {"harness": Timed((nothing,)), "harness_two": Timed((nothing, nothing))}
    if session.primal is not None:
        timed["primal"] = Timed((session.primal,), finish)
    if session.forward is not None:
        timed["forward"] = Timed((session.forward,), finish)
        timed["total"] = Timed(prepared.calls(session), finish)
        if session.backward is not None:
            timed["backward"] = Timed((session.backward,), finish, before=session.forward)
    time_together(list(timed.values()), settings.blocks, max(settings.block_ns, 1000 * clock_ns))
    once = dict(prepared.once_ns, warm_up=sum(t.warm_up_ns for t in timed.values()))
    harness, harness_two = (min(timed.pop(name).block_ns) for name in ("harness", "harness_two"))
    phases = {
        name: Phase(
            how="measured",
            iterations=t.iterations,
            block_ns=[ns - (harness_two if len(t.calls) == 2 else harness) for ns in t.block_ns],
        )
        for name, t in timed.items()
    }
    warnings = split(phases)
    if "total" in phases and session.gradients is not None and prepared.can.gradients:
        warnings += late(prepared, phases["total"].floor_ns)
        prepared.iterate()
        failed = check(prepared, job)
        if failed is not None:
            return failed
    sample = Sample(
        process=job.process, phases=phases, once_ns=once, harness_ns=harness, clock_ns=clock_ns, warnings=warnings
    )
    return Result(sample=sample)


def split(phases: dict[str, Phase]) -> list[str]:
    """Adds backward as total minus forward where it was not timed alone, or where that cannot be the whole of it."""
    if "total" not in phases:
        return []
    total, forward = phases["total"], phases["forward"].floor_ns
    warnings = []
    if "backward" in phases:
        parts = forward + phases["backward"].floor_ns
        if total.floor_ns <= UNEXPLAINED * parts + LATE_NS / 100:
            return []
        warnings.append(
            f"forward and backward apart take {parts / 1e3:.3g} µs, together {total.floor_ns / 1e3:.3g} µs: backward "
            "is not repeatable on one recording, so it is shown as total minus forward; let the session leave backward "
            "out and give total instead"
        )
        del phases["backward"]
    if total.floor_ns > forward:
        phases["backward"] = Phase(
            how="derived", iterations=total.iterations, block_ns=[ns - forward for ns in total.block_ns]
        )
    else:
        warnings.append("the whole takes no longer than forward alone, so nothing can be said of backward")
    return warnings


def check(prepared: Prepared, job: Job) -> Result | None:
    """A result if the gradient of the last iteration is wrong: asked before anything is timed, and once more after."""
    if job.reference is None:
        return None
    tolerance = max(prepared.can.tolerance, FiniteDifference().capabilities().tolerance)
    judged = accuracy.judge(prepared.gradient(), job.reference, "", tolerance)
    if judged.relative_error <= tolerance:
        return None
    return Result(status="wrong-gradient", message=wrong(judged.relative_error, job))


def late(prepared: Prepared, total_ns: float) -> list[str]:
    """Does reading the result take longer the first time than the second? Then work was left undone when timed."""
    excess = []
    for _ in range(3):
        prepared.iterate()
        times = [time.perf_counter_ns()]
        for _ in range(2):
            prepared.gradient()
            times.append(time.perf_counter_ns())
        excess.append((times[1] - times[0]) - (times[2] - times[1]))
    if min(excess) > LATE_NS + 2 * total_ns:
        return [
            f"reading the gradient took {min(excess) / 1e3:.0f} µs the first time: work was not finished when the "
            "clock was read, so the times are too small; give the engine's session a synchronize that waits"
        ]
    return []


def repeat(job: Job) -> Result:
    """So many iterations and nothing else, for callgrind."""
    prepared = Prepared(job)
    elapsed_ns(prepared.calls(prepared.session), 10 + job.iterations, prepared.session.synchronize)
    return Result()


def limit(job: Job) -> None:
    """Fixes the CPU, the memory and the life of this process, where the platform can."""
    if job.settings.pin and hasattr(os, "sched_setaffinity"):
        # the last cores: the first one has the system's own work
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-job.settings.threads :])
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: a worker does not outlive the one who started it
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (job.settings.memory_limit_bytes,) * 2)
    except (ImportError, ValueError, OSError):
        pass  # not on this platform: then only the time is limited


def run(job: Job) -> Result:
    """Does a job; everything that goes wrong is a result."""
    work = {"inspect": inspect, "time": take_time, "repeat": repeat}[job.kind]
    try:
        return work(job)
    except UnsupportedError as error:
        return Result(status="unsupported", message=str(error))
    except MemoryError as error:
        limit_gib = job.settings.memory_limit_bytes / 2**30
        return Result(status="out-of-memory", message=f"more than the limit of {limit_gib:.1f} GiB: {error}")
    except GradmarkError as error:
        return Result(status="error", message=str(error))
    except Exception as error:
        return Result(status="error", message=where_it_failed(error))


def main() -> None:
    """One job in, one result out."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    limit(job)
    result = run(job)
    answers.write(msgspec.json.encode(result))
    answers.close()
    sys.stdout.flush()
    os._exit(0)  # an engine's threads or exit handlers must not turn a result into a hang


if __name__ == "__main__":
    main()
