"""Tasks, and what is said of them: all that passes between who submits a run and the machines that measure it.

In and out: JSON, which each side reads as a stranger's.
"""

import os
from typing import Literal

import msgspec

from gradmark.records import Environment, Measurement, Record, Run
from gradmark.records.event import Event
from gradmark.records.quantities import PilotNs, Whole


class Against(Record, frozen=True, kw_only=True):
    """The other build of a `check --against`. The present one is the checkout that a worker was started in."""

    commit: str
    build: str  # the command
    head: str  # what is checked out, here and on each machine
    changes: str  # the digest of what was changed since
    inside: str  # the current folder, from the top of the repository
    top: str  # the repository, where the run was submitted

    def path(self, file: str) -> str | None:
        """The path of a file inside the repository; None outside of it."""
        inside = os.path.relpath(os.path.realpath(file), os.path.realpath(self.top))
        return None if inside.startswith(os.pardir) else inside


class Order(Record, frozen=True, kw_only=True):
    """What is asked of the orchestrator on the machine."""

    kind: Literal["carry-out", "count", "sample"] = "carry-out"
    again: bool = False  # to count what was counted
    first: Whole = 0  # rounds to sample
    stop: Whole = 0


class Task(Record, frozen=True, kw_only=True):
    """What stays together on one machine: cells that are compared with each other, with what is known of them."""

    id: str  # of the run and its row
    attempt: Whole
    queue: str  # where events go
    begun: Run  # its planned cells are those of the task
    order: Order = Order()
    known: list[Measurement] = []
    files: dict[str, bytes] = {}  # the user's own, by their paths where the run was submitted
    against: Against | None = None


class Began(Record, frozen=True, kw_only=True, tag=True):
    """A machine begins with a task."""

    task: str
    attempt: Whole
    token: str  # of this beginning: Dask may begin a task twice
    environment: Environment
    clock_ns: PilotNs | None = None  # its usual one


class Happened(Record, frozen=True, kw_only=True, tag=True):
    """Something was measured."""

    task: str
    attempt: Whole
    token: str
    number: Whole  # of the events of this beginning
    event: Event


Message = Began | Happened


class Ended(Record, frozen=True, kw_only=True):
    """How a task ended: done, not begun on a machine that is not fit, or failed for a reason of its own."""

    token: str
    events: Whole = 0
    unfit: list[str] = []
    failed: str = ""


TASK = msgspec.json.Decoder(Task)
MESSAGE: "msgspec.json.Decoder[Message]" = msgspec.json.Decoder(Message)
ENDED = msgspec.json.Decoder(Ended)
