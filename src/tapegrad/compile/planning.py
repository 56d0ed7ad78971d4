"""Planning of memory: in which order groups are executed, and where what they leave in memory lies.

In: groups, what each leaves in memory, when that is needed, and where a kernel may write over what it reads. Out: an
order that needs little at a time, and a place for every temporary array: in memory of the function's own, or in a
result that is not written yet. Two lie in the same place if they are never needed at the same time.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tapegrad.compile.fusion import Group
from tapegrad.compile.symbol import Node

ALIGNED = 64
# The order is chosen by looking at all groups that are ready, for each that is executed.
MOST_ORDERED = 500
# An order that needs less than this of the other's memory on average is taken; else what belongs together stays so.
WORTH_REORDERING = 0.95
# Less is not worth an address that must be noted in each call.
LEAST_LENT = 1 << 16

Life = tuple[int, int]  # the first and the last group during which something is needed


def exact_bytes(node: Node) -> int:
    """The memory of a node's numbers."""
    return int(math.prod(node.shape) * node.dtype.itemsize)


def padded(size: int) -> int:
    """So many bytes in whole lines of the cache."""
    return -(-size // ALIGNED) * ALIGNED


def nbytes(node: Node) -> int:
    """The memory of a node's numbers, with what is left empty behind them."""
    return padded(max(exact_bytes(node), 1))


@dataclass
class Traffic:
    """For each group, by its place in the order of creation: what it leaves in memory, and what it reads there."""

    written: list[list[Node]]
    read: list[list[Node]]
    kept: set[int]  # by identity, what stays to the end or is nobody's to free


def use(order: Sequence[int], traffic: Traffic) -> tuple[int, int]:
    """The most memory that is in use at a time, and its sum over all groups."""
    readers = counted(traffic)
    now = most = whole = 0
    for place in order:
        now += sum(nbytes(node) for node in traffic.written[place] if id(node) not in traffic.kept)
        most, whole = max(most, now), whole + now
        for node in traffic.read[place]:
            readers[id(node)] -= 1
            if not readers[id(node)] and id(node) not in traffic.kept:
                now -= nbytes(node)
    return most, whole


def counted(traffic: Traffic) -> dict[int, int]:
    """How many groups read each node."""
    readers: dict[int, int] = {}
    for nodes in traffic.read:
        for node in nodes:
            readers[id(node)] = readers.get(id(node), 0) + 1
    return readers


def frugal(groups: list[Group], traffic: Traffic) -> list[Group]:
    """The groups in an order in which they need less memory at a time; as they are if none is found.

    What is ready is executed as it comes, but first whatever frees more than it leaves in memory. Results count as
    what is left: while they are not written, other arrays may lie there."""
    if len(groups) > MOST_ORDERED:
        return groups
    readers = counted(traffic)
    done: set[int] = set()
    waiting = list(range(len(groups)))
    order: list[int] = []

    def growth(place: int) -> int:
        freed = [node for node in traffic.read[place] if readers[id(node)] == 1 and id(node) not in traffic.kept]
        return sum(map(nbytes, traffic.written[place])) - sum(map(nbytes, freed))

    while waiting:
        ready = [place for place in waiting if groups[place].needs <= done]
        best = min(ready, key=lambda place: (growth(place) > 0, place))
        waiting.remove(best)
        order.append(best)
        done.add(groups[best].number)
        for node in traffic.read[best]:
            readers[id(node)] -= 1
    (most, whole), (most_before, whole_before) = use(order, traffic), use(range(len(groups)), traffic)
    if most > most_before or whole > WORTH_REORDERING * whole_before:
        return groups
    return [groups[place] for place in order]


@dataclass
class Box:
    """Arrays that lie at the same place one after the other, each written over the one before."""

    nodes: list[Node]
    size: int
    life: Life


@dataclass
class Region:
    """Memory that boxes lie in: the function's own, or a result's until it is written."""

    result: Node | None
    size: int | None
    until: int  # the group that writes the result
    placed: list[tuple[int, int, Life]] = field(default_factory=list)

    def place_for(self, box: Box) -> int | None:
        """The lowest place that is free for a box's whole life."""
        if box.life[1] >= self.until:
            return None
        at = 0
        for begin, end, (born, gone) in sorted(self.placed):
            if born <= box.life[1] and box.life[0] <= gone:
                if at + box.size <= begin:
                    break
                at = max(at, end)
        return at if self.size is None or at + exact_bytes(box.nodes[0]) <= self.size else None

    def take(self, box: Box, at: int) -> None:
        """Puts a box there."""
        self.placed.append((at, at + box.size, box.life))


@dataclass
class Plan:
    """Where temporary arrays lie: the result (None: own memory) and how many bytes behind its start."""

    places: dict[int, tuple[Node | None, int]]
    total: int  # of own memory


def planned(
    temporary: list[Node],
    results: list[Node],
    lives: dict[int, Life],
    over: Iterable[tuple[Node, Node]],
    end: int,
) -> Plan:
    """Places for temporary arrays. over: what may be written over what, as the kernel that does it reads each number
    before it writes it; end: the number of groups."""
    boxes = {id(node): Box([node], nbytes(node), lives[id(node)]) for node in temporary}
    hosts = {id(node): Region(node, exact_bytes(node), lives[id(node)][0]) for node in results}
    regions = [*hosts.values(), Region(None, None, end + 2)]
    places: dict[int, tuple[Node | None, int]] = {}
    written_over: set[int] = set()
    for old, new in over:
        box = boxes.get(id(old))
        if box is None or id(new) in written_over or exact_bytes(old) != exact_bytes(new):
            continue
        if box.nodes[-1] is not old or id(old) in places or lives[id(old)][1] != lives[id(new)][0]:
            continue
        if id(new) in boxes and boxes[id(new)].nodes[0] is new:
            following = boxes[id(new)]
            box.nodes += following.nodes
            box.life = box.life[0], following.life[1]
            for node in following.nodes:
                boxes[id(node)] = box
        elif id(new) in hosts and not hosts[id(new)].placed:  # its last user writes the result over it
            hosts[id(new)].take(box, 0)
            places |= {id(node): (new, 0) for node in box.nodes}
        else:
            continue
        written_over.add(id(new))
    waiting = {id(box): box for box in boxes.values() if id(box.nodes[0]) not in places}
    for box in sorted(waiting.values(), key=lambda box: -box.size):
        for region in regions if box.size >= LEAST_LENT else regions[-1:]:
            at = region.place_for(box)
            if at is not None:
                region.take(box, at)
                places |= {id(node): (region.result, at) for node in box.nodes}
                break
    return Plan(places, max([0, *(end for _, end, _ in regions[-1].placed)]))
