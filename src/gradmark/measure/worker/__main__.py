"""The worker process. Reads a job from standard input, writes a result to standard output.

Whatever the engine or the workload prints goes to standard error, so that it cannot be taken for the result.
"""

import msgspec

from gradmark.isolation import inside
from gradmark.measure.job import Job
from gradmark.measure.worker.jobs import limit, steps
from gradmark.measure.worker.timer import carry_out


def main() -> None:
    """One job in, one result out."""
    requests, answers = inside.private_streams()
    inside.adopt_orphans()
    job = msgspec.json.decode(requests.read(), type=Job)
    limit(job)
    result = carry_out(steps(job))  # here: the fewer frames of Python's stack below what is timed the better
    inside.leave(answers, msgspec.json.encode(result))


if __name__ == "__main__":
    main()
