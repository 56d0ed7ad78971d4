"""The board: which machine does what next. Pure: it knows neither Dask nor a clock, so that a simulation can drive it.

In: tasks, machines that come, go, refuse and are done. Out: which task goes to which machine.

Dask would give each machine its tasks beforehand, by guesses of how long they take, and what a machine has got stays
with it unless others may steal. Here a machine gets its next task when it has done the last: heavy ones first, so
that none is left to the end. Decision 27.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

# A machine that is not fit is asked again after so long.
REST_S = 30.0
# A task that was lost with so many machines is most likely what ended them.
MOST_LOSSES = 3


@dataclass
class Work:
    """A task as the board sees it."""

    key: str
    machine_class: str  # the digest of the class that may do it
    weight: float  # roughly how much there is to do
    lost_with: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    last: str = ""  # the machine that had it last


@dataclass
class _Place:
    machine_class: str
    work: Work | None = None
    rests_until_s: float = 0.0


class Board:
    """Tasks that wait, and machines that are free."""

    def __init__(self, works: Sequence[Work]) -> None:
        self.waiting = sorted(works, key=lambda work: -work.weight)
        self.given_up: list[Work] = []
        self.places: dict[str, _Place] = {}

    @property
    def open(self) -> bool:
        """Whether there is something to do, or to wait for."""
        return bool(self.waiting) or any(place.work for place in self.places.values())

    def join(self, machine: str, machine_class: str) -> None:
        """A machine is there."""
        self.places.setdefault(machine, _Place(machine_class))

    def leave(self, machine: str) -> Work | None:
        """A machine is gone. What it was doing waits again, or is given up; it is returned in either case."""
        place = self.places.pop(machine, None)
        if place is None or place.work is None:
            return None
        work = place.work
        work.lost_with.append(machine)
        self._again(work, len(work.lost_with))
        return work

    def assign(self, now_s: float) -> list[tuple[Work, str]]:
        """What free machines do next: what they had before, if it waits, else the heaviest."""
        assigned = []
        for machine, place in self.places.items():
            if place.work is not None or place.rests_until_s > now_s:
                continue
            suitable = [work for work in self.waiting if work.machine_class == place.machine_class]
            if not suitable:
                continue
            fresh = [work for work in suitable if machine not in work.lost_with] or suitable
            work = next((work for work in fresh if work.last == machine), fresh[0])
            self.waiting.remove(work)
            place.work, work.last = work, machine
            assigned.append((work, machine))
        return assigned

    def done(self, machine: str) -> None:
        """A machine has done its task, and is free."""
        self.places[machine].work = None

    def refused(self, machine: str, now_s: float) -> None:
        """A machine is not fit: it rests, and its task goes to another."""
        place = self.places[machine]
        if place.work is not None:
            self.waiting.insert(0, place.work)
        place.work, place.rests_until_s = None, now_s + REST_S

    def failed(self, machine: str, why: str) -> None:
        """A machine could not do its task, which is nobody's result: another one tries."""
        work = self.places[machine].work
        self.places[machine].work = None
        if work is not None:
            work.failures.append(why)
            self._again(work, len(work.failures))

    def _again(self, work: Work, times: int) -> None:
        if times >= MOST_LOSSES:
            self.given_up.append(work)
        else:
            self.waiting.insert(0, work)
