"""Explained: the recording of a function, made in a process of its own, as all that runs what users wrote.

In: a job, as plain data. Out: a `Recording`, as plain data; or an error that shows the user's own line.
"""

from typing import Any

import msgspec

from gradmark.errors import GradmarkError, WorkloadError
from gradmark.measure.job import Job
from gradmark.measure.worker.asked import derivative_of
from gradmark.measure.worker.prepared import lacking_operations, workload_of
from gradmark.records.derivative import USUAL_DERIVATIVE, why_not
from gradmark.workloads.lookup import where_it_failed


def recording(argument: Any) -> Any:
    """The recording of the job's cell, whose engine does not count."""
    from gradmark.engines.protocol import Derivative
    from gradmark.engines.tapegrad.recording import recording as recorded

    job = msgspec.convert(argument, Job)
    cell, workload = job.cell, workload_of(job.cell)
    lacking = why_not(cell.workload, workload.result, cell.derivative)
    if lacking:
        raise WorkloadError(lacking)
    inputs = workload.draw(job.settings.seed, cell.params, cell.dtype)
    usual = cell.derivative == USUAL_DERIVATIVE
    try:
        derivative = Derivative() if usual else derivative_of(workload, inputs, cell, job.settings)
        with lacking_operations(workload, "tapegrad"):
            return msgspec.to_builtins(recorded(workload, inputs, cell.params, derivative))
    except GradmarkError:
        raise
    except (Exception, SystemExit) as error:
        raise WorkloadError(f"{cell.row} cannot be recorded: {where_it_failed(error)}") from error
