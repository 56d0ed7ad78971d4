"""The number: one metric of one cell, as it is shown and compared everywhere."""

from collections.abc import Mapping
from typing import TypeVar

from gradmark.records.record import Record
from gradmark.records.sample import How

# Whose time stands for a row, the first that there is: an engine that only evaluates has no total.
OF_ROW = ("total", "primal")
Time = TypeVar("Time")


def of_row(by_phase: Mapping[str, Time]) -> Time | None:
    """The one time that stands for a row, of numbers or samples by phase; None if there is none.

    >>> of_row({"primal": 3.0, "total": 5.0}), of_row({"primal": 3.0}), of_row({})
    (5.0, 3.0, None)
    """
    return next((by_phase[name] for name in OF_ROW if name in by_phase), None)


class Number(Record, frozen=True, kw_only=True):
    """One number. Of a time, `value` is the calm time; the rest says how far to trust it."""

    value: float
    how: How = "measured"
    processes: int = 0  # that it was seen in; 0 for what is counted once for the cell
    calm: bool = True  # False: no process saw a calm machine, so that it is shown, and decides nothing
    spread: float | None = None  # half the width of the interval, as a share; None for one process
    # The median over processes, with its interval. It is the value, but for files without pilots.
    median: float | None = None
    low: float | None = None
    high: float | None = None
    coverage: float | None = None  # of low to high; where it is below 0.95 that is a range, not an interval
