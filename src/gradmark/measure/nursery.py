"""The nursery: a process that has imported one engine and forks a worker for every job.

In: jobs, one after another. Out: their results. To import PyTorch takes two seconds, to time a small function a tenth
of one. A comparison of many engines has a nursery for each engine in each round: the samples of one cell come from
processes that were started, and laid out in memory, apart, as those of fresh processes are.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import msgspec

from gradmark.engines import discovery
from gradmark.errors import GradmarkError
from gradmark.measure import process
from gradmark.measure.job import Job, Result
from gradmark.measure.worker import jobs
from gradmark.records import Settings

COMMAND = [sys.executable, "-P", "-m", "gradmark.measure.nursery"]
# What a nursery may need beyond the limit of a job, for importing the engine and ending the worker.
PATIENCE_S = 60.0
# A nursery that will not fork says this instead of a result.
REFUSED = b"\n"
# How long a nursery may take to end its worker with all that the worker started.
GRACE_S = 2.0
ENDED = Result(status="error", message="the run was ended meanwhile")


def possible() -> bool:
    """Whether this platform can fork after imports: macOS has libraries that break."""
    return sys.platform == "linux"


class Nursery:
    """The side of the orchestrator: one engine's nursery, started with the first job."""

    def __init__(self, engine: str, settings: Settings, cache: str) -> None:
        self.engine = engine
        self.cache = cache  # a folder for what compilers keep from one process of this run to the next
        self.settings = settings
        self.child: subprocess.Popen[bytes] | None = None
        self.closed = False
        self.lock = threading.Lock()  # of starting and ending

    def run(self, job: Job) -> Result:
        """A job in a forked worker; in a fresh one if the nursery is lost, or has threads, with which none may fork."""
        child = self._child()
        if child is None:
            return ENDED
        questions, results = child.stdin, child.stdout
        assert questions is not None
        assert results is not None
        answer = b""
        with contextlib.suppress(OSError, ValueError):  # it is gone, or was closed
            questions.write(msgspec.json.encode(job) + b"\n")
            questions.flush()
            ready, _, _ = select.select([results], [], [], job.settings.timeout_s + PATIENCE_S)
            answer = results.readline() if ready else b""
        if self.closed:
            return ENDED
        if not answer:
            self._end()
        if not answer.strip():
            return process.run(job)
        return msgspec.json.decode(answer, type=Result)

    def _child(self) -> "subprocess.Popen[bytes] | None":
        """The nursery's process, started if there is none; None once it is closed."""
        with self.lock:
            if self.child is None and not self.closed:
                self.child = subprocess.Popen(
                    [*COMMAND, self.engine],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=process.environment(self.settings.threads, self.cache),
                    start_new_session=True,
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
            child.terminate()  # it ends its worker first, which has a group of its own
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(GRACE_S)
            process.end(child)


def serve(engine: str) -> None:
    """The nursery itself: jobs from standard input, results to standard output, a line each."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, _end_worker)
    start = time.perf_counter_ns()
    with contextlib.suppress(GradmarkError, ImportError):  # the worker will find the same, and say it
        discovery.load(engine)
    import_ns = float(time.perf_counter_ns() - start)
    alone = len(os.listdir("/proc/self/task")) == 1
    for line in sys.stdin.buffer:
        if not alone:
            answers.write(REFUSED)
        else:
            job = msgspec.json.decode(line, type=Job)
            answers.write(msgspec.json.encode(_forked(msgspec.structs.replace(job, import_ns=import_ns))) + b"\n")
        answers.flush()


# The worker that is at work.
_workers: list[int] = []


def _end_worker(*_: object) -> None:
    """Ends the worker with all that it started, and then the nursery."""
    for child in _workers:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
    os._exit(0)


def _forked(job: Job) -> Result:
    """The result of a job in a child of this process."""
    ours, theirs = os.pipe()
    with tempfile.TemporaryFile() as errors, os.fdopen(ours, "rb") as results:
        child = os.fork()
        if child == 0:
            _work(job, theirs, errors.fileno())
        _workers.append(child)
        os.close(theirs)
        answer = b""
        deadline = time.monotonic() + job.settings.timeout_s
        while select.select([results], [], [], max(0.0, deadline - time.monotonic()))[0]:
            part = os.read(results.fileno(), 1 << 16)
            if not part:
                break
            answer += part
        else:
            answer = b""
        late = time.monotonic() >= deadline and not answer
        with contextlib.suppress(ProcessLookupError):
            if late:
                os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # whatever the worker started
        _workers.remove(child)
        if late:
            return process.too_late(job)
        return process.outcome(os.waitstatus_to_exitcode(status), answer, process.tail(errors))


def _work(job: Job, answers: int, errors: int) -> None:
    """The child: a worker with its own group, nothing to read, and its words in a file."""
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        jobs.limit(job)
        encoded = msgspec.json.encode(jobs.run(job))
        with os.fdopen(answers, "wb") as file:
            file.write(encoded)
        sys.stdout.flush()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)


if __name__ == "__main__":
    serve(sys.argv[1])
