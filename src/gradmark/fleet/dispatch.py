"""Dispatch: gives rows to machines, one at a time each, until all are done, whatever breaks meanwhile.

In: errands of one campaign or several, a connection. Out: nothing; each errand's campaign has its events. A machine
that dies, is cut off, does not fit or fails takes nothing with it but what it was doing at that moment.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gradmark.fleet.board import REST_S, Board, Work
from gradmark.fleet.campaign import Errand, refuse_lost, step
from gradmark.fleet.connection import Connection, Sent
from gradmark.fleet.machine import Machine, differences
from gradmark.fleet.task import Ended
from gradmark.measure.orchestrator import Step

# How often messages are fetched, and how often it looks which machines are there.
FETCH_S, LOOK_S = 0.2, 1.0


def _silent(_: object) -> None:
    """Nobody watches."""


@dataclass
class Dispatch:
    """Machines that work for whoever asks. machines: those that were chosen; others of their classes may join later."""

    connection: Connection
    machines: Sequence[Machine]
    watch: Callable[[Step], None] = _silent
    tell: Callable[[str], None] = _silent
    advice: str = "look at the machines with `gradmark fleet status`, and go on with --resume"
    _there: dict[str, Machine] = field(default_factory=dict)
    _strange: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._there = {machine.id: machine for machine in self.machines}
        self._classes = {machine.machine_class.digest for machine in self.machines}
        self._versions = self.machines[0].versions

    def carry_out(self, errands: Sequence[Errand]) -> None:
        """Does them all; raises if one was given up, when all others are done."""
        if not errands:
            return
        by_key = {errand.id: errand for errand in errands}
        board = Board([errand.work() for errand in errands])
        for known in self._there.values():
            board.join(known.id, known.machine_class.digest)
        sent: dict[str, tuple[Errand, Sent]] = {}
        self.watch(step(errands, errands, errands[0].row))
        looked_s = -LOOK_S
        try:
            while board.open:
                now_s = time.monotonic()
                if now_s - looked_s >= LOOK_S:
                    looked_s = now_s
                    self._look(board, sent)
                for work, machine in board.assign(now_s):
                    errand = by_key[work.key]
                    task = errand.task(self.connection.queue_name)
                    sent[machine] = errand, self.connection.send(task, self._there[machine].address)
                if self._come(board, sent, by_key):
                    self.watch(step(errands, _open(board, by_key), errands[0].row))
                else:
                    time.sleep(FETCH_S)
        finally:
            for _, on_its_way in sent.values():
                on_its_way.cancel()
        refuse_lost(board.given_up, self.advice)

    def _come(self, board: Board, sent: dict[str, tuple[Errand, Sent]], by_key: Mapping[str, Errand]) -> bool:
        """Takes what came from machines; whether one of them is done with its task."""
        # in this order: what a task sent before its end is there when its end is seen
        ended = [(machine, errand, end) for machine, (errand, s) in sent.items() if (end := s.ended()) is not None]
        for message in self.connection.messages():
            errand = by_key.get(message.task)
            if errand is not None:
                errand.took(message)
        for machine, errand, end in ended:
            sent.pop(machine)
            self._ended(board, machine, errand, end)
        return bool(ended)

    def _ended(self, board: Board, machine: str, errand: Errand, end: Ended) -> None:
        if end.unfit:
            self.tell(f"{machine} is not fit ({'; '.join(end.unfit)}): it rests for {REST_S:.0f} s")
            board.refused(machine, time.monotonic())
        elif end.failed or not errand.complete(end.token, end.events):
            why = end.failed or "not all that it sent has come"
            self.tell(f"{errand.row} failed on {machine}: {why}")
            board.failed(machine, why)
        else:
            if errand.order.kind == "carry-out":
                errand.campaign.complete(errand.cells)
            board.done(machine)

    def _look(self, board: Board, sent: dict[str, tuple[Errand, Sent]]) -> None:
        """Who has gone, and who has come."""
        addresses = self.connection.addresses()
        for name, known in list(self._there.items()):
            if known.address in addresses:
                continue
            del self._there[name]
            lost = board.leave(name)
            if name in sent:
                sent.pop(name)[1].cancel()
            if lost is not None:
                self.tell(f"{name} is gone: the rest of {lost.key.partition('/')[2]} goes to another machine")
            if not any(other.machine_class == known.machine_class for other in self._there.values()):
                self.tell(f"no machine of class {known.machine_class.name} is left: waiting for one")
        if addresses - {known.address for known in self._there.values()} - self._strange:
            for machine in self.connection.machines():
                self._welcome(machine, board)
            self._strange |= addresses - {known.address for known in self._there.values()}

    def _welcome(self, machine: Machine, board: Board) -> None:
        """A machine that has come takes part if it is of a class that is measured, and like the others."""
        if machine.id in self._there or machine.machine_class.digest not in self._classes:
            return
        unlike = differences([(machine.id, machine.versions), ("the others", self._versions)])
        if unlike:
            if machine.address not in self._strange:
                self.tell(f"{machine.id} has come and takes no work: {'; '.join(unlike)}")
            return
        self._there[machine.id] = machine
        board.join(machine.id, machine.machine_class.digest)


def _open(board: Board, by_key: Mapping[str, Errand]) -> list[Errand]:
    works: list[Work] = [*board.waiting, *(place.work for place in board.places.values() if place.work is not None)]
    return [by_key[work.key] for work in works]
