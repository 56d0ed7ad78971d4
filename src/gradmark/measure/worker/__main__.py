"""The worker process. Reads a job from standard input, writes a result to standard output.

Whatever the engine or the workload prints goes to standard error, so that it cannot be taken for the result.
"""

import os
import sys

import msgspec

from gradmark.measure.job import Job
from gradmark.measure.worker.jobs import limit, run


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
