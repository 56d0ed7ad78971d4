"""Jobs: what a worker can be asked to do, under limits; everything that goes wrong is a result.

In: a job. Out: its result. A run starts a worker for every sample, so what only other jobs need is imported by them.
"""

import os
import sys

import msgspec

from gradmark.engines.discovery import load
from gradmark.errors import (
    AbsentError,
    GradmarkError,
    InvalidWorkloadError,
    MissingEngineError,
    NoSuchError,
    NoSuchModuleError,
    ToolError,
    UnsupportedError,
)
from gradmark.isolation import inside
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
    """Fixes the CPU, the pages, the memory and the time of this process, where the platform can."""
    if job.settings.pin and hasattr(os, "sched_setaffinity"):
        # the last cores: the first one has the system's own work
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-job.settings.threads :])
    inside.begin_time(job.settings.timeout_s)
    if not job.settings.huge_pages:
        inside.refuse_huge_pages()
    inside.limit_memory(job.settings.memory_limit_bytes)


def find_data(job: Job) -> None:
    """Published inputs come from the folder that the user gave, if one was given."""
    if job.settings.data or "gradmark.workloads.literature.files" in sys.modules:
        from gradmark.workloads.literature import files

        files.use(job.settings.data)


def run(job: Job) -> Result:
    """Does a job; everything that goes wrong is a result, of one of two sides with what it should not have loaded."""
    result = _done(job)
    if job.origins is None or job.kind == "repeat":  # callgrind would take seconds, and the cell was inspected
        return result
    from gradmark.measure.worker.loaded import Loaded

    loaded = Loaded(job.origins)
    if job.kind == "time":
        return msgspec.structs.replace(result, strays=loaded.strays(deep=False))
    return msgspec.structs.replace(result, strays=loaded.strays(deep=True), shared=loaded.shared())


def _done(job: Job) -> Result:
    work = {"survey": survey, "try": try_function, "inspect": inspect, "time": take_time, "repeat": repeat}[job.kind]
    try:
        find_data(job)
        return work(job)
    except UnsupportedError as error:
        absent = isinstance(error, AbsentError)
        return Result(status="unsupported", message=str(error), lacks=error.lacks, absent=absent)
    except MemoryError as error:
        limit_gib = job.settings.memory_limit_bytes / 2**30
        return Result(status="out-of-memory", message=f"more than the limit of {limit_gib:.1f} GiB: {error}")
    except InvalidWorkloadError as error:
        return Result(status="invalid", message=str(error))
    except NoSuchError as error:
        missing = isinstance(error, MissingEngineError)
        if job.origins is not None and _is_new(job.cell.engine, error, job.origins.tree):
            return Result(status="unsupported", message=str(error), missing=missing, new=True)
        return Result(status="error", message=str(error), missing=missing)
    except ToolError as error:
        return Result(status=error.status, message=str(error), transcript=error.transcript)
    except GradmarkError as error:
        return Result(status="error", message=str(error), missing=isinstance(error, MissingEngineError))
    except (Exception, SystemExit) as error:
        return Result(status="error", message=where_it_failed(error))


def _is_new(engine: str, error: NoSuchError, tree: str) -> bool:
    """Whether a tree really lacks what was not found. A module that it has, but that was not built, is no new one."""
    from gradmark.measure.worker.loaded import has_module

    module, colon, _ = engine.partition(":")
    return not isinstance(error, NoSuchModuleError) or (bool(colon) and not has_module(tree, module))
