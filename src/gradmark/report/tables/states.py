"""States of a core in a terminal: a row of marks over the time that it was watched, and a line for each state.

In: the states of a core. Out: lines of at most 74 columns.
"""

from collections.abc import Mapping

from gradmark import units
from gradmark.analyse.states import Dwell, State, States, timeline

MARKS = 60
# What share of a mark's time must be calm for it to be drawn low, or half high.
LOW, HALF = 0.9, 0.5
Signs = tuple[str, str, str, str]
# Calm, partly calm, slow, taken by others; and where the encoding lacks these characters.
SIGNS, PLAIN_SIGNS = ("▁", "▄", "█", "×"), ("_", "-", "#", "x")
# A drift of the clock that is worth a word.
DRIFT = 0.01


def legend(states: States, encoding: str | None) -> str:
    """What the marks mean."""
    watched_ns = sum(visit[-1].to_ns - visit[0].from_ns for visit in states.visits)
    each = units.time(watched_ns / len(timeline(states, MARKS)))
    calm, partly, slow, taken = signs_of(encoding)
    return f"each mark is {each}: {calm} calm, {partly} partly calm, {slow} slow, {taken} taken by others"


def lines(states: States, encoding: str | None) -> list[str]:
    """The marks, and how long and how strong the states are that were seen."""
    signs = signs_of(encoding)
    texts = ["".join(mark(part, signs) for part in timeline(states, MARKS))]
    if (dwell := states.dwell("calm")) is not None:
        texts.append(f"calm: {lasting(dwell)}; {drifting(states.drift)}")
    if (dwell := states.dwell("slow")) is not None and states.ratio is not None:
        texts.append(f"slow, {percentage(states.share('slow'))}: {states.ratio:.2f} times as long; {lasting(dwell)}")
    if (dwell := states.dwell("taken")) is not None:
        texts.append(f"taken by others, {percentage(states.share('taken'))}: {lasting(dwell)}")
    return texts


def mark(part: Mapping[State, float], signs: Signs = SIGNS) -> str:
    """The mark of a part of the time, by the shares of the states in it.

    >>> mark({"calm": 0.95, "slow": 0.05, "taken": 0.0}), mark({"calm": 0.4, "slow": 0.1, "taken": 0.5})
    ('▁', '×')
    """
    calm, partly, slow, taken = signs
    if part["calm"] >= HALF:
        return calm if part["calm"] >= LOW else partly
    return taken if part["taken"] > part["slow"] else slow


def signs_of(encoding: str | None) -> Signs:
    """The signs that an encoding has.

    >>> signs_of("utf-8"), signs_of("ascii")
    (('▁', '▄', '█', '×'), ('_', '-', '#', 'x'))
    """
    try:
        "".join(SIGNS).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN_SIGNS
    return SIGNS


def percentage(share: float) -> str:
    """A share as it is said: a little is not nothing, and almost all is not all.

    >>> percentage(0.843), percentage(0.0004), percentage(0.9996), percentage(1.0)
    ('84 %', 'under 1 %', 'over 99 %', '100 %')
    """
    if 0.0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= share < 1.0 else f"{100 * share:.0f} %"


def lasting(dwell: Dwell) -> str:
    """How long a state lasts at a time.

    >>> lasting(Dwell(median_ns=4.2e6, longest_ns=6e7))
    '4.20 ms at a time (longest 60.0 ms)'
    """
    return f"{units.time(dwell.median_ns)} at a time (longest {units.time(dwell.longest_ns)})"


def drifting(drift: float | None) -> str:
    """What the clock did meanwhile.

    >>> drifting(0.002), drifting(0.031)
    ('the clock drifts by 0.2 %', 'the clock drifts by 3.1 %, which is corrected')
    """
    if drift is None:
        return "too short to tell the clock's drift"
    return f"the clock drifts by {100 * drift:.1f} %" + (", which is corrected" if drift >= DRIFT else "")
