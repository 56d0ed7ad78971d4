"""Unsettled: which cells of a run another process may settle. Every machine that carries out a run asks this.

In: a run as it stands. Out: cells.
"""

from gradmark.analyse import standings
from gradmark.records import Cell, Run
from gradmark.records.agreement import agreed

# More engines than this are a comparison of all, which asks who is the fastest.
FEW_ENGINES = 4


def unsettled(run: Run) -> list[Cell]:
    """The cells that another process may settle.

    In a quick comparison of many engines, those that may be the fastest of their row; else those whose processes do not
    agree on a time.
    """
    if len({measurement.cell.engine for measurement in run.measurements}) > FEW_ENGINES and not run.settings.full:
        return standings.unsettled(run.measurements)
    return [measurement.cell for measurement in run.measurements if not agreed(measurement)]
