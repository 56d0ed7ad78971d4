"""Pilots: short fixed work before and after each block, which tells a slow machine from slow work.

In: what the pilots around a block took, and what they take on this machine when it is calm. Out: which blocks were
calm, and what these would have taken at the clock of the reference. A block's own time has no say in that: a slow block
between fast pilots is the engine's own doing, and stays.

All constants of the method are here. `benchmarks/two_states.py` has its error rates over a grid of machines, and on
recorded traces of a real one.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

# What a pilot loads: the core (integers, floating point, branches, the first cache), the last cache with the memory
# behind it, or the clock of a device.
CORE, MEMORY, DEVICE = "core", "memory", "device"
# What the core's pilot takes at the clock at which times are stated: the machine's usual one, which its first run
# found. A busy socket's clock moves by 8 to 17 % within minutes, and all times with it. Without a usual clock, or with
# one that the run's own is far from, times are stated at the run's own: that of its reference.
CLOCK = "clock"
# Farther apart are no two clocks of one machine as it is, but those of one that was set up anew, or was never calm: the
# clock of a virtual Xeon rose by 17 % within eight minutes, and a neighbour costs 40 %.
USUAL_WITHIN = 1.25
# A pilot that takes more than this many times its reference saw a machine that is not calm. A neighbour on the other
# half of a physical core makes the core's pilot take 1.4 to 2 times as long. Below 1.1 lie the pilot's own scatter
# (0.3 %) and the clock of a busy socket, which is corrected. The memory's pilot scatters by a tenth and more after a
# block that used much of the last cache; copies on another core make it take 1.4 to 2.5 times as long.
CALM = {CORE: 1.10, MEMORY: 1.3, DEVICE: 1.10}
# The reference is what the fastest 2 % of all pilots of a run take: one lucky pilot does not set it, and a machine that
# is calm for one moment in fifty is still found. That of the core is the middle of all that would be calm by this: the
# fastest clock of a socket lasts for moments, and is up to 9 % above the one at which most calm pilots run. With the
# fastest as the reference itself, half of the calm time passed for slow (a virtual Xeon, November 2026).
REFERENCE_SHARE = 0.02
# A process has a time if so many of its blocks were calm. Fewer may all be mistakes: a neighbour that came and went
# between two pilots. Of blocks so long that few are timed, one is enough.
LEAST_CALM = 3
LONG_BLOCK_NS = 50e6
# A process's time is this share of the way up its calm blocks. Pilots do not see what comes and goes between them, and
# whatever comes makes a block longer: the middle block has some of it on a busy machine, the lower quartile hardly any.
# The fastest block is a matter of luck. `benchmarks/repeatability.py` says all three of the same runs.
UNDISTURBED_SHARE = 0.25
# Buckets in which pilots are counted: each 0.1 % wide.
BUCKET = math.log(1.001)

Pair = tuple[float, float]  # before and after a block, nanoseconds
Pilots = Mapping[str, Sequence[Pair]]  # by what they load; as many pairs as blocks
# By what they load: what a pilot takes on a calm machine, nanoseconds; and `CLOCK`.
Levels = Mapping[str, float]


def is_calm(looked: Mapping[str, float], reference: Levels) -> bool:
    """Whether pilots that were taken together say that the machine is calm.

    >>> is_calm({"core": 9.1, "memory": 12.0}, {"core": 9.0, "memory": 10.0}), is_calm({"core": 13.0}, {"core": 9.0})
    (True, False)
    """
    return all(looked[kind] <= CALM[kind] * level for kind, level in reference.items() if kind in looked)


def having_a_say(kind: str, pair: Pair) -> tuple[float, ...]:
    """The pilots of a block that say whether it was calm: both, but of the memory's the later one.

    How much of its buffer the memory's pilot finds in the last cache depends on what ran before it. That is always the
    same after a block, so that one block of a cell is compared with another; before it that may be anything.
    """
    return pair[1:] if kind == MEMORY else pair


def calm_blocks(pilots: Pilots, reference: Levels, count: int) -> list[int]:
    """Which of so many blocks lie between two calm pilots of every kind."""
    limits = {kind: CALM[kind] * reference[kind] for kind in pilots if kind in reference}
    return [
        k
        for k in range(count)
        if all(max(having_a_say(kind, pilots[kind][k])) <= limit for kind, limit in limits.items())
    ]


def corrected(block_ns: Sequence[float], pilots: Pilots, reference: Levels) -> list[float]:
    """The calm blocks, as they would be at the clock at which times are stated.

    The faster of the two pilots corrects: what slowed one of them alone was no clock. Without it a clock that a busy
    socket lowers by 10 % moves every time by 10 %.

    >>> corrected([105.0, 190.0], {"core": [(10.5, 10.6), (10.0, 16.0)]}, {"core": 9.8, "clock": 10.0})
    [100.0]
    """
    calm = calm_blocks(pilots, reference, len(block_ns))
    if CORE not in pilots or CORE not in reference or DEVICE in pilots:  # a device does not follow the core's clock
        return [block_ns[k] for k in calm]
    clock_ns = reference.get(CLOCK, reference[CORE])
    return [block_ns[k] * clock_ns / min(pilots[CORE][k]) for k in calm]


def undisturbed(calm_ns: Sequence[float]) -> float:
    """What a process's calm blocks take where nothing came between two pilots: their lower quartile, one of them.

    >>> undisturbed([13.0, 10.0, 11.0, 17.0, 12.0]), undisturbed([12.0, 10.0])
    (11.0, 10.0)
    """
    return sorted(calm_ns)[int(UNDISTURBED_SHARE * (len(calm_ns) - 1))]


class Reference:
    """What each pilot takes when the machine is calm, from all that were seen so far. A pilot more costs a count.

    usual_ns: what the core's pilot takes at the machine's usual clock, if that is known.
    """

    def __init__(self, usual_ns: float | None = None) -> None:
        self._usual_ns = usual_ns
        self._counts: dict[str, Counter[int]] = {}

    def add(self, pilots: Pilots) -> None:
        """More pilots, as a phase has them."""
        for kind, pairs in pilots.items():
            counts = self._counts.setdefault(kind, Counter())
            known = (ns for pair in pairs for ns in having_a_say(kind, pair) if ns > 0)
            counts.update(round(math.log(ns) / BUCKET) for ns in known)

    def levels(self) -> dict[str, float]:
        """By what they load, to 0.1 %, and the clock; empty before anything was seen."""
        levels = {kind: level(counts, REFERENCE_SHARE) for kind, counts in self._counts.items() if counts}
        if CORE in levels:
            most = math.log(CALM[CORE] * levels[CORE]) / BUCKET
            calm = {bucket: count for bucket, count in self._counts[CORE].items() if bucket <= most}
            levels[CORE] = level(calm, 0.5)
            levels[CLOCK] = stated_at(levels[CORE], self._usual_ns)
        return levels


def stated_at(own_ns: float, usual_ns: float | None) -> float:
    """The clock at which times are stated: the machine's usual one, unless the run's own is far from it.

    >>> stated_at(7.5, 8.0), stated_at(7.5, 12.0), stated_at(7.5, None)
    (8.0, 7.5, 7.5)
    """
    return usual_ns if usual_ns is not None and is_usual(own_ns, usual_ns) else own_ns


def is_usual(own_ns: float, usual_ns: float) -> bool:
    """Whether a run's own clock may be that of the machine as it usually is."""
    return 1.0 / USUAL_WITHIN <= own_ns / usual_ns <= USUAL_WITHIN


def level(counts: Mapping[int, int], share: float) -> float:
    """The time below which this share of the pilots lies."""
    wanted = share * sum(counts.values())
    below = 0
    for bucket in sorted(counts):
        below += counts[bucket]
        if below >= wanted:
            break
    return math.exp(bucket * BUCKET)


def reference_of(phases: Iterable[Pilots]) -> dict[str, float]:
    """The reference of a finished set of phases."""
    reference = Reference()
    for pilots in phases:
        reference.add(pilots)
    return reference.levels()
