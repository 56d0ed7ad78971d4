"""The calibration: two seconds of fixed work at the beginning of a run, which say how fast its machine was.

In: blocks of each kind of work, with pilots. Out: what each kind takes when nothing disturbs it. A slow night shows in
all kinds; machines of one class that differ, such as those with slower memory, in some.
"""

import math
from collections.abc import Mapping
from statistics import median
from typing import Annotated

from msgspec import Meta

from gradmark.records.quantities import Moment
from gradmark.records.record import Record
from gradmark.records.sample import Phase

# `copy` is between the memory of the host and that of the first GPU.
KINDS = ("integer", "floating", "memory", "allocation", "interpreter", "copy")
Kind = Annotated[str, Meta(pattern=r"^[a-z]+$")]


class Calibration(Record, frozen=True, kw_only=True):
    """What fixed work took, at one moment of a run: it has one for each time that it began or went on."""

    started: Moment
    work: dict[Kind, Phase]
    machine: str = ""  # the instance that it was made on, if the run is a fleet's; else the run's own

    @property
    def levels(self) -> dict[str, float]:
        """Nanoseconds of each kind of work when nothing disturbs it, by the same rule as the times of an engine.

        They are stated at the fastest clock of these two seconds, not at that of the run: how fast the machine was is
        what is asked for.
        """
        return {kind: phase.time_ns for kind, phase in self.work.items()}


def levels_of(calibrations: "list[Calibration]") -> dict[str, float]:
    """What a run's machine took for each kind of work; the fastest, if it was calibrated several times."""
    every = [calibration.levels for calibration in calibrations]
    kinds = dict.fromkeys(kind for levels in every for kind in levels)
    return {kind: min(levels[kind] for levels in every if kind in levels) for kind in kinds}


def speed(levels: Mapping[str, float], usual: Mapping[str, float]) -> float | None:
    """How many times as long fixed work takes as it usually does: the middle kind of those that both know.

    >>> usual = {"integer": 10.0, "memory": 10.0, "interpreter": 10.0}
    >>> round(speed({"integer": 11.0, "memory": 30.0, "interpreter": 11.0}, usual), 6)
    1.1
    """
    ratios = [levels[kind] / usual[kind] for kind in levels if usual.get(kind, 0.0) > 0 and levels[kind] > 0]
    return math.exp(median(map(math.log, ratios))) if ratios else None
