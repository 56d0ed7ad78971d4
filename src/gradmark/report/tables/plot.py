"""Plots for terminals: points and curves in a frame of text, for a sweep over sizes or a history of runs.

In: series of numbers, and how they are written. Out: lines of text, in which each series has a mark of its own.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

from gradmark import units
from gradmark.records import Fit, Record
from gradmark.records.metric import metric
from gradmark.report.model.characters import one_line

MARKS = "ox+*#%@&"
CURVE = "·"
CHANGE = "^"
WIDTH, HEIGHT = 64, 16
LOW, LEAST = 10, 0.1  # of a history: its height, as steps need less room than curves, and the span of its axis
MOST_OF_A_LEGEND = 32  # below a plot that is narrower than this


class Series(Record, frozen=True, kw_only=True):
    """Points to mark, and a curve through them if there is one."""

    name: str
    x: list[float]
    y: list[float]
    curve: Callable[[float], float] | None = None


class Frame(Record, frozen=True, kw_only=True):
    """How the axes are drawn and written."""

    title: str
    x_title: str
    x_text: Callable[[float], str]
    y_text: Callable[[float], str]
    x_log: bool = False
    y_log: bool = False
    width: int = WIDTH
    height: int = HEIGHT
    y_least: float = 0.0  # the share of its middle that the axis spans at least, so that noise looks like noise


def plot(series: Sequence[Series], frame: Frame) -> list[str]:
    """The plot as lines; a sentence where nothing can be drawn."""
    points = [
        (x, y)
        for one in series
        for x, y in zip(one.x, one.y, strict=True)
        if math.isfinite(y) and (x > 0 or not frame.x_log) and (y > 0 or not frame.y_log)
    ]
    title = one_line(frame.title)
    if not points:
        why = "every number is zero, which has no place on a logarithmic axis" if series else "there is nothing to draw"
        return [f"{title}: no plot, {why}"]
    across = _Scale([x for x, _ in points], frame.x_log, frame.width)
    ys = [y for _, y in points]
    centre = (min(ys) + max(ys)) / 2
    up = _Scale([*ys, *(centre * (1 + side * frame.y_least / 2) for side in (-1, 1))], frame.y_log, frame.height)
    grid = [[" "] * frame.width for _ in range(frame.height)]

    def mark(xs: Sequence[float], ys: Sequence[float], letter: str) -> None:
        for column, row in set(zip(across.places(xs), up.places(ys), strict=True)):
            if column is not None and row is not None:
                grid[frame.height - 1 - row][column] = letter

    columns = [across.value(column) for column in range(frame.width)]
    for one in series:
        if one.curve is not None:
            mark(columns, [one.curve(x) for x in columns], CURVE)
    for place, one in reversed(list(enumerate(series))):  # where two meet, the one that is named first is seen
        mark(one.x, one.y, MARKS[place % len(MARKS)])
    ticks = {frame.height - 1 - row: frame.y_text(up.value(row)) for row in (0, frame.height // 2, frame.height - 1)}
    margin = max(map(len, ticks.values()))
    lines = [f"{ticks.get(row, ''):>{margin}} │{''.join(letters).rstrip()}" for row, letters in enumerate(grid)]
    ends = [frame.x_text(across.value(0)), frame.x_text(across.value(frame.width - 1))]
    gap = frame.width - len(ends[0]) - len(ends[1])
    middle = one_line(frame.x_title).center(gap) if len(frame.x_title) < gap else " " * gap
    return [
        title,
        *lines,
        f"{'':>{margin}} └{'─' * frame.width}",
        f"{'':>{margin}}  {ends[0]}{middle}{ends[1]}",
        *(f"{'':>{margin}}  {line}" for line in _legend(series, frame.width)),
    ]


def _legend(series: Sequence[Series], width: int) -> list[str]:
    """What the marks mean, on as many lines as it takes."""
    entries = [f"{MARKS[place % len(MARKS)]} {one_line(one.name)}" for place, one in enumerate(series)]
    entries += [f"{CURVE} fit"] if any(one.curve for one in series) else []
    lines = entries[:1]
    for entry in entries[1:]:
        if len(lines[-1]) + 3 + len(entry) <= max(width, MOST_OF_A_LEGEND):
            lines[-1] += f"   {entry}"
        else:
            lines.append(entry)
    return lines


class _Scale:
    """From numbers to places along an axis, and back."""

    def __init__(self, values: Sequence[float], log: bool, places: int) -> None:
        self.log, self.last = log, places - 1
        self.low, self.high = (self._on(value) for value in (min(values), max(values)))
        if self.low == self.high:  # one number stands in the middle
            spread = 0.5 if log else abs(self.low) / 2 or 0.5
            self.low, self.high = self.low - spread, self.high + spread

    def _on(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def places(self, values: Sequence[float]) -> list[int | None]:
        """None for what is outside, or has no logarithm. At once: a history has a hundred thousand numbers."""
        import numpy as np

        numbers = np.asarray(values, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            coordinates = np.log10(numbers) if self.log else numbers
            places = np.rint((coordinates - self.low) / (self.high - self.low) * self.last)
        return [int(place) if 0 <= place <= self.last else None for place in places.tolist()]

    def value(self, place: int) -> float:
        coordinate = self.low + (self.high - self.low) * place / self.last
        return 10.0**coordinate if self.log else coordinate


def scaling(fits: Sequence[tuple[str, Fit]], title: str, x_title: str) -> list[str]:
    """Measured costs of one metric against size, for one engine or several, with the fitted curves; log-log."""
    unit = metric(fits[0][1].metric).unit
    return plot(
        [Series(name=name, x=fit.sizes, y=fit.costs, curve=_curve(fit)) for name, fit in fits],
        Frame(
            title=title, x_title=x_title, x_text=units.count, y_text=partial(units.text, unit), x_log=True, y_log=True
        ),
    )


def _curve(fit: Fit) -> Callable[[float], float]:
    return lambda n: fit.a + fit.b * n**fit.p


def history(
    names: Sequence[str],
    series: Sequence[Series],
    title: str,
    y_text: Callable[[float], str],
    changes: Sequence[int] = (),
    width: int = WIDTH,
) -> list[str]:
    """Numbers run after run, x being the place of the run in `names`; under the axis, a mark where a level begins."""
    last = len(names) - 1
    frame = Frame(
        title=title,
        x_title="",
        x_text=lambda x: one_line(names[min(max(round(x), 0), last)]),
        y_text=y_text,
        width=width,
        height=LOW,
        y_least=LEAST,
    )
    lines = plot(series, frame)
    if not changes or last < 1 or len(lines) == 1:
        return lines
    margin = lines[1].index("│") + 1
    xs = [x for one in series for x in one.x]
    scale = _Scale(xs, False, width)
    marks = [" "] * width
    for place in scale.places(changes):
        if place is not None:
            marks[place] = CHANGE
    where = ", ".join(one_line(names[change]) for change in changes)
    axis = next(place for place, line in enumerate(lines) if line.lstrip().startswith("└"))
    return [
        *lines[: axis + 1],
        f"{' ' * margin}{''.join(marks).rstrip()}",
        *lines[axis + 1 :],
        f"{CHANGE} a new level begins: {where}",
    ]
