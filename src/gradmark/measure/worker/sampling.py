"""One sample: every phase of a cell, timed in this process. What is wrong, or works elsewhere, is never timed.

In: a job. Out: a result with a `Sample`, or the status that says why there is none.
"""

from gradmark.measure.job import Job, Result
from gradmark.measure.worker import outside
from gradmark.measure.worker.check import check, follow
from gradmark.measure.worker.device_clock import device_clock
from gradmark.measure.worker.pilot import CACHE_BYTES
from gradmark.measure.worker.prepared import Prepared
from gradmark.measure.worker.timer import (
    RESOLUTIONS,
    SelfTimed,
    Steps,
    Timed,
    clock_resolution_ns,
    nothing,
    time_together,
)
from gradmark.measure.worker.watch import Watch
from gradmark.records import Phase, Sample, Warning
from gradmark.records.cell import USUAL_DEVICE
from gradmark.records.pilots import CORE, DEVICE, LEAST_CALM, MEMORY

# Empty calls, by how many are in a loop. The processes of a cell share the least of all: a few blocks are enough.
HARNESSES = {1: "harness", 2: "harness_two"}
# An iteration has about so many times its inputs in use: results, gradients and what is kept between them.
IN_FLIGHT = 4
# After the clock has run, one process in so many looks for work outside the timed calls, the first among them. It takes
# a quarter to a half as long as timing. No engine can tell which process does: it is looked at when all is timed.
LOOKS_OUTSIDE = 4


def take_time(job: Job) -> Steps[Result]:
    """One sample: every phase of a cell, in this process."""
    prepared = Prepared(job)
    if prepared.cell.device != USUAL_DEVICE and (sampled := on_device(prepared, job)) is not None:
        return sampled
    session, settings = prepared.session, job.settings
    failed = check(prepared, job)
    if failed is not None:
        return failed
    clock_ns = clock_resolution_ns()
    timed = {name: Timed((nothing,) * count, most=LEAST_CALM) for count, name in HARNESSES.items()} | phases_of(
        prepared
    )
    if job.alone in timed:
        timed = {name: t for name, t in timed.items() if name in (*HARNESSES.values(), job.alone)}
    watch = Watch(kinds_of(prepared), job.pilots, device_clock(prepared.cell.device))
    least_ns = max(settings.block_ns, RESOLUTIONS * clock_ns)
    yield from time_together(list(timed.values()), settings.blocks, least_ns, watch, 1e9 * job.patience_s)
    once = prepared.once_ns | ({} if job.alone else {"warm_up": sum(t.warm_up_ns for t in timed.values())})
    harness, harness_two = (_harness_ns(timed.pop(name), watch) for name in HARNESSES.values())
    phases = {name: phase_of(t, harness_two if len(t.calls) == 2 else harness, watch) for name, t in timed.items()}
    warnings: list[Warning] = []
    shown = phases.get("total") or phases.get("primal")
    if shown is not None and job.process % LOOKS_OUTSIDE == 0 and session.clock is None:
        as_timed = outside.Timed(shown.iterations, shown.time_ns)
        paid = outside.paid_outside(prepared, shown.time_ns, as_timed, job.usual)
        warnings += paid.warnings
        failed = paid.failed
    failed = failed or check(prepared, job) or follow(prepared, job.expected)
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


def on_device(prepared: Prepared, job: Job) -> Result | None:
    """The sample of a row on a device, by the device's clock; None if nobody knows that clock."""
    from gradmark.measure.worker.device import sampling, timers

    timer = timers.timer_of(prepared)
    return sampling.take_time(prepared, job, timer) if timer is not None else None


def phases_of(prepared: Prepared) -> dict[str, Timed]:
    """What is timed of a session, or asked of one with a clock of its own."""
    session, finish = prepared.session, prepared.session.synchronize
    if session.clock is not None:
        return {name: SelfTimed(mean_ns, session.clock.most_runs) for name, mean_ns in session.clock.phases.items()}
    timed = {}
    if session.primal is not None:
        timed["primal"] = Timed((session.primal,), finish)
    if session.forward is not None:
        timed["forward"] = Timed((session.forward,), finish)
        if session.backward is not None:
            timed["backward"] = Timed((session.backward,), finish, before=session.forward)
    if session.forward is not None or session.total is not None:
        timed["total"] = Timed(prepared.calls(session), finish)
    return timed | {name: Timed((call,), finish, before=prepared.iterate) for name, call in session.phases.items()}


def kinds_of(prepared: Prepared) -> list[str]:
    """Which pilots say something of a cell: numbers fit the caches, large arrays do not; a GPU has its own clock."""
    if prepared.cell.device != USUAL_DEVICE:
        return [CORE, DEVICE]
    used = IN_FLIGHT * sum(getattr(x, "nbytes", 0) for x in prepared.inputs)
    return [CORE, MEMORY] if used > CACHE_BYTES else [CORE]


def phase_of(timed: Timed, harness_ns: float, watch: Watch) -> Phase:
    """The blocks of a phase less the harness, with their pilots. What an engine timed itself has no harness of ours."""
    if isinstance(timed, SelfTimed):
        harness_ns = 0.0
    blocks = [ns - harness_ns for ns in timed.block_ns]
    return Phase(
        iterations=timed.iterations,
        block_ns=blocks,
        harness_ns=harness_ns,
        pilots=timed.pilots,
        reference=watch.reference,
        how="self-timed" if isinstance(timed, SelfTimed) else "measured",
    )


def _harness_ns(timed: Timed, watch: Watch) -> float:
    """What an empty call takes: what is subtracted must not be more than it takes when the machine is calm."""
    return min(phase_of(timed, 0.0, watch).calm_ns)
