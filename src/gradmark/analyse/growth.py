"""Growth: which measurements of a run belong on one curve, and how all of them grow.

In: a run. Out: its families of sizes, their fits, and the suspects for what grows too fast.
"""

from typing import NamedTuple

from gradmark.analyse.scaling import fits, swept, work
from gradmark.analyse.suspects import Suspect, suspects
from gradmark.records import Cell, Fit, Measurement, Run
from gradmark.records.derivative import FACTS
from gradmark.records.metric import metric

# Three sizes fit any curve of three parameters, and memory grows in steps.
LEAST_SIZES = 4


class Curves(NamedTuple):
    """The fits of one family, whose cell has a star for the size."""

    cell: Cell
    fits: list[Fit]

    @property
    def name(self) -> str:
        """The family's name, `poly/n=*@tapegrad`."""
        return self.cell.id


class Growth(NamedTuple):
    """How the costs of a run grow: the fits of each family, and what to suspect of the steep ones."""

    curves: list[Curves]
    suspects: list[Suspect]


def growth(run: Run) -> Growth:
    """The fits of every engine and workload with enough sizes, and the suspects for what grows too fast."""
    fitted: list[Curves] = []
    suspected: list[Suspect] = []
    for (name, parameter), measurements in families(run).items():
        family = Curves(swept(measurements[0].cell, parameter), fits(measurements, parameter))
        fitted.append(family)
        if FACTS[family.cell.derivative].form != "matrix":  # which has a row for each column: no defect
            suspected += suspects(family.fits, memory(measurements), name)
    return Growth(fitted, suspected)


def memory(measurements: list[Measurement]) -> tuple[float, float] | None:
    """The peak memory of the smallest and of the largest size, of work on arrays where it was counted."""
    peaks = [peak for m in measurements if m.shapes and (peak := metric("peak_bytes").number(m))]
    return (min(peaks), max(peaks)) if peaks else None


def families(run: Run) -> dict[tuple[str, str], list[Measurement]]:
    """Measurements that differ in one parameter alone, by name (`poly/n=*@tapegrad`) and parameter.

    Sizes of 0 have no place on a curve.
    """
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for measurement in run.measurements:
        for parameter, value in measurement.cell.params.items():
            size = work(measurement) or value
            if measurement.status != "ok" or isinstance(value, str) or isinstance(size, str) or size <= 0:
                continue
            name = swept(measurement.cell, parameter).id
            groups.setdefault((name, parameter), []).append(measurement)
    return {key: members for key, members in groups.items() if len(members) >= LEAST_SIZES}
