"""One sample of a row on a device: every phase with flushed caches, and an iteration back to back, asked and replayed.

In: a prepared row and its timer. Out: a result with a `Sample`, or the status that says why there is none.
"""

from collections.abc import Callable, Sequence
from typing import Any

from gradmark import units
from gradmark.engines.protocol import DeviceTimer
from gradmark.measure.job import Job, Result
from gradmark.measure.worker.check import check, examine, wrong
from gradmark.measure.worker.device.stopwatch import Samples, Stopwatch
from gradmark.measure.worker.prepared import Prepared
from gradmark.measure.worker.timer import STEADY, WARM_UP_BLOCKS, nothing
from gradmark.records import Code, Phase, Sample, Warning
from gradmark.records.pilots import DEVICE, reference_of

# Of each phase single calls for so long, and at most so many: a device repeats itself to 1 %.
PHASE_S, MOST_SAMPLES = 0.05, 64
# Work that goes on after the mark behind the calls: more than waiting for an idle device takes (10 µs), and not little
# beside the calls.
LATE_NS, LATE_SHARE = 50_000.0, 0.5
# How often it is looked whether `synchronize` waits; the least counts. Less than an event takes to be seen.
LOOKS, SEEN_LATE_NS = 3, 10_000.0

Call = Callable[[], Any]


def take_time(prepared: Prepared, job: Job, timer: DeviceTimer) -> Result:
    """One sample: every phase of a cell, in this process."""
    session, settings = prepared.session, job.settings
    iteration = prepared.calls(session)
    begin_ns = timer.host_ns()
    warm_up_ns = _warm_up(iteration, timer)
    watch = Stopwatch(timer, session.queue)
    least = max(1, settings.blocks)
    taken: dict[str, Samples] = {}
    for name, (calls, before) in calls_of(prepared).items():
        taken[name] = watch.cold(calls, before, least, max(least, MOST_SAMPLES), PHASE_S)
    whole = taken["total"] if "total" in taken else taken["primal"]
    hot = watch.hot(iteration, settings.block_ns, least)
    failed = _late(whole) or check(prepared, job)
    if failed is not None:
        return failed
    late_ns = min(watch.waited_late_ns(iteration, session.synchronize) for _ in range(LOOKS))
    replayed = None
    if session.replay is not None and "total" in taken and (replay := _captured(session.replay)) is not None:
        replayed = watch.cold((replay,), nothing, least, max(least, MOST_SAMPLES), PHASE_S)
        timer.synchronize()
        if (judged := result_of_replay(prepared, job)) is not None:
            return judged
    clocks = [{DEVICE: samples.clock_ns} for samples in taken.values()]
    reference = {DEVICE: job.pilots.get(DEVICE, reference_of(clocks)[DEVICE])}

    def phase(samples: Samples, values: Sequence[float]) -> Phase:
        return Phase(
            iterations=samples.iterations, block_ns=list(values), pilots={DEVICE: samples.clock_ns}, reference=reference
        )

    phases = {name: phase(samples, samples.longer_ns) for name, samples in taken.items()}
    phases |= {"cold": phase(whole, whole.device_ns), "hot": phase(hot, hot.device_ns)}
    phases["host"] = phase(whole, whole.host_ns)
    if replayed is not None:
        phases["replayed"] = phase(replayed, replayed.longer_ns)
    blocks = [(phase.calm, len(phase.block_ns)) for phase in phases.values()]
    calm = sum(len(known) for known, _ in blocks) / sum(count for _, count in blocks)
    watched_ns = timer.host_ns() - begin_ns
    sample = Sample(
        process=job.process,
        phases=phases,
        once_ns=prepared.once_ns | {"warm_up": warm_up_ns},
        harness_ns=max(0.0, watch.host_empty_ns),
        clock_ns=0.0,
        own_total=session.total is not None,
        warnings=[Warning(code=Code.NOT_WAITED, numbers={"late_ns": late_ns})] if late_ns > SEEN_LATE_NS else [],
        watched_ns={"calm": calm * watched_ns, "slow": (1.0 - calm) * watched_ns},
        roofs=dict(timer.roofs(prepared.dtype)),
    )
    return Result(sample=sample)


def _captured(replay: Callable[[], Call]) -> Call | None:
    """The call that replays an iteration; None if it cannot be captured: one that waits for the device cannot."""
    try:
        return replay()
    except Exception:  # whatever an engine raises at that
        return None


def result_of_replay(prepared: Prepared, job: Job) -> Result | None:
    """A result if what a replay left is wrong."""
    if job.reference is None or not prepared.differentiates:
        return None
    _, judged, words = examine(prepared, job)
    if judged is not None and judged.relative_error <= judged.tolerance:
        return None
    return Result(status="wrong-gradient", message=f"replayed, {wrong(prepared, words)}", accuracy=judged)


def calls_of(prepared: Prepared) -> dict[str, tuple[tuple[Call, ...], Call]]:
    """The phases of a session: the calls of each, and what must have happened before them."""
    session = prepared.session
    phases: dict[str, tuple[tuple[Call, ...], Call]] = {}
    if session.primal is not None:
        phases["primal"] = (session.primal,), nothing
    if session.forward is not None:
        phases["forward"] = (session.forward,), nothing
        if session.backward is not None:
            phases["backward"] = (session.backward,), session.forward
    if session.forward is not None or session.total is not None:
        phases["total"] = prepared.calls(session), nothing
    return phases | {name: ((call,), prepared.iterate) for name, call in session.phases.items()}


def _warm_up(calls: Sequence[Call], timer: DeviceTimer) -> float:
    """Iterations until two in a row take the same time: kernels are chosen and compiled, memory is taken."""
    begin_ns, taken_ns = timer.host_ns(), 0.0
    for _ in range(WARM_UP_BLOCKS):
        start_ns = timer.host_ns()
        for call in calls:
            call()
        timer.synchronize()
        before_ns, taken_ns = taken_ns, timer.host_ns() - start_ns
        if abs(taken_ns - before_ns) <= STEADY * before_ns:
            break
    return timer.host_ns() - begin_ns


def _late(whole: Samples) -> Result | None:
    """A result if the device goes on after the mark behind the calls: what was timed is not the work."""
    least_ns = min(whole.device_ns)
    if whole.late_ns <= LATE_NS or whole.late_ns <= LATE_SHARE * least_ns:
        return None
    return Result(
        status="untimed-work",
        message=f"the device works for {units.time(whole.late_ns)} beyond the {units.time(least_ns)} that its clock "
        "says: the work is queued where the mark behind it does not wait for it; give the session a `queue`",
    )
