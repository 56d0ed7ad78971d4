"""Carrying out a task: what a machine of the fleet does, with the same orchestrator as a run on one machine.

In: a task. Out: events, each sent as it happens, and how it ended. These functions run in a thread of a Dask worker,
one at a time on this machine, whichever fleets it belongs to.
"""

import contextlib
import os
import secrets
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from gradmark.analyse.unsettled import unsettled
from gradmark.errors import GradmarkError, RevisionError
from gradmark.fleet import machine
from gradmark.fleet.shipping import Shipment
from gradmark.fleet.task import MESSAGE, TASK, Against, Began, Ended, Happened, Message, Task
from gradmark.measure import environment, process, usual_clock
from gradmark.measure.job import Job, Result
from gradmark.measure.orchestrator import Orchestrator
from gradmark.measure.process import Place
from gradmark.records import Environment, Record
from gradmark.records.decoding import decoded, encoded
from gradmark.records.event import Event, Finished
from gradmark.revisions import checkout

# How often a task looks whether the machine is free, and whether it is still wanted.
LOOK_S = 0.2


class CutOffError(GradmarkError):
    """Nobody hears what is measured any more."""


class Asked(Record, frozen=True, kw_only=True):
    """A question of the plan, with the user's file that it is about."""

    job: Job
    files: dict[str, bytes] = {}


_ASKED, _RESULT = msgspec.json.Decoder(Asked), msgspec.json.Decoder(Result)


class Host:
    """What a worker process knows of itself. `despite`: it takes work even if `doctor` finds the machine unfit."""

    def __init__(self) -> None:
        self.despite = False
        self.measuring = ""
        self.stopped = threading.Event()

    def stop(self) -> None:
        """Ends what is measured: the worker is closing, or has lost its scheduler."""
        self.stopped.set()
        process.end_all()


HOST = Host()


def here(environment_here: Environment | None = None) -> Environment:
    """The environment of this machine. The folder that a worker was started in says nothing of a run's code."""
    return msgspec.structs.replace(environment_here or environment.collect(), commit=None, dirty=None)


def described() -> bytes:
    """What this machine says of itself. Its address is known to who asks."""
    described = machine.Machine(
        environment=here(),
        versions=machine.versions(),
        conditions=machine.conditions(),
        despite=HOST.despite,
        measuring=HOST.measuring,
    )
    return encoded(described, machine.MACHINE)


@contextlib.contextmanager
def alone(instance: str, wanted: Callable[[], bool]) -> Iterator[None]:
    """While it lasts nothing else is measured on this machine, also by other workers and other users' ones."""
    try:
        import fcntl
    except ImportError:  # Windows has no such lock: there the worker's one thread must do
        yield
        return
    path = os.path.join(tempfile.gettempdir(), f"gradmark-machine-{instance}.lock")
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)  # first as it is: some systems let nobody create what another user has made
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, 0o666)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not wanted():
                    raise CutOffError("the task is not wanted any more") from None
                time.sleep(LOOK_S)
        yield
    finally:
        os.close(descriptor)


def carry_out(
    task: Task, send: Callable[[Message], None], wanted: Callable[[], bool], environment: Environment
) -> Ended:
    """Does what a task asks for. `send` hands an event on; `wanted` says whether somebody still waits for it."""
    token = secrets.token_hex(8)
    number = 0
    with alone(environment.instance, wanted):
        if not HOST.despite and (unfit := machine.failing(machine.conditions(at_rest=True))):
            return Ended(token=token, unfit=unfit)
        clock_ns = usual_clock.known(environment)
        send(Began(task=task.id, attempt=task.attempt, token=token, environment=environment, clock_ns=clock_ns))

        def keep(event: Event) -> None:
            nonlocal number
            if isinstance(event, Finished):  # the end of a task is no end of the run
                return
            if not wanted():
                raise CutOffError("the task is not wanted any more")
            event = shipment.leaving(event)
            send(Happened(task=task.id, attempt=task.attempt, token=token, number=number, event=event))
            number += 1

        HOST.measuring = task.begun.planned[0].row
        try:
            with process.cache() as folder:
                shipment, places = _arrival(task, Path(folder), environment.instance)
                begun = shipment.begun(task.begun)  # as a run of this machine, with the clock that it usually has
                begun = msgspec.structs.replace(begun, environment=environment, clock_ns=clock_ns)
                known = [msgspec.structs.replace(m, cell=shipment.arrived(m.cell)) for m in task.known]
                with Orchestrator(begun, keep, known=known, places=places) as orchestrator:
                    _obey(task, orchestrator)
        finally:
            HOST.measuring = ""
    return Ended(token=token, events=number)


def _obey(task: Task, orchestrator: Orchestrator) -> None:
    order = task.order
    match order.kind:
        case "carry-out":
            orchestrator.carry_out(unsettled)
        case "count":
            orchestrator.count_exactly(orchestrator.cells, again=order.again)
        case "sample":
            orchestrator.sample(orchestrator.cells, range(order.first, order.stop))


def _arrival(task: Task, folder: Path, instance: str) -> tuple[Shipment, dict[str, Place]]:
    """The user's files as they are here: sent along, or those of the repository, of which both builds are measured."""
    if task.against is None:
        return Shipment.unpacked(task.files, folder, instance), {}
    top = _repository(task.against)
    revision = checkout.build(task.against.commit, task.against.build)
    shipment = Shipment.unpacked(task.files, folder, instance)  # what is outside of the repository
    files = [cell.file for cell in task.begun.planned if cell.file is not None]
    shipment.here |= {file: str(top / inside) for file in files if (inside := task.against.path(file)) is not None}
    return shipment, revision.places


def repository() -> tuple[str, str, str]:
    """What is checked out in the current folder: its top, the commit, and a digest of what was changed since."""
    import hashlib

    top = checkout.git("rev-parse", "--show-toplevel")
    changes = checkout.git("diff", "HEAD", "--binary")
    return top, checkout.git("rev-parse", "HEAD"), hashlib.sha256(changes.encode(errors="replace")).hexdigest()[:12]


def lacking(against: Against) -> str:
    """Why the two builds cannot be compared on this machine; empty if they can be."""
    try:
        _repository(against)
        checkout.commit_of(against.commit)
    except (GradmarkError, subprocess.SubprocessError) as error:
        return str(error)
    return ""


def _repository(against: Against) -> Path:
    top, head, changes = repository()
    if (head, changes) != (against.head, against.changes):
        raise RevisionError(
            f"{top} is at commit {head[:12]}{' with other changes' if head == against.head else ''}, and the run was "
            f"submitted at {against.head[:12]}; check the same out on every machine"
        )
    if Path.cwd().resolve() != Path(top, against.inside).resolve():
        raise RevisionError(
            f"start the worker in {Path(top, against.inside)}, as the run was submitted, not in {Path.cwd()}"
        )
    return Path(top)


def answer(packed: bytes) -> bytes:
    """The result of a question that a plan asks: what an engine can do, whether a function works."""
    asked = decoded(_ASKED, packed)
    instance = environment.collect().instance
    with alone(instance, lambda: not HOST.stopped.is_set()), process.cache() as folder:
        shipment = Shipment.unpacked(asked.files, Path(folder), instance)
        job = msgspec.structs.replace(asked.job, cell=shipment.arrived(asked.job.cell))
        return msgspec.json.encode(process.run(job))


def carry(packed: bytes) -> bytes:
    """A task of Dask's: JSON in and out, for what a machine sends is read as a stranger's."""
    from distributed import Queue, get_client, get_worker

    task = decoded(TASK, packed)
    worker = get_worker()
    key = worker.get_current_task()
    queue = Queue(task.queue, client=get_client())

    def wanted() -> bool:
        state = worker.state.tasks.get(key)
        return not HOST.stopped.is_set() and state is not None and state.state == "executing"

    def send(message: Message) -> None:
        try:
            queue.put(encoded(message, MESSAGE), timeout="10 s")
        except Exception as error:  # Dask has many: what was measured last is lost, and all before it is not
            raise CutOffError(f"the scheduler does not answer: {error}") from error

    try:
        ended = carry_out(task, send, wanted, here())
    except GradmarkError as error:
        ended = Ended(token="", failed=str(error))
    return msgspec.json.encode(ended)
