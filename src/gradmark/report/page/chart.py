"""Charts: what a plot shows, as plain data. One chart has many views; the reader chooses one by its keys.

Out: records that `plots.js` draws as they are; nothing is computed there.
"""

from collections.abc import Sequence
from typing import Literal

from gradmark.records import Record
from gradmark.records.metric import Metric

Unit = Literal["time", "bytes", "count", ""]
# points: marks, with whiskers where a spread is known. line, dashed: curves. dots: many small marks.
Style = Literal["points", "open", "line", "dashed", "joined", "dots", "change"]


class Axis(Record, frozen=True, kw_only=True):
    """Times are in nanoseconds, and drawn with the prefix that fits."""

    title: str
    unit: Unit = ""
    log: bool = False
    names: list[str] = []  # of the places 0, 1, …, where the axis is no number


class Series(Record, frozen=True, kw_only=True):
    """One entry of the legend; `colour` is the place of its engine. Of dots, x is the place of the first."""

    name: str
    x: list[float]
    y: list[float]
    style: Style
    colour: int = 0
    text: list[str] = []  # what is shown over each point
    high: list[float] = []  # where the whisker of each point ends


class View(Record, frozen=True, kw_only=True):
    """One choice of what is drawn. The summary says the same in words; where nothing can be drawn, it says why."""

    keys: list[str]
    summary: str
    x: Axis
    y: Axis
    series: list[Series]


class Chart(Record, frozen=True, kw_only=True):
    """A plot with a select for each key of its views."""

    id: str
    title: str
    selects: list[str]
    views: list[View]
    missing: str = ""  # why there are no views


def unit_of(entry: Metric) -> Unit:
    """How the axis of a metric is written; what has no unit of its own is a plain number."""
    units: dict[str, Unit] = {"time": "time", "bytes": "bytes", "count": "count"}
    return units.get(entry.unit, "")


def short(number: float) -> float:
    """Four digits: more cannot be seen, and a page has many numbers.

    >>> short(123456.0), short(0.00012345678)
    (123500, 0.0001235)
    """
    rounded = float(f"{number:.4g}")
    return int(rounded) if rounded.is_integer() else rounded  # which is written without its fraction


def shorts(numbers: Sequence[float]) -> list[float]:
    """The same of many: a page has a hundred thousand samples, most of them long enough for whole numbers.

    >>> shorts([123456.0, 1234.5678, 99999.0])
    [123500, 1235, 100000]
    """
    if min(numbers, default=0.0) < 1000:
        return [short(number) for number in numbers]
    import numpy as np

    values = np.array(numbers)
    steps = 10.0 ** (np.floor(np.log10(values)) - 3)
    rounded: list[float] = (np.rint(values / steps) * steps).astype(np.int64).tolist()
    return rounded
