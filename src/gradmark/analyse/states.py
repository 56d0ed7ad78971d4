"""States: what a series of pilots says of a core. When was it calm, when slow, and when did others have it?

In: pilots taken one after another, each with its time, and what a pilot takes when the machine is calm. Out: stretches
of one state, and a summary of them.

A neighbour on the other half of a physical core makes every pilot slow for a while: that is a state. An interrupt makes
one or two pilots slow, and a switch between programs the next few: these are no states, and the pilots around them
outvote them. Where the next pilot comes late, another program had the core.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from statistics import median
from typing import Literal, NamedTuple

from gradmark.records.pilots import CALM, CORE, reference_of

State = Literal["calm", "slow", "taken"]
# Of so many pilots in a row, the one in the middle has the state of most. They take 0.2 ms: what is shorter than half
# of that is no state, and neighbours come and go in milliseconds.
VOTERS = 21
# A pilot that is followed by the next only after so many references lost the core: no interrupt takes 0.1 ms.
TAKEN = 10.0
# The clock's level is the median of the calm pilots of so long; with fewer than this many it is not told.
LEVEL_NS = 50_000_000
LEAST_PILOTS = 20


class Look(NamedTuple):
    """One pilot: when it began, and what it took. Nanoseconds."""

    at_ns: int
    pilot_ns: int


Visit = Sequence[Look]  # pilots without a pause between them


class Stretch(NamedTuple):
    """A time in one state."""

    state: State
    from_ns: int
    to_ns: int

    @property
    def length_ns(self) -> int:
        """How long it lasted."""
        return self.to_ns - self.from_ns


class Dwell(NamedTuple):
    """How long a state lasts at a time."""

    median_ns: float
    longest_ns: float


class States(NamedTuple):
    """The states of one core over the time that it was watched."""

    visits: list[list[Stretch]]
    ratio: float | None  # how many times as long a pilot takes in the slow state; None if that was not seen
    drift: float | None  # how far apart the calm levels of the clock are; None if none was seen

    def share(self, state: State) -> float:
        """How much of the time watched it was in this state."""
        watched = sum(stretch.length_ns for stretch in self._seen())
        return sum(stretch.length_ns for stretch in self._seen() if stretch.state == state) / watched

    def dwell(self, state: State) -> Dwell | None:
        """How long the state lasts at a time; None if it was not seen. What lasts longer than a visit is cut."""
        lengths = [stretch.length_ns for stretch in self._seen() if stretch.state == state]
        return Dwell(median(lengths), max(lengths)) if lengths else None

    def _seen(self) -> list[Stretch]:
        return [stretch for visit in self.visits for stretch in visit]


def reference_ns(cores: Iterable[Sequence[Visit]]) -> float:
    """What a pilot takes on a calm machine: the least reference of any core, so that an ever slow one is seen."""
    looked = ([(look.pilot_ns, look.pilot_ns) for visit in visits for look in visit] for visits in cores)
    return min(reference_of([{CORE: pairs}])[CORE] for pairs in looked)


def states(visits: Sequence[Visit], reference: float) -> States:
    """All visits to one core, each of one pilot at least. What lay between two visits nobody saw."""
    slow: list[int] = []
    calm: dict[tuple[int, int], list[int]] = defaultdict(list)
    stretches = []
    for number, visit in enumerate(visits):
        judged = judge(visit, reference)
        for look, state in zip(visit, judged, strict=True):
            if state == "slow":
                slow.append(look.pilot_ns)
            elif look.pilot_ns <= CALM[CORE] * reference:
                calm[number, look.at_ns // LEVEL_NS].append(look.pilot_ns)
        stretches.append(joined(visit, judged))
    levels = [median(pilots) for pilots in calm.values() if len(pilots) >= LEAST_PILOTS]
    return States(
        visits=stretches,
        ratio=median(slow) / reference if slow else None,
        drift=max(levels) / min(levels) - 1.0 if levels else None,
    )


def judge(visit: Visit, reference: float) -> list[State]:
    """The state of each pilot."""
    limit = CALM[CORE] * reference
    before = [0, *accumulate(look.pilot_ns > limit for look in visit)]  # slow ones before each
    judged: list[State] = []
    for place in range(len(visit)):
        first, last = max(0, place - VOTERS // 2), min(len(visit), place + VOTERS // 2 + 1)
        judged.append("slow" if 2 * (before[last] - before[first]) > last - first else "calm")
    for place, (look, until_ns) in enumerate(zip(visit, _ends(visit), strict=True)):
        if until_ns - look.at_ns > TAKEN * reference:
            judged[place] = "taken"
    return judged


def joined(visit: Visit, judged: Sequence[State]) -> list[Stretch]:
    """Neighbours of the same state as one stretch. A stretch begins where the one before it ends."""
    stretches: list[Stretch] = []
    for look, until_ns, state in zip(visit, _ends(visit), judged, strict=True):
        if stretches and stretches[-1].state == state:
            stretches[-1] = Stretch(state, stretches[-1].from_ns, until_ns)
        else:
            stretches.append(Stretch(state, look.at_ns, until_ns))
    return stretches


def timeline(core_states: States, width: int) -> list[dict[State, float]]:
    """The time watched in so many equal parts, or a few less: each has the shares of the states in it.

    Every visit has the same number of parts, one at least.
    """
    parts = max(1, width // len(core_states.visits))
    return [part for visit in core_states.visits for part in _parts(visit, parts)]


def _parts(visit: Sequence[Stretch], count: int) -> list[dict[State, float]]:
    start_ns = visit[0].from_ns
    length_ns = (visit[-1].to_ns - start_ns) / count
    parts: list[dict[State, float]] = [{"calm": 0.0, "slow": 0.0, "taken": 0.0} for _ in range(count)]
    for stretch in visit:
        begin, end = ((ns - start_ns) / length_ns for ns in (stretch.from_ns, stretch.to_ns))
        for place in range(int(begin), min(count, int(end) + 1)):
            parts[place][stretch.state] += min(end, place + 1) - max(begin, place)
    return parts


def _ends(visit: Visit) -> list[int]:
    """When each pilot is followed by the next; the last one when it ends."""
    return [*(look.at_ns for look in visit[1:]), visit[-1].at_ns + visit[-1].pilot_ns]
