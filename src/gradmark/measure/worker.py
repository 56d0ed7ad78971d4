"""The worker: one process, one engine, one cell. Reads a job from standard input, writes a result to standard output.

Correctness comes first: a wrong gradient is never timed. Whatever the engine or the workload prints goes to standard
error, so that it cannot be taken for the result.
"""

import os
import sys
import time

import msgspec

from gradmark.errors import AbsentError, GradmarkError, UnsupportedError
from gradmark.measure.inspection import check, inspect
from gradmark.measure.job import Job, Result
from gradmark.measure.prepared import Prepared
from gradmark.measure.timer import Timed, clock_resolution_ns, elapsed_ns, nothing, time_together
from gradmark.records import Phase, Sample
from gradmark.workloads.selection import where_it_failed

# An engine that returns before its work is done makes the first look at its result slow: by more than this, and by more
# than two whole iterations, is more than a cache can explain.
LATE_NS = 50_000
# How a sample says so; the gate looks for it.
UNFINISHED = "work was not finished when the clock was read"
# Forward and backward alone may be faster than in turns, by what the caches hold; not by more than half.
UNEXPLAINED = 1.5


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
    warnings = split(phases, own_total=session.total is not None)
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


def split(phases: dict[str, Phase], *, own_total: bool = False) -> list[str]:
    """Adds backward as total minus forward where it was not timed alone, or where that cannot be the whole of it.

    An engine with a total of its own says that this is more than its parts, such as memory that is freed on the way and
    fetched anew: then the difference is no reason for a warning.
    """
    if "total" not in phases:
        return []
    total, forward = phases["total"], phases["forward"].floor_ns
    warnings = []
    if "backward" in phases:
        parts = forward + phases["backward"].floor_ns
        if total.floor_ns <= UNEXPLAINED * parts + LATE_NS / 100:
            return []
        if not own_total:
            warnings.append(
                f"forward and backward apart take {parts / 1e3:.3g} µs, together {total.floor_ns / 1e3:.3g} µs: "
                "backward is not repeatable on one recording, so it is shown as total minus forward; let the session "
                "leave backward out and give total instead"
            )
        del phases["backward"]
    if total.floor_ns > forward:
        phases["backward"] = Phase(
            how="derived", iterations=total.iterations, block_ns=[ns - forward for ns in total.block_ns]
        )
    else:
        warnings.append("the whole takes no longer than forward alone, so nothing can be said of backward")
    return warnings


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
            f"reading the gradient took {min(excess) / 1e3:.0f} µs the first time: {UNFINISHED}, so the times are too "
            "small; give the engine's session a synchronize that waits"
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
        return Result(status="unsupported", message=str(error), absent=isinstance(error, AbsentError))
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
