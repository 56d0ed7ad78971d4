"""Changes: when did a series of times step up or down, and was it the series or the machine under all of them?

In: the series of one group, measured together night by night. Out: the steps of each that the others do not share, and
the steps that they share.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gradmark.records import Record

# A step is reported from this share on: what interleaved floors can tell from noise.
LEAST_STEP = 0.05
# Points that a level must hold; fewer cannot be told from a bad night or two.
LEAST_POINTS = 4
# A step is beyond so many standard deviations of the points around their levels.
DEVIATIONS = 3.0
# Of the points on each side, so many must lie on their side of the middle: a series that jumps to and fro has no step.
APART = 0.8
# The penalty of a change point is this times 2·log(n), that of the Bayesian information criterion being 1: a level and
# a place are two parameters, and one more for the points that depend on each other.
PENALTY = 3.0
# Equal times differ by this at least; a series of almost equal numbers would else have a step at every rounding.
LEAST_DEVIATION = 0.005
# So many of a group that step within a night of each other step together.
MANY = 1 / 3
# With fewer series beside it, one that steps by itself would be taken for what is common.
LEAST_OTHERS = 3

Series = Sequence[float | None]


class Change(Record, frozen=True, kw_only=True):
    """A step: the place of the first point on the new level, and the new level against the old one."""

    place: int
    ratio: float


def changes(group: Mapping[str, Series]) -> tuple[dict[str, list[Change]], list[Change]]:
    """The steps of each series of a group by itself, and those of the whole group.

    What is common is the median over the other series of their distances from their own medians. It is taken off before
    steps are looked for, so that a machine that became slower accuses no series. Nor does it where it became slower for
    a part of them, such as those that do not fit a smaller cache: what many do in the same night is no one's own.

    >>> flat = {f"row {k}": [100.0 + k] * 12 for k in range(5)}
    >>> own, together = changes({**flat, "slow": [50.0] * 6 + [60.0] * 6})
    >>> own["slow"], own["row 0"], together
    ([Change(place=6, ratio=1.2)], [], [])
    """
    import numpy as np

    names = list(group)
    logs = np.array([[math.log(x) if x is not None and x > 0 else math.nan for x in group[name]] for name in names])
    if logs.size == 0:
        return {name: [] for name in names}, []
    centred = logs - np.array([[_median(row)] for row in logs])
    own = {}
    for place, name in enumerate(names):
        others = np.delete(centred, place, axis=0)
        own[name] = steps(centred[place] - _common(others) if len(others) >= LEAST_OTHERS else centred[place])
    if len(names) <= LEAST_OTHERS:
        return own, []
    many = max(2.0, MANY * len(names))
    alone = {
        name: [
            c for c in found if sum(any(abs(o.place - c.place) <= 1 for o in other) for other in own.values()) < many
        ]
        for name, found in own.items()
    }
    return alone, steps(_common(centred))


def steps(logs: Any) -> list[Change]:
    """Steps of a series of logarithms; missing points are not numbers, and are passed over.

    PELT (Killick, Fearnhead, Eckley 2012; from ruptures) with a quadratic cost finds the levels. A running median of
    three takes single outliers out before that; the deviation is that of the differences (von Neumann), by their
    median, so that the steps themselves do not count. What a step must then be is said by the constants above.
    """
    import numpy as np
    import ruptures

    places = np.flatnonzero(~np.isnan(logs))
    values = logs[places]
    if len(values) < 2 * LEAST_POINTS:
        return []
    deviation = max(_deviation(np.diff(values)) / math.sqrt(2.0), LEAST_DEVIATION)
    padded = np.pad(values, 1, mode="edge")
    smooth = np.median([padded[:-2], padded[1:-1], padded[2:]], axis=0)
    search = ruptures.KernelCPD(kernel="linear", min_size=LEAST_POINTS).fit((smooth / deviation).reshape(-1, 1))
    ends = search.predict(pen=2.0 * PENALTY * math.log(len(values)))
    parts = [values[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    levels = [float(np.median(part)) for part in parts]
    around = np.concatenate([part - level for part, level in zip(parts, levels, strict=True)])
    least = max(math.log1p(LEAST_STEP), DEVIATIONS * max(deviation, _deviation(around)))
    found = []
    for k in range(1, len(parts)):
        step, middle = levels[k] - levels[k - 1], (levels[k] + levels[k - 1]) / 2.0
        sign = math.copysign(1.0, step)
        apart = min(np.mean(sign * (middle - parts[k - 1]) > 0), np.mean(sign * (parts[k] - middle) > 0))
        if abs(step) > least and apart >= APART:
            found.append(Change(place=int(places[ends[k - 1]]), ratio=round(math.exp(step), 6)))
    return found


def _deviation(values: Any) -> float:
    """The standard deviation of normal noise with this median absolute deviation."""
    import numpy as np

    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def _median(values: Any) -> float:
    """The median of what is there; 0 of nothing."""
    import numpy as np

    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else 0.0


def _common(rows: Any) -> Any:
    """The median of each point over the series that have it."""
    import numpy as np

    return np.array([_median(column) for column in rows.T])
