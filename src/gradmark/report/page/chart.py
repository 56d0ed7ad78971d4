"""Charts: what a plot shows, as plain data. One chart has many views; the reader chooses one by its keys.

Out: records that `plots.js` draws as they are; nothing is computed there.
"""

from collections.abc import Sequence
from typing import Literal

from gradmark.records import Record
from gradmark.records.metric import Metric

# The letter of zero: what is common lies among those that are one byte long. Numbers far below it have letters of their
# own, so that none is a control character. The largest is still below the code points that are half a letter.
ZERO, BELOW, FARTHEST = 70, 60_000, 49_000
NOTHING = chr(BELOW)  # in place of a number

Unit = Literal["time", "bytes", "count", "flops", "traffic", ""]
# points: marks, with whiskers where an interval is known. line, dashed: curves.
Style = Literal["points", "open", "line", "dashed", "joined", "change"]


class Axis(Record, frozen=True, kw_only=True):
    """Times are in nanoseconds, and drawn with the prefix that fits."""

    title: str
    unit: Unit = ""
    log: bool = False
    names: list[str] = []  # of the places 0, 1, …, where the axis is no number


class Series(Record, frozen=True, kw_only=True):
    """One entry of the legend; `colour` is the place of its engine. The filter hides points with their cells."""

    name: str
    x: list[float]
    y: list[float]
    style: Style
    colour: int = 0
    text: list[str] = []  # what is shown over each point
    low: list[float] = []  # where the whiskers of each point end
    high: list[float] = []
    cells: list[int] = []  # of each point; a series without them is there as long as its engine is


class Course(Record, frozen=True, kw_only=True):
    """How pilots of one kind are written: in parts of their reference, above it. Up to a limit they are calm."""

    parts: int
    limit: int


class Blocks(Record, frozen=True, kw_only=True):
    """Every block of a phase, process after process. Block times are written as so many steps above the lowest."""

    processes: list[tuple[int, int]]  # the number of each, and how many blocks it has
    low: float  # nanoseconds, as the next three
    step: float
    top: float  # where the axis ends; what took longer is drawn there
    shown: float | None = None  # the number that is made of these blocks
    pilots: dict[str, Course] = {}  # by what they load; none in older files


class Box(Record, frozen=True, kw_only=True):
    """One box of an icicle; starts and widths are on the axis of the view, levels are counted from above."""

    name: str
    level: int
    start: float
    width: float
    text: str
    colour: int


class View(Record, frozen=True, kw_only=True):
    """One choice of what is drawn: series or blocks. The summary says the same in words; the answer stands above it."""

    keys: list[str]
    summary: str
    x: Axis
    y: Axis
    series: list[Series]
    answer: str = ""
    blocks: Blocks | None = None
    boxes: list[Box] = []
    change: float = 1.0  # of a history: its last number by its first, or the other way round
    band: list[float] = []  # of a history: where noise alone would keep it
    cells: list[int] = []  # the view is offered while the filter shows one of them; if it has none, always


class Chart(Record, frozen=True, kw_only=True):
    """A plot with a select for each key of its views."""

    id: str
    title: str
    selects: list[str]
    views: list[View]
    missing: str = ""  # why there are no views
    by_engine: bool = True  # whether the colours of series are places of engines
    # For each view, as `letters` writes them: the times of the blocks, and by what they load the pilots before and
    # after each. They are not in the views because they compress better by themselves.
    times: list[str] = []
    pilots: dict[str, list[str]] = {}


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


def letters(numbers: Sequence[int]) -> str:
    """Whole numbers above -1000, a letter for each: half as long as digits and commas once it is compressed.

    >>> letters([-38, 0, 55])
    ' F}'
    """
    return "".join([chr(ZERO + min(n, FARTHEST) if n >= 32 - ZERO else BELOW + n) for n in numbers])
