"""Warnings: what a reader must know of a measurement, as a code and numbers. The text is made last, by `report`."""

from enum import StrEnum

from gradmark.records.record import Record


class Code(StrEnum):
    """What is wrong. What happens after a warning is decided by its code."""

    UNCHECKED = "unchecked"  # there is no reference for the gradient; `reason` says why
    UNFINISHED = "unfinished"  # work went on after the clock was read: the times are too small
    UNREPEATABLE = "unrepeatable"  # in every process forward and backward apart take far less than together
    UNSTEADY = "unsteady"  # the processes disagree
    NEVER_CALM = "never-calm"  # no process saw a calm machine: the time is shown, and decides nothing
    OTHER = "other"  # from an older file, of which only the text is known: `reason`


class Warning(Record, frozen=True, kw_only=True):
    """One warning. `numbers` are what it is about, in the units of their names."""

    code: Code
    numbers: dict[str, float] = {}
    reason: str = ""  # in the words of whoever knew it: an exception, an older file
