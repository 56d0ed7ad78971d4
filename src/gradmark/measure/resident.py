"""The resident: a worker that stays, and does the jobs of one engine on a device one after another.

In: jobs. Out: their results. A context on a GPU takes a second or more, cannot be forked, and compilers and libraries
choose kernels at first use: so the rows of an engine share a process, and a round has one process for each engine.
Rows of another round, and what is counted rather than timed, have other processes. One that fails in a row is ended,
so that no later row meets what it left. The engine is imported as soon as the process is there, before the first job:
that touches no device, so that the next process can do it while another one is timed.
"""

import contextlib
import gc
import os
import select
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from subprocess import PIPE
from typing import IO

import msgspec

from gradmark.engines import discovery
from gradmark.isolation import inside
from gradmark.isolation.child import Child, Ended, append, refuse_full, tail
from gradmark.measure import process
from gradmark.measure.job import Job, Result
from gradmark.measure.nursery import ENDED
from gradmark.measure.worker import jobs
from gradmark.records import Settings, Status

COMMAND = [sys.executable, "-P", "-m", "gradmark.measure.resident"]
# JAX keeps what took a second to compile. A round needs all of what an earlier one compiled, in a process of its own;
# what compiling takes is the first call of the inspection.
KEPT = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
# After these the process is ended: an error of a kernel, or a lack of memory, stays with a context.
FATAL: tuple[Status, ...] = ("error", "crash", "timeout", "out-of-memory")


class Resident:
    """The side of the orchestrator: a process that is started with the first job, if not before, and again after one
    that failed."""

    def __init__(self, engine: str, settings: Settings, cache: "tempfile.TemporaryDirectory[str]") -> None:
        self.engine = engine
        self.settings = settings
        self.cache = cache  # what compilers keep from one process to the next
        self.asked = False  # whether it had a job: from then on it may hold the device
        self.child: Child | None = None
        self.said: IO[bytes] | None = None
        self.closed = False
        self.lock = threading.Lock()  # of starting and ending

    def run(self, job: Job) -> Result:
        """A job, in its time; whatever happens to the process is a result."""
        self.asked = True
        child, said = self.started()
        if child is None or said is None:
            return ENDED
        questions, results = child.process.stdin, child.process.stdout
        assert questions is not None
        assert results is not None
        answer, in_time = b"", True
        with contextlib.suppress(OSError, ValueError):  # it is gone, or was closed
            questions.write(msgspec.json.encode(job) + b"\n")
            questions.flush()
            in_time = bool(select.select([results], [], [], job.settings.timeout_s)[0])
            answer = results.readline() if in_time else b""
        if self.closed:
            return ENDED
        if answer.endswith(b"\n"):
            result = process.outcome(Ended(0, answer, b""))
        elif in_time:
            child.ended(1.0)
            result = process.outcome(Ended(child.process.poll() or 0, b"", tail(said)))
        else:
            result = process.too_late(job)
        refuse_full(said)
        process.refuse_broken(result)
        if result.status in FATAL:
            self._end()
        return result

    def started(self) -> tuple[Child | None, IO[bytes] | None]:
        """The process, which imports the engine; what it prints."""
        with self.lock:
            if self.child is None and not self.closed:
                self.said = tempfile.TemporaryFile()  # noqa: SIM115  as long as the process
                append(self.said)
                self.child = Child(
                    [*COMMAND, self.engine, str(self.settings.memory_limit_bytes)],
                    process.environment(self.settings.threads, self.cache.name) | KEPT,
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=self.said,
                )
            return self.child, self.said

    def close(self) -> None:
        """Ends the process for good."""
        self.closed = True
        self._end()

    def _end(self) -> None:
        with self.lock:
            child, self.child = self.child, None
            said, self.said = self.said, None
        if child is not None:
            child.end()
        if said is not None:
            said.close()


def serve(engine: str, memory_limit_bytes: int, run: Callable[[Job], Result] = jobs.run) -> None:
    """The process itself: jobs from standard input, results to standard output, a line each."""
    requests, answers = inside.private_streams()
    inside.adopt_orphans()
    inside.limit_memory(memory_limit_bytes)
    import_ns = _import_ns(engine)
    for line in requests:
        job = msgspec.json.decode(line, type=Job)
        jobs.limit(job)
        result = run(msgspec.structs.replace(job, import_ns=import_ns))
        answers.write(msgspec.json.encode(result) + b"\n")
        answers.flush()
        gc.collect()
    inside.end_descendants()
    os._exit(0)  # libraries of a device take a second to take leave


def _import_ns(engine: str) -> float:
    """What importing it takes; jobs do not import it again."""
    begin_ns = time.perf_counter_ns()
    with contextlib.suppress(Exception, SystemExit):  # a job will find the same, and say it
        path = discovery.path_of(engine)
        begin_ns = time.perf_counter_ns()
        discovery.load(engine, path)
    return float(time.perf_counter_ns() - begin_ns)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
