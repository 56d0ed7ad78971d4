"""Words: what a time is, and warnings as sentences. A warning is a code and numbers until here.

In: a warning. Out: one sentence or two that say what is wrong and what to do.
"""

from collections.abc import Iterable

from gradmark import units
from gradmark.records import Code, Warning
from gradmark.records.sample import How

# What every time is, in legends and captions; and what it is in files without pilots.
TIMES = "measured in calm moments, at one clock speed"
WITHOUT_PILOTS = "fastest block (no pilots)"
# The same on an axis.
ON_AXIS = "calm time"
# What to do about a machine that was slow.
LOOK = "`gradmark doctor` shows the machine's states"


# A time that an engine took itself, of its own runs.
SELF_TIMED = "*"


def time_taken(ns: float, how: How) -> str:
    """A time in a sentence or a table of engines side by side; the mark of one that the engine took itself."""
    return units.time(ns) + (SELF_TIMED if how == "self-timed" else "")


def times_are(watched: Iterable[bool]) -> str:
    """What the times of some rows are, by whether pilots watched each.

    >>> times_are([True, True]), times_are([])
    ('measured in calm moments, at one clock speed', 'measured in calm moments, at one clock speed')
    """
    kinds = set(watched)
    if kinds == {False}:
        return WITHOUT_PILOTS
    return TIMES if False not in kinds else f"{TIMES} (no pilots: fastest block)"


def sentence(warning: Warning) -> str:
    """What a warning says.

    >>> sentence(Warning(code=Code.UNCHECKED, reason="the function has a kink at input 0 = 0.0"))
    'The gradient was not checked: the function has a kink at input 0 = 0.0. Choose other inputs to have it checked.'
    """
    numbers = warning.numbers
    match warning.code:
        case Code.UNCHECKED:
            return f"The gradient was not checked: {warning.reason}. Choose other inputs to have it checked."
        case Code.NO_VALUE:
            return (
                "The value was not checked: the session does not return it. Let `forward` and `total` return it, or "
                "give the session `value`."
            )
        case Code.UNFINISHED:
            return (
                f"Work seems to continue for {units.time(numbers['late_ns'])} after the clock is read, so the times "
                "are too small. Give the session a `synchronize` that waits."
            )
        case Code.UNREPEATABLE:
            return (
                f"In every process forward and backward apart take {units.time(numbers['apart_ns'])}, together "
                f"{units.time(numbers['together_ns'])}: backward does less when it is repeated on one recording. It is "
                "shown as total − forward. Let the session leave `backward` out and give `total` instead."
            )
        case Code.UNSTEADY:
            return f"The time is known only to {units.within(numbers['spread'])}: measure again with more processes."
        case Code.NEVER_CALM:
            return f"The machine was never calm: the time is shown, and decides nothing. Measure again; {LOOK}."
        case Code.LAUNCH_BOUND:
            return (
                f"Launch-bound: the host takes {units.time(numbers['host_ns'])} to ask for an iteration, which the "
                f"device, back to back, finishes every {units.time(numbers['hot_ns'])}. Fewer and larger kernels, or a "
                "captured graph, would make it faster; faster kernels would not."
            )
        case Code.CACHE_FLATTERED:
            return (
                f"Back to back an iteration takes {units.time(numbers['hot_ns'])}, with flushed caches "
                f"{units.time(numbers['cold_ns'])}: what it reads fits into the device's cache. A loop that times it "
                "there says little about a program that does other work in between."
            )
        case Code.BEYOND_MEMORY:
            return (
                f"It reads its inputs at {units.traffic(numbers['bytes_per_s'])}, and a copy on this device reaches "
                f"{units.traffic(numbers['roof_bytes_per_s'])}: they come from a cache that was not flushed, or it "
                "does not read them all."
            )
        case Code.THROTTLED:
            return (
                f"{numbers['dropped']:.0f} of {numbers['samples']:.0f} samples were dropped: the device's clock was "
                "lowered meanwhile. Let it cool, or lower its power limit, and measure again."
            )
        case Code.NOT_WAITED:
            return (
                f"`synchronize` returned {units.time(numbers['late_ns'])} before the device had finished. These times "
                "are right, as the device took them; anyone who times this session by the host's clock "
                "measures too little."
            )
        case Code.DONE_TWICE:
            return (
                f"An iteration launches {numbers['kernels']:.0f} kernels, forward and backward by themselves "
                f"{numbers['apart_kernels']:.0f}: the work is done twice, and timed twice."
            )
        case Code.OTHER:
            return warning.reason
