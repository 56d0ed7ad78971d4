"""Changes: when did a series of times step up or down, and was it the series or the machine under all of them?

In: the series of one group, measured together night by night. Out: the steps of each that the others do not share, and
the steps that they share. `benchmarks/changes.py` shows how well this is told; the constants come from there.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from gradmark.records import Record

# A step is reported from this share on: the budget of a time.
LEAST_STEP = 0.05
# A level must have so many points: most of the five nights within which a step is to be seen; two may be missing.
LEAST_POINTS = 3
# A step is judged by so many points on either side, as far as they are there: twice those five nights.
WINDOW = 10
# A step is beyond so many deviations: fewer than 1 in 100 series of normal noise then have one, from 15 points on.
DEVIATIONS = 4.0
# So large a part of either side may lie beyond the middle: of five nights one outlier, of three none.
ASTRAY = 0.3
# The search for levels is quadratic in the points that it sees: a long series is searched in parts, of which the next
# begins so many points before the end of the last. A step is judged by the points of a window, not by others.
PART, OVERLAP = 240, 40
# A series of more levels than up and down again, or one in two windows, is unsteady: its wandering counts as noise.
LEVELS = 3
# The penalty of a change point in log(n): that of the modified Bayesian criterion (Zhang and Siegmund 2007).
PENALTY = 3.0
# Where so many of the others move in the same night, at least half as far, a step is no one's own.
COMPANY = 0.1
# What a series has in common with others is what the third of them does that is most like it, and at least three:
# of fewer, one that steps by itself would be taken for what is common.
ALIKE, LEAST_OTHERS = 1 / 3, 3
# No series moves further than this times those most like it; a step of its own beside their noise would seem to.
MOST_FACTOR = 2.0
# In normal noise, this many deviations are the quartile of distances from 0 that one in four exceeds.
QUARTILE = 1.1503

Series = Sequence[float | None]


class Change(Record, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A step: the place of the first point on the new level, and the new level against the old one.

    Of a step that a part of a group shares, `rows` are those that do.
    """

    place: int
    ratio: float
    rows: list[str] = []


def changes(group: Mapping[str, Series]) -> tuple[dict[str, list[Change]], list[Change]]:
    """The steps of each series of a group by itself, and those that all or several of the group share.

    What a series has in common with those most like it is taken off before steps are looked for, so that a machine that
    became slower accuses no series. Nor does it where it became slower for a part of them, such as those that do not
    fit a smaller cache: what several do in the same night is no one's own.

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
    rows = [_Row(row) for row in _without_common(centred)]
    own = {name: [c for c in row.steps() if not _company(row, c, rows)] for name, row in zip(names, rows, strict=True)}
    whole = steps(_common(centred)) if len(names) > LEAST_OTHERS else []
    known = [change.place for change in whole]
    rows = [_Row(row) for row in centred]
    shared = [
        (change, name)
        for name, row in zip(names, rows, strict=True)
        for change in row.steps()
        if not any(abs(change.place - place) <= LEAST_POINTS for place in [*known, *(c.place for c in own[name])])
        and _company(row, change, rows)
    ]
    return own, sorted([*whole, *_merged(shared)], key=lambda change: change.place)


def steps(logs: Any) -> list[Change]:
    """Steps of a series of logarithms; missing points are not numbers, and are passed over.

    PELT (Killick, Fearnhead, Eckley 2012; from ruptures) with a quadratic cost proposes the places, in a running median
    of three, which takes single outliers out. Each is then judged as by a moving sum (Eichinger, Kirch 2018), with
    medians for means: the points on either side against what such a contrast is in this series elsewhere, so that
    nights that depend on each other, drift and noise in two states count as what they are.
    """
    return _Row(logs).steps()


class _Row:
    """A series of logarithms without its gaps, its levels, and its contrasts at every place."""

    def __init__(self, logs: Any) -> None:
        import numpy as np

        self.places = np.flatnonzero(~np.isnan(logs))
        self.values = logs[self.places]
        count = len(self.values)
        inner = slice(LEAST_POINTS, max(LEAST_POINTS, count - LEAST_POINTS + 1))
        before = np.minimum(np.arange(count + 1), WINDOW)
        # The deviation of a difference of means of so many points, each with a deviation of 1.
        self.unit = np.sqrt(1.0 / np.maximum(before, 1) + 1.0 / np.maximum(before[::-1], 1))
        # By the median of the differences (von Neumann), so that the steps themselves do not count.
        self.noise = 1.4826 * _median(np.abs(np.diff(self.values))) / math.sqrt(2.0)
        self.inner = inner

    @cached_property
    def ends(self) -> list[int]:
        """Where the levels end."""
        return self._ends()

    @cached_property
    def steady(self) -> bool:
        """Whether it has few levels."""
        return len(self.ends) <= max(LEVELS, len(self.values) / (2 * WINDOW))

    @cached_property
    def contrasts(self) -> Any:
        """At every place the step that there would be."""
        return _contrasts(self.values)

    @cached_property
    def usual(self) -> Any:
        """The places that have whole windows, and what a contrast is there without the steps, in its deviations."""
        import numpy as np

        flat = self.values.copy()
        for start, end in zip([0, *self.ends[:-1]], self.ends, strict=True):
            flat[start:end] -= _median(flat[start:end])
        usual = _contrasts(flat) if self.steady else self.contrasts
        return np.arange(len(self.values) + 1)[self.inner], np.abs(usual[self.inner]) / self.unit[self.inner]

    def _ends(self) -> list[int]:
        import ruptures

        count = len(self.values)
        if count < 2 * LEAST_POINTS:
            return [count]
        # Less noise than this makes no difference to what is reported.
        noise = max(self.noise, math.log1p(LEAST_STEP) / DEVIATIONS)
        smooth, ends, begin = _smooth(self.values / noise).reshape(-1, 1), set[int](), 0
        while True:
            end = count if count - begin <= PART + OVERLAP else begin + PART
            search = ruptures.KernelCPD(kernel="linear", min_size=LEAST_POINTS).fit(smooth[begin:end])
            margin = OVERLAP // 2  # what is near a cut is seen whole in the part on its other side
            first, last = (0 if begin == 0 else begin + margin), (count if end == count else end - margin)
            places = (begin + int(place) for place in search.predict(pen=PENALTY * math.log(count)))
            ends.update(place for place in places if first < place <= last and place not in (begin, end))
            if end == count:
                return [*sorted(ends - {count}), count]
            begin = end - OVERLAP

    def steps(self) -> list[Change]:
        """The ends of levels that are steps."""
        import numpy as np

        steps: list[Change] = []
        # None could be large enough: the search is spared.
        if not np.any(np.abs(self.contrasts[self.inner]) > math.log1p(LEAST_STEP)):
            return steps
        for place in self.ends[:-1]:
            step = self.contrasts[place]
            before, after = self.values[max(0, place - WINDOW) : place], self.values[place : place + WINDOW]
            middle = (np.median(before) + np.median(after)) / 2.0
            astray = max(np.mean((before - middle) * step >= 0), np.mean((after - middle) * step <= 0))
            if abs(step) > max(math.log1p(LEAST_STEP), self._least(place)) and astray <= ASTRAY:
                steps.append(Change(place=int(self.places[place]), ratio=round(math.exp(step), 6)))
        return steps

    def moves(self, night: int, least: float) -> bool:
        """Whether it moves by more than this in that night."""
        import numpy as np

        place = int(np.searchsorted(self.places, night))
        if min(place, len(self.values) - place) < LEAST_POINTS:
            return False
        return bool(abs(self.contrasts[place]) > max(least, self._least(place)))

    def _least(self, place: int) -> float:
        """What a step at this place must exceed to be told from noise."""
        import numpy as np

        places, usual = self.usual
        if not self.steady:
            usual = usual[np.abs(places - place) >= WINDOW]
        spread = float(np.quantile(usual, 0.75)) / QUARTILE if len(usual) else 0.0
        # Medians deviate by √(π/2) times as much as means.
        return DEVIATIONS * float(self.unit[place]) * max(spread, math.sqrt(math.pi / 2.0) * self.noise)


def _contrasts(values: Any) -> Any:
    """At every place, the median of the window after it less that of the window before; not a number at the ends."""
    import numpy as np

    count = len(values)
    nothing = np.full(WINDOW, math.inf)  # sorts last
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(np.concatenate([nothing, values, nothing]), WINDOW))
    there = np.maximum(np.sum(np.isfinite(windows), axis=1), 1)
    which = np.arange(len(windows))
    medians = (windows[which, (there - 1) // 2] + windows[which, there // 2]) / 2.0
    with np.errstate(invalid="ignore"):
        return medians[WINDOW:] - medians[: count + 1]


def _without_common(centred: Any) -> Any:
    """Each series less what it has in common with those most like it, as far as it moves with them from night to night.

    Likeness and the factor are those of the differences, of which a step of its own is only one.
    """
    import numpy as np

    others = len(centred) - 1
    if others < LEAST_OTHERS:
        return centred
    moves = np.nan_to_num(np.diff(centred, axis=1))
    size = np.maximum(np.sqrt(np.sum(moves**2, axis=1)), 1e-12)
    likeness = moves @ moves.T / np.outer(size, size)
    np.fill_diagonal(likeness, -2.0)
    nearest = np.argsort(-likeness, axis=1, kind="stable")[:, : max(LEAST_OTHERS, math.ceil(ALIKE * others))]
    rest = []
    for row, near in zip(centred, nearest, strict=True):
        common = _common(centred[near])
        there = ~np.isnan(row)
        mine, theirs = np.diff(row[there]), np.diff(common[there])
        factor = float(mine @ theirs) / max(float(theirs @ theirs), 1e-12)
        rest.append(row - common * min(max(factor, 0.0), MOST_FACTOR))
    return np.array(rest)


def _company(row: _Row, change: Change, rows: Sequence[_Row]) -> bool:
    """Whether others move in the same night, at least half as far."""
    half = abs(math.log(change.ratio)) / 2.0
    company = sum(other.moves(change.place, half) for other in rows if other is not row)
    return company > 0 and company >= COMPANY * (len(rows) - 1)


def _merged(shared: Sequence[tuple[Change, str]]) -> list[Change]:
    """One step for all of a night or the next."""
    merged: list[list[tuple[Change, str]]] = []
    for change, name in sorted(shared, key=lambda pair: pair[0].place):
        if merged and change.place - merged[-1][-1][0].place <= 1:
            merged[-1].append((change, name))
        else:
            merged.append([(change, name)])
    return [
        Change(
            place=night[0][0].place,
            ratio=sorted(change.ratio for change, _ in night)[len(night) // 2],
            rows=[name for _, name in night],
        )
        for night in merged
    ]


def _median(values: Any) -> float:
    """The median of what is there; 0 of nothing."""
    import numpy as np

    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else 0.0


def _common(rows: Any) -> Any:
    """The median of each point over the series that have it."""
    import numpy as np

    if not np.isnan(rows).any():
        return np.median(rows, axis=0)
    return np.array([_median(column) for column in rows.T])


def _smooth(values: Any) -> Any:
    """The running median of three."""
    import numpy as np

    padded = np.pad(values, 1, mode="edge")
    return np.median([padded[:-2], padded[1:-1], padded[2:]], axis=0)
