"""The connection of whoever submits to the scheduler, and through it to the machines.

In: an address. Out: machines, as they describe themselves; tasks sent, and what comes back of them. All of Dask that
the submitting side uses stands here.
"""

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from typing import Any, Self

import msgspec

from gradmark.errors import FleetError
from gradmark.fleet import carrying, machine, shipping
from gradmark.fleet.hosting import RESOURCE, imported
from gradmark.fleet.machine import MACHINE, Machine
from gradmark.fleet.task import ENDED, MESSAGE, TASK, Against, Ended, Message, Task
from gradmark.measure.job import Job, Result
from gradmark.records import Environment
from gradmark.records.decoding import UndecodableError, decoded, encoded

CONNECT_S = "10 s"


class Gone(FleetError):  # noqa: N818  a scheduler that is gone
    """The scheduler does not answer any more."""


class Sent:
    """A task on its way."""

    def __init__(self, future: Any, address: str) -> None:
        self._future = future
        self.address = address

    def ended(self) -> Ended | None:
        """How it ended; None while it has not. What Dask says of it that is no answer is a failure."""
        if not self._future.done():
            return None
        if self._future.status != "finished":
            return Ended(token="", failed=f"Dask: {self._future.status} ({self._future.exception()})")
        try:
            return decoded(ENDED, self._future.result(timeout=CONNECT_S))
        except UndecodableError as error:
            return Ended(token="", failed=f"the machine's answer makes no sense: {error}")

    def cancel(self) -> None:
        """Nobody wants it any more."""
        with contextlib.suppress(Exception):
            self._future.cancel()


@contextlib.contextmanager
def _reaching(address: str) -> Iterator[None]:
    """What Dask raises where the scheduler is gone, as one error."""
    import asyncio

    from distributed.comm import CommClosedError

    try:
        yield
    except (OSError, TimeoutError, asyncio.CancelledError, CommClosedError, KeyError, RuntimeError) as error:
        raise Gone(f"the scheduler at {address} does not answer any more ({type(error).__name__}: {error})") from error


class Connection:
    """A client of the scheduler. Used with `with`."""

    def __init__(self, address: str) -> None:
        dask, distributed = imported()
        self.address = address
        self.queue_name = f"gradmark-{secrets.token_hex(6)}"
        dask.config.set({"distributed.client.scheduler-info-interval": "60s"})
        try:
            self._client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False, name="gradmark")
        except (OSError, TimeoutError) as error:
            raise FleetError(
                f"no scheduler answers at {address}: {error}; start one with `dask scheduler`, and look at the "
                "address, the port and the firewall"
            ) from error
        except AssertionError as error:  # its thread did not start in the 10 s that Dask gives it
            raise FleetError("Dask did not start within 10 s; this machine is busy, try again") from error
        except (ValueError, TypeError) as error:
            raise FleetError(
                f"{address!r} is not the address of a scheduler, such as tcp://host:8786: {error}"
            ) from error
        with _reaching(address):
            self._queue = distributed.Queue(self.queue_name, client=self._client)
            self._queue.qsize()
        self._known: dict[str, Machine] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):
            self._queue.close()
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)

    def machines(self, *, again: bool = False) -> list[Machine]:
        """The machines that are there now. Each describes itself once; again: anew.

        Workers that were not started by `gradmark fleet worker` are none. A machine with two workers has one.
        """
        with _reaching(self.address):
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
        there = [address for address, known in workers.items() if RESOURCE in known.get("resources", {})]
        new = [address for address in there if again or address not in self._known]
        with _reaching(self.address):
            descriptions = self._described(new)
        for address, packed in descriptions.items():
            try:
                self._known[address] = msgspec.structs.replace(decoded(MACHINE, packed), address=address)
            except UndecodableError as error:
                raise FleetError(
                    f"the worker at {address} describes itself in words that are not understood ({error}); start all "
                    "workers with the same gradmark"
                ) from error
        self._known = {address: known for address, known in self._known.items() if address in there}
        return list({known.id: known for known in self._known.values()}.values())

    def others(self) -> int:
        """How many workers there are that are not fit for measuring."""
        with _reaching(self.address):
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return sum(RESOURCE not in known.get("resources", {}) for known in workers.values())

    def _described(self, addresses: Sequence[str]) -> dict[str, bytes]:
        """What workers say of their machines; of one that is gone nothing."""
        if not addresses:
            return {}
        answers = self._client.run(_guarded, workers=list(addresses), on_error="ignore")
        for address, answer in answers.items():
            if isinstance(answer, str):
                raise FleetError(f"the worker at {address} cannot describe its machine: {answer}")
        return {address: answer for address, answer in answers.items() if isinstance(answer, bytes)}

    def modules(self, machines: Sequence[Machine], names: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
        """The digests of modules on each machine, and here."""
        digests = [("this machine", machine.modules(names))]
        for each in machines:
            with _reaching(self.address):
                answer = self._client.run(_modules, list(names), workers=[each.address])[each.address]
            digests.append((each.id, answer))
        return digests

    def lacking(self, machines: Sequence[Machine], against: Against) -> dict[str, str]:
        """Why the machines cannot measure the two builds, by their ids."""
        packed, reasons = msgspec.json.encode(against), {}
        for each in machines:
            with _reaching(self.address):
                why = self._client.run(_lacking, packed, workers=[each.address])[each.address]
            if why:
                reasons[each.id] = str(why)
        return reasons

    def ask(self, job: Job, machines: Sequence[Machine]) -> Result:
        """The answer of one of the machines to a question of the plan."""
        files = shipping.packed([job.cell.file] if job.cell.file is not None else [])
        packed = msgspec.json.encode(carrying.Asked(job=job, files=files))
        with _reaching(self.address):
            future = self._client.submit(
                carrying.answer,
                packed,
                key=f"gradmark-ask-{secrets.token_hex(8)}",
                workers=[each.address for each in machines],
                resources={RESOURCE: 1},
                pure=False,
            )
            answer = future.result()
        try:
            return decoded(carrying._RESULT, answer)
        except UndecodableError as error:
            raise FleetError(f"a machine's answer makes no sense: {error}") from error

    def send(self, task: Task, address: str) -> Sent:
        """Hands a task to a machine: to no other, for what is there of it must go along."""
        packed = encoded(task, TASK)
        with _reaching(self.address):
            future = self._client.submit(
                carrying.carry,
                packed,
                key=f"{task.id}-{task.attempt}-{secrets.token_hex(4)}",
                workers=[address],
                resources={RESOURCE: 1},
                retries=0,
                pure=False,
            )
        return Sent(future, address)

    def messages(self) -> list[Message]:
        """What came since the last time, in its order. What is no message is dropped: its task will lack it."""
        with _reaching(self.address):
            came = self._queue.get(batch=True)
        messages = []
        for packed in came:
            with contextlib.suppress(UndecodableError):
                messages.append(decoded(MESSAGE, packed))
        return messages

    def addresses(self) -> set[str]:
        """The workers that are there now."""
        with _reaching(self.address):
            return set(self._client.nthreads())


def environment_of_class(machines: Sequence[Machine], here: Environment) -> Environment:
    """The environment of a run on these machines: the first one's, with the commit that the run was submitted at."""
    first = min(machines, key=lambda each: each.id).environment
    return msgspec.structs.replace(first, commit=here.commit, dirty=here.dirty)


def _guarded() -> bytes | str:
    """A description, or a text that says why there is none: an error of ours must not need our classes to be read."""
    try:
        return carrying.described()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _modules(names: list[str]) -> dict[str, str]:
    return machine.modules(names)


def _lacking(packed: bytes) -> str:
    return carrying.lacking(msgspec.json.decode(packed, type=Against))
