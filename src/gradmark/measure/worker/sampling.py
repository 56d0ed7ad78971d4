"""One sample: every phase of a cell, timed in this process. A wrong gradient is never timed.

In: a job. Out: a result with a `Sample`, or the status that says why there is none.
"""

import time

from gradmark.measure.job import Job, Result
from gradmark.measure.worker.check import check
from gradmark.measure.worker.device_clock import device_clock
from gradmark.measure.worker.prepared import Prepared
from gradmark.measure.worker.timer import RESOLUTIONS, Timed, clock_resolution_ns, nothing, time_together
from gradmark.measure.worker.watch import Watch
from gradmark.records import Code, Phase, Sample, Warning
from gradmark.records.pilots import CORE, DEVICE, MEMORY

# An engine that returns before its work is done makes the first look at its result slow: by more than this, and by more
# than two whole iterations, is more than a cache can explain.
LATE_NS = 50_000


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
        if session.backward is not None:
            timed["backward"] = Timed((session.backward,), finish, before=session.forward)
    if session.forward is not None or session.total is not None:
        timed["total"] = Timed(prepared.calls(session), finish)
    timed |= {name: Timed((call,), finish, before=prepared.iterate) for name, call in session.phases.items()}
    watch = Watch(kinds_of(prepared), job.pilots, device_clock(prepared.cell.device))
    time_together(list(timed.values()), settings.blocks, max(settings.block_ns, RESOLUTIONS * clock_ns), watch)
    once = dict(prepared.once_ns, warm_up=sum(t.warm_up_ns for t in timed.values()))
    harness, harness_two = (_harness_ns(timed.pop(name), watch) for name in ("harness", "harness_two"))
    phases = {name: phase_of(t, harness_two if len(t.calls) == 2 else harness, watch) for name, t in timed.items()}
    warnings: list[Warning] = []
    if "total" in phases and prepared.can.gradients:
        warnings += late(prepared, phases["total"].time_ns)
        prepared.iterate()
        failed = check(prepared, job)
        if failed is not None:
            return failed
    sample = Sample(
        process=job.process,
        phases=phases,
        once_ns=once,
        harness_ns=harness,
        clock_ns=clock_ns,
        own_total=session.total is not None,
        warnings=warnings,
        watched_ns=watch.spent_ns,
    )
    return Result(sample=sample)


def kinds_of(prepared: Prepared) -> list[str]:
    """Which pilots say something of a cell: numbers fit the caches, arrays may not; a GPU has a clock of its own."""
    if prepared.cell.device != "cpu":
        return [CORE, DEVICE]
    return [CORE, MEMORY] if prepared.workload.kind == "tensor" else [CORE]


def phase_of(timed: Timed, harness_ns: float, watch: Watch) -> Phase:
    """The blocks of a phase less the harness, with their pilots."""
    blocks = [ns - harness_ns for ns in timed.block_ns]
    return Phase(
        iterations=timed.iterations,
        block_ns=blocks,
        harness_ns=harness_ns,
        pilots=timed.pilots,
        reference=watch.reference,
    )


def _harness_ns(timed: Timed, watch: Watch) -> float:
    """What an empty call takes: what is subtracted must not be more than it takes when the machine is calm."""
    return min(phase_of(timed, 0.0, watch).calm_ns)


def late(prepared: Prepared, total_ns: float) -> list[Warning]:
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
        return [Warning(code=Code.UNFINISHED, numbers={"late_ns": float(min(excess))})]
    return []
