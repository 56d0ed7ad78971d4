"""The nursery: a process that has imported one engine and forks a worker for every job.

In: jobs, one after another. Out: their results. To import PyTorch takes two seconds, to time a small function a tenth
of one. A comparison of many engines has a nursery for each engine in each round: the samples of one cell come from
processes that were started, and laid out in memory, apart, as those of fresh processes are.
"""

import contextlib
import gc
import os
import select
import signal
import sys
import tempfile
import threading
import time
import traceback
from subprocess import DEVNULL, PIPE, TimeoutExpired
from typing import BinaryIO

import msgspec

from gradmark.engines import discovery
from gradmark.isolation import inside, janitor
from gradmark.isolation.child import Child, Ended, append, beginning, refuse_full, tail, wait_for, watched
from gradmark.measure import process
from gradmark.measure.job import Job, Result
from gradmark.measure.worker import jobs
from gradmark.records import Settings

COMMAND = [sys.executable, "-P", "-m", "gradmark.measure.nursery"]
# What a nursery may need beyond the limit of a job, for ending the worker.
PATIENCE_S = 20.0
# What a nursery says when it has imported the engine: that it forks, or that it will not.
READY, REFUSED = b"ready\n", b"refused\n"
# How long a nursery may take to end its worker with all that the worker started.
GRACE_S = 2.0
ENDED = Result(status="error", message="the run was ended meanwhile")


def possible() -> bool:
    """Whether this platform can fork after imports: macOS has libraries that break."""
    return sys.platform == "linux"


class Nursery:
    """The side of the orchestrator: one engine's nursery, started with the first job."""

    def __init__(
        self, engine: str, settings: Settings, cache: "tempfile.TemporaryDirectory[str] | None" = None
    ) -> None:
        self.engine = engine
        self.shared = cache  # a folder for what compilers keep from one nursery to the next, if anything
        self.own: tempfile.TemporaryDirectory[str] | None = None  # else one that goes with the nursery
        self.settings = settings
        self.child: Child | None = None
        self.forks: bool | None = None  # not known before it has said so
        self.closed = False
        self.lock = threading.Lock()  # of starting and ending

    def run(self, job: Job) -> Result:
        """A job in a forked worker; in a fresh one if the nursery is lost, or has threads, with which none may fork.

        Importing the engine has the time of a job.
        """
        child = self._child()
        if child is None:
            return ENDED
        questions, results = child.process.stdin, child.process.stdout
        assert questions is not None
        assert results is not None
        answer = b""
        with contextlib.suppress(OSError, ValueError):  # it is gone, or was closed
            if self.forks is None:
                if not select.select([results], [], [], job.settings.timeout_s)[0]:
                    self._end()
                    return ENDED if self.closed else process.too_late(job)
                self.forks = {READY: True, REFUSED: False}.get(results.readline())
            if self.forks:
                questions.write(msgspec.json.encode(job) + b"\n")
                questions.flush()
                ready, _, _ = select.select([results], [], [], job.settings.timeout_s + PATIENCE_S)
                answer = results.readline() if ready else b""
        if self.closed:
            return ENDED
        if not answer:
            if self.forks is not False:
                self._end()
            return process.run(job)
        result = process.outcome(Ended(0, answer, b""))
        process.refuse_broken(result)
        return result

    def _child(self) -> Child | None:
        """The nursery's process, started if there is none; None once it is closed."""
        with self.lock:
            if self.child is None and not self.closed:
                if self.shared is None and self.own is None:
                    self.own = process.cache()
                cache = self.shared or self.own
                assert cache is not None
                self.forks = None
                self.child = Child(
                    [*COMMAND, self.engine, str(self.settings.memory_limit_bytes)],
                    process.environment(self.settings.threads, cache.name),
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=DEVNULL,
                )
            return self.child

    def close(self) -> None:
        """Ends the nursery and its worker for good."""
        self.closed = True
        self._end()

    def _end(self) -> None:
        with self.lock:
            child, self.child = self.child, None
        if child is not None:
            child.process.terminate()  # it ends its worker first, which has a group of its own
            with contextlib.suppress(TimeoutExpired):
                child.process.wait(GRACE_S)
            child.end()
        if self.closed and self.own is not None:
            self.own.cleanup()
            self.own = None


def serve(engine: str, memory_limit_bytes: int) -> None:
    """The nursery itself: jobs from standard input, results to standard output, a line each."""
    requests, answers = inside.private_streams()
    inside.adopt_orphans()
    inside.limit_memory(memory_limit_bytes)
    signal.signal(signal.SIGTERM, _end_all)
    start = time.perf_counter_ns()
    with contextlib.suppress(Exception, SystemExit):  # the worker will find the same, and say it
        path = discovery.path_of(engine)
        start = time.perf_counter_ns()
        discovery.load(engine, path)
    import_ns = float(time.perf_counter_ns() - start)
    gc.collect()
    gc.freeze()  # workers need not look at what was imported, nor copy the pages that it lies on
    alone = len(os.listdir("/proc/self/task")) == 1
    answers.write(READY if alone else REFUSED)
    answers.flush()
    helpers = frozenset(janitor.below(os.getpid()))  # what the engine started, for all jobs
    for line in requests:
        job = msgspec.json.decode(line, type=Job)
        result = _forked(msgspec.structs.replace(job, import_ns=import_ns), requests, helpers)
        answers.write(msgspec.json.encode(result) + b"\n")
        answers.flush()


# The worker that is at work.
_workers: list[int] = []


def _end_all(*_: object) -> None:
    """Ends the worker with all that it started, and then the nursery."""
    for worker in _workers:
        janitor.end_group(worker)
    janitor.end(lambda: janitor.below(os.getpid()))
    os._exit(0)


def _forked(job: Job, requests: BinaryIO, helpers: frozenset[int]) -> Result:
    """The result of a job in a child of this process. What it leaves is ended, but for the helpers of the engine."""
    with tempfile.TemporaryFile() as answered, tempfile.TemporaryFile() as said:
        append(said)
        worker = os.fork()
        if worker == 0:
            _work(job, answered.fileno(), said.fileno())
        _workers.append(worker)
        in_time = watched(lambda within_s: _ended(worker, within_s, requests), job.settings.timeout_s, said)
        if not in_time:
            os.kill(worker, signal.SIGKILL)
        janitor.end_group(worker)
        _, status = os.waitpid(worker, 0)
        _workers.remove(worker)
        inside.end_descendants(helpers)  # what it started in other sessions came back to this process
        if not in_time:
            return process.too_late(job)
        ended = Ended(os.waitstatus_to_exitcode(status), beginning(answered), tail(said))
        refuse_full(said)  # which ends the nursery: a fresh worker will find the same, and say it
        return process.outcome(ended)


def _ended(worker: int, within_s: float, requests: BinaryIO) -> bool:
    """Whether a worker has ended. While it works nothing is asked: what comes meanwhile is the orchestrator's end."""
    wait_for(worker, within_s, requests)
    if select.select([requests], [], [], 0.0)[0]:
        _end_all()
    return os.waitid(os.P_PID, worker, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _work(job: Job, answered: int, said: int) -> None:
    """The child: a worker with its own group, its answer and its words in files."""
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        inside.end_with_parent()
        inside.adopt_orphans()
        os.dup2(said, 1)
        os.dup2(said, 2)
        jobs.limit(job)
        inside.leave(os.fdopen(answered, "wb", closefd=False), msgspec.json.encode(jobs.run(job)))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
