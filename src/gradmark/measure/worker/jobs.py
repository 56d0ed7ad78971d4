"""Jobs: what a worker can be asked to do, under limits; everything that goes wrong is a result.

In: a job. Out: its result. A run starts a worker for every sample, so what only other jobs need is imported by them.
"""

import os
import sys

from gradmark.engines.discovery import load
from gradmark.errors import AbsentError, GradmarkError, InvalidWorkloadError, MissingEngineError, UnsupportedError
from gradmark.measure.job import Job, Result
from gradmark.measure.worker.prepared import Prepared
from gradmark.measure.worker.sampling import take_time
from gradmark.measure.worker.session import capabilities_of, refuse_prepare
from gradmark.measure.worker.timer import elapsed_ns
from gradmark.workloads.lookup import where_it_failed


def repeat(job: Job) -> Result:
    """So many iterations and nothing else, for callgrind."""
    prepared = Prepared(job)
    elapsed_ns(prepared.calls(prepared.session), 10 + job.iterations, prepared.session.synchronize)
    return Result()


def try_function(job: Job) -> Result:
    """Can the function be measured at all?"""
    from gradmark.measure.worker import trial

    return trial.try_function(job)


def inspect(job: Job) -> Result:
    """Accuracy, tape size and memory of a cell."""
    from gradmark.measure.worker import inspection

    return inspection.inspect(job)


def survey(job: Job) -> Result:
    """What an engine can do here."""
    name = job.cell.engine
    engine = load(name)
    refuse_prepare(name, engine)
    return Result(capabilities=capabilities_of(name, engine))


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
    work = {"survey": survey, "try": try_function, "inspect": inspect, "time": take_time, "repeat": repeat}[job.kind]
    try:
        return work(job)
    except UnsupportedError as error:
        absent = isinstance(error, AbsentError)
        return Result(status="unsupported", message=str(error), lacks=error.lacks, absent=absent)
    except MemoryError as error:
        limit_gib = job.settings.memory_limit_bytes / 2**30
        return Result(status="out-of-memory", message=f"more than the limit of {limit_gib:.1f} GiB: {error}")
    except InvalidWorkloadError as error:
        return Result(status="invalid", message=str(error))
    except GradmarkError as error:
        return Result(status="error", message=str(error), missing=isinstance(error, MissingEngineError))
    except Exception as error:
        return Result(status="error", message=where_it_failed(error))
