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
    OTHER = "other"  # from an older file, of which only the text is known: `reason`


# The numbers without which a warning cannot be said.
NUMBERS = {
    Code.UNFINISHED: ("late_ns",),
    Code.UNREPEATABLE: ("apart_ns", "together_ns"),
    Code.UNSTEADY: ("spread",),
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
