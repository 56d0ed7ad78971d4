"""Standings: the engines of one row side by side. Who is fastest or as fast, and what a compiler pays back.

In: the measurements of one workload, size and dtype. Out: a `Standing` for each engine that was timed.
"""

import math
from collections.abc import Sequence

import msgspec

from gradmark.analyse.paired import compare
from gradmark.records import Measurement, Record

# Floors of equal things differ by up to 2 % with many processes, and by more with the two that a quick comparison has.
TIE = 1.05
# The engine whose adjoints are written by hand.
FLOOR = "manual"
# A double has no more digits, and an error of zero no logarithm.
MOST_DIGITS = 16.0
# Beyond this nobody waits for the difference.
NEVER = 10**12


class Standing(Record, frozen=True, kw_only=True):
    """An engine in its row. Ratios are of the floors of total."""

    engine: str
    total_ns: float
    to_fastest: float
    low: float
    high: float
    first: bool  # the fastest, or not told from it
    to_floor: float | None = None
    first_call_ns: float | None = None  # prepare and the first call: trace, compile, fill caches
    peak_bytes: int | None = None
    digits: float | None = None
    on_front: bool = False  # no other is at least as good in time, memory and digits, and better in one
    # other engine: calls after which this one has taken less time in all; None: never, 0: from the first call on
    pays_back: dict[str, int | None] = {}


def rows_of(measurements: Sequence[Measurement]) -> dict[str, list[Measurement]]:
    """Measurements that did the same work, by workload, size and dtype; devices stand side by side."""
    found: dict[str, list[Measurement]] = {}
    for m in measurements:
        cell = m.cell
        found.setdefault(f"{cell.task} of {cell.file}" if cell.file else cell.task, []).append(m)
    return found


def standings(row: Sequence[Measurement]) -> list[Standing]:
    """One for each measurement with a total, in the same order."""
    floors = {m.cell.engine: found for m in row if m.status == "ok" and (found := _floors(m))}
    if not floors:
        return []
    fastest = min(floors, key=lambda engine: min(floors[engine].values()))
    by_hand = min(floors[FLOOR].values()) if FLOOR in floors else None
    timed = [m for m in row if m.cell.engine in floors]
    points = {m.cell.engine: _point(m, min(floors[m.cell.engine].values())) for m in timed}
    return [_standing(m, floors, fastest, by_hand, points) for m in timed]


def _standing(
    m: Measurement,
    floors: dict[str, dict[int, float]],
    fastest: str,
    by_hand: float | None,
    points: dict[str, tuple[float, float, float]],
) -> Standing:
    engine = m.cell.engine
    ours, best = floors[engine], floors[fastest]
    rounds = sorted(ours.keys() & best.keys())
    total = min(ours.values())
    ratio = low = high = total / min(best.values())
    if rounds and engine != fastest:
        found = compare("total", [best[r] for r in rounds], [ours[r] for r in rounds])
        low, high = min(found.low, ratio), max(found.high, ratio)
    once = _once(m)
    return Standing(
        engine=engine,
        total_ns=total,
        to_fastest=ratio,
        low=low,
        high=high,
        first=ratio <= TIE or low <= 1.0,
        to_floor=None if by_hand is None else total / by_hand,
        first_call_ns=once,
        peak_bytes=None if m.memory is None else m.memory.peak_bytes,
        digits=_digits(m),
        on_front=not any(_better(point, points[engine]) for point in points.values()),
        pays_back={},
    )


def with_pay_back(found: Sequence[Standing]) -> list[Standing]:
    """The same, each with the calls after which it has paid back its first call against each other."""
    return [
        msgspec.structs.replace(
            one,
            pays_back={
                other.engine: pays_back(one.first_call_ns, one.total_ns, other.first_call_ns, other.total_ns)
                for other in found
                if other is not one and one.first_call_ns is not None and other.first_call_ns is not None
            },
        )
        for one in found
    ]


def pays_back(first: float | None, each: float, their_first: float | None, their_each: float) -> int | None:
    """The least n with first + n·each ≤ theirs; None if there is none.

    >>> pays_back(1000.0, 10.0, 100.0, 40.0)
    30
    """
    ahead = (first or 0.0) - (their_first or 0.0)
    if ahead <= 0:
        return 0 if each <= their_each else None
    if each >= their_each:
        return None
    calls = math.ceil(ahead / (their_each - each))
    return calls if calls < NEVER else None


def _floors(m: Measurement) -> dict[int, float]:
    """The floor of total in each process."""
    return {s.process: s.phases["total"].floor_ns for s in m.samples if "total" in s.phases}


def _once(m: Measurement) -> float | None:
    """The least time of preparing and calling for the first time."""
    times = [
        s.once_ns["prepare"] + s.once_ns["first_call"]
        for s in m.samples
        if {"prepare", "first_call"} <= s.once_ns.keys()
    ]
    return min(times, default=None)


def _digits(m: Measurement) -> float | None:
    if m.accuracy is None:
        return None
    error = m.accuracy.relative_error
    return MOST_DIGITS if error <= 10**-MOST_DIGITS else max(0.0, -math.log10(error))


def _point(m: Measurement, total: float) -> tuple[float, float, float]:
    """Time, memory, digits lost: less is better. Whole digits: parts of one are chance."""
    peak = m.memory.peak_bytes if m.memory is not None and m.memory.peak_bytes is not None else math.inf
    digits = _digits(m)
    return total, peak, math.inf if digits is None else -float(round(digits))


def _better(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
