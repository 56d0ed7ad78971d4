"""Warnings: what a reader must know of a measurement, as a code and numbers. The text is made last, by `report`."""

from enum import StrEnum

from gradmark.records.quantities import Amount
from gradmark.records.record import Record


class Code(StrEnum):
    """What is wrong. What happens after a warning is decided by its code."""

    UNCHECKED = "unchecked"  # there is no reference for the gradient; `reason` says why
    NO_VALUE = "no-value"  # the session gives no value: only its gradient was checked
    UNFINISHED = "unfinished"  # work seems to go on after the clock is read: the times may be too small
    UNREPEATABLE = "unrepeatable"  # in every process forward and backward apart take far less than together
    UNSTEADY = "unsteady"  # the processes disagree
    NEVER_CALM = "never-calm"  # no process saw a calm machine: the time is shown, and decides nothing
    LAUNCH_BOUND = "launch-bound"  # the host takes longer to ask for the work than the device to do it
    CACHE_FLATTERED = "cache-flattered"  # back to back the device finds its numbers in its cache
    BEYOND_MEMORY = "beyond-memory"  # faster than the device copies: the caches were not flushed
    THROTTLED = "throttled"  # samples that the device took at a lower clock were dropped
    NOT_WAITED = "not-waited"  # the session's `synchronize` returns while the device is still at work
    DONE_TWICE = "done-twice"  # one iteration launches what forward and backward launch, and all of it again
    OTHER = "other"  # from an older file, of which only the text is known: `reason`


# The numbers without which a warning cannot be said.
NUMBERS = {
    Code.UNFINISHED: ("late_ns",),
    Code.UNREPEATABLE: ("apart_ns", "together_ns"),
    Code.UNSTEADY: ("spread",),
    Code.LAUNCH_BOUND: ("host_ns", "hot_ns"),
    Code.CACHE_FLATTERED: ("hot_ns", "cold_ns"),
    Code.BEYOND_MEMORY: ("bytes_per_s", "roof_bytes_per_s"),
    Code.THROTTLED: ("dropped", "samples"),
    Code.NOT_WAITED: ("late_ns",),
    Code.DONE_TWICE: ("kernels", "apart_kernels"),
}


class Warning(Record, frozen=True, kw_only=True):
    """One warning. `numbers` are what it is about, in the units of their names."""

    code: Code
    numbers: dict[str, Amount] = {}
    reason: str = ""  # in the words of whoever knew it: an exception, an older file

    def __post_init__(self) -> None:
        lacking = [name for name in NUMBERS.get(self.code, ()) if name not in self.numbers]
        if lacking:
            raise ValueError(f"Expected the number {lacking[0]!r} of a warning {self.code.value!r}, got none")
