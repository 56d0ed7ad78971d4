"""What different rules say of a simulated machine: pilots as Gradmark uses them, and the usual tools beside them.

In: a machine. Out: of each run and cell the time by every rule, and how often pilots are wrong. Each rule has its own
truth: the median of what it says of a machine that is always calm, at its full clock. Of a calm time that is over
all layouts and all jitter. A floor depends on how many processes there are, as no layout is the best: its
truth is that of as many processes.

Gradmark's rules are its own functions and constants; an earlier run has found the full clock to be the usual one. In
each round the reference is that of the processes up to then, and a cell whose interval is narrow takes no further
processes; its time is told by the reference of the whole run. One thing is simpler: when processes wait, they know the
pilots of all cells, also of those that take no further processes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import Any

import numpy as np
from machines import (
    ADDED,
    BLOCK,
    CELLS,
    FAMILIES,
    INTERRUPT,
    INTERRUPTS,
    LOGNORMAL,
    PILOT,
    RUN_LENGTH,
    RUNS,
    SECOND_LAYOUT,
    SLOT,
    TWO_LAYOUTS,
    Array,
    Core,
    Lanes,
    always_calm,
    lanes_of,
    layouts,
    measure,
)

from gradmark.commands.options import MOST_PROCESSES
from gradmark.records import pilots
from gradmark.records.agreement import LEAST_PROCESSES, is_narrow
from gradmark.records.times import typical

# Gradmark as it is; the same without stopping early; the floor of the calm blocks of Gradmark's processes, and the
# fastest of all of their blocks; the usual tools.
RULES = ("gradmark", "most", "floor", "fastest", "timeit", "mean", "median")
GRADMARK, MOST, FLOOR, FASTEST, TIMEIT, MEAN, MEDIAN = RULES
HEADS = dict(zip(RULES, ("ours", "most", "floor", "best", "timeit", "mean", "median"), strict=True))  # of columns
OF_PILOTS = (GRADMARK, MOST, FLOOR, FASTEST)
TRULY_SLOW = 0.01  # a block that the slow state made longer by more than this
DRAWS = 5000 * MOST_PROCESSES  # of processes on an always calm machine, for the truth


@dataclass
class Row:
    """One machine: what the rules said of its cells. Every array is runs by cells."""

    family: str
    share: float
    dwell: float
    ratio: float
    drift: float
    said: dict[str, Array] = field(default_factory=dict)  # by rule, in undisturbed blocks
    true: dict[str, Array] = field(default_factory=dict)  # by rule
    low: Array = None  # of Gradmark's interval
    high: Array = None
    coverage: Array = None  # as Gradmark states it
    taken: Array = None  # processes of a cell
    calm: int = 0
    missed: int = 0  # blocks that were called calm and were slow
    quiet: int = 0
    refused: int = 0  # blocks that were called slow and were calm
    reference: float = 1.0

    @property
    def none(self) -> float:
        """The share of cells without a time."""
        return float(np.isnan(self.said[GRADMARK]).mean())

    @property
    def miss(self) -> float:
        """Of the blocks that were called calm: the share that was slow."""
        return self.missed / max(1, self.calm)

    @property
    def false(self) -> float:
        """Of the blocks that were calm: the share that was called slow."""
        return self.refused / max(1, self.quiet)

    def errors(self, rule: str, cells: Array = ~TWO_LAYOUTS) -> Array:
        """How far each time lies above the rule's own truth, relative; only of cells with a time."""
        shares = (self.said[rule] / self.true[rule])[:, cells]
        return shares[np.isfinite(shares)] - 1.0

    def apart(self, rule: str, cells: Array = ~TWO_LAYOUTS) -> Array:
        """Of each cell the longest time of its runs by the shortest, less one; only of cells with two times or more."""
        times = self.said[rule][:, cells & (np.isfinite(self.said[rule]).sum(axis=0) >= 2)]
        return np.nanmax(times, axis=0) / np.nanmin(times, axis=0) - 1.0

    def held(self, cells: Array = ~TWO_LAYOUTS) -> Array:
        """Whether each interval holds the truth; only of cells with an interval."""
        known = np.isfinite(self.low) & cells
        return ((self.low <= self.true[GRADMARK]) & (self.true[GRADMARK] <= self.high))[known]

    def stated(self, cells: Array = ~TWO_LAYOUTS) -> Array:
        """What the same intervals say of themselves."""
        return self.coverage[np.isfinite(self.low) & cells]

    def half_widths(self, cells: Array = ~TWO_LAYOUTS) -> Array:
        """Half of each interval, as a share of the time."""
        return ((self.high - self.low) / 2.0 / self.said[GRADMARK])[np.isfinite(self.low) & cells]


def empty_row(family: str, share: float, dwell: float, ratio: float, drift: float) -> Row:
    """A machine of which nothing is said yet."""
    row = Row(family, share, dwell, ratio, drift)
    row.said = {rule: np.full((RUNS, CELLS), np.nan) for rule in OF_PILOTS}
    row.true = {rule: np.full((RUNS, CELLS), np.nan) for rule in OF_PILOTS}
    row.low, row.high, row.coverage, row.taken = (np.full((RUNS, CELLS), np.nan) for _ in range(4))
    return row


# --- the truth


@cache
def typical_truth() -> Array:
    """By cell: the median over processes of what their blocks take undisturbed."""
    draw = np.random.default_rng(1)
    found = []
    for cell in range(CELLS):
        blocks = np.sort(always_calm(draw, cell, DRAWS), axis=1)
        times = blocks[:, int(pilots.UNDISTURBED_SHARE * (blocks.shape[1] - 1))]
        # Between two layouts nothing lies, and all that lies there is a median: the middle stands for it.
        middle = np.quantile(times, (0.25, 0.75)).mean() if TWO_LAYOUTS[cell] else np.median(times)
        found.append(middle)
    return np.array(found)


@cache
def floor_truth() -> Array:
    """By number of processes, from none, and by cell: the median of the least block of so many processes."""
    draw = np.random.default_rng(2)
    fastest = [always_calm(draw, cell, DRAWS).min(axis=1).reshape(-1, MOST_PROCESSES) for cell in range(CELLS)]
    least = [np.median(np.minimum.accumulate(blocks, axis=1), axis=0) for blocks in fastest]
    return np.vstack([np.full(CELLS, np.nan), np.transpose(least)])


# --- pilots


def settled(times: Sequence[float]) -> bool:
    """Whether the times of the processes that have one are enough, as `gradmark.records.agreement` asks."""
    return len(times) >= LEAST_PROCESSES and is_narrow(list(times))


class Cell:
    """The processes of one cell in one run, and how many of them Gradmark took."""

    def __init__(self, lanes: Lanes, lane: int) -> None:
        self.number = lanes.cell[lane]
        self.blocks = [lanes.blocks[lane, k, : lanes.count[lane, k]].tolist() for k in range(MOST_PROCESSES)]
        self.pilots = [lanes.pilots(lane, k) for k in range(MOST_PROCESSES)]
        self.taken = MOST_PROCESSES
        self._known: dict[tuple[int, float], tuple[float, float] | None] = {}

    def times(self, count: int, level: float) -> list[float]:
        """The times of those of the first processes that had enough calm blocks, by such a reference."""
        return [both[0] for process in range(count) if (both := self._both(process, level))]

    def floors(self, count: int, level: float) -> list[float]:
        """The fastest calm blocks of the same processes."""
        return [both[1] for process in range(count) if (both := self._both(process, level))]

    def _both(self, process: int, level: float) -> tuple[float, float] | None:
        if (process, level) not in self._known:
            levels = {pilots.CORE: level, pilots.CLOCK: pilots.stated_at(level, PILOT)}
            calm = pilots.corrected(self.blocks[process], self.pilots[process], levels)
            self._known[process, level] = (
                (pilots.undisturbed(calm), min(calm)) if len(calm) >= pilots.LEAST_CALM else None
            )
        return self._known[process, level]


def judge(lanes: Lanes, references: Sequence[Array], rows: Sequence[Row]) -> None:
    """What pilots say of every machine, by the program's own functions; `references` are those after each round."""
    for first in range(0, len(lanes.machine), CELLS):
        row, run, level = rows[lanes.machine[first]], lanes.run[first], float(references[-1][first])
        cells = [Cell(lanes, lane) for lane in range(first, first + CELLS)]
        known = until_settled(cells)
        row.reference += (level / PILOT - 1.0) / RUNS
        for cell in cells:
            _tell(row, run, cell, known)
            times = cell.times(MOST_PROCESSES, level)
            row.said[MOST][run, cell.number] = median(times) / BLOCK if times else np.nan
    for row in rows:
        row.true[GRADMARK][:] = row.true[MOST][:] = typical_truth()
    _mistakes(lanes, references[-1], rows)


def until_settled(cells: Sequence[Cell]) -> float:
    """A run as Gradmark does it: rounds of the cells that have not settled. Returned is the reference of them all."""
    seen, level, lacking = pilots.Reference(), np.nan, list(cells)
    for process in range(MOST_PROCESSES):
        for cell in lacking:
            seen.add(cell.pilots[process])
            cell.taken = process + 1
        if process + 1 >= LEAST_PROCESSES:
            level = seen.levels()[pilots.CORE]
            lacking = [cell for cell in lacking if not settled(cell.times(cell.taken, level))]
        if not lacking:
            break
    return level


def _tell(row: Row, run: int, cell: Cell, level: float) -> None:
    """What Gradmark says of a cell, and what the floors of the same processes are."""
    at, times = (run, cell.number), cell.times(cell.taken, level)
    row.taken[at] = cell.taken
    row.said[FASTEST][at] = min(min(blocks) for blocks in cell.blocks[: cell.taken]) / BLOCK
    row.true[FASTEST][at] = floor_truth()[cell.taken, cell.number]
    if times:
        number = typical(times)
        row.said[GRADMARK][at], row.low[at], row.high[at] = (
            ms / BLOCK for ms in (number.value, number.low, number.high)
        )
        row.coverage[at] = number.coverage or 0.0
        row.said[FLOOR][at] = min(cell.floors(cell.taken, level)) / BLOCK
        row.true[FLOOR][at] = floor_truth()[len(times), cell.number]


def _mistakes(lanes: Lanes, level: Array, rows: Sequence[Row]) -> None:
    """Counts what pilots called calm and what was, over all processes of all cells."""
    there = np.arange(lanes.blocks.shape[2]) < lanes.count[:, :, None]
    calm = there & (np.maximum(lanes.before, lanes.after) <= pilots.CALM[pilots.CORE] * level[:, None, None])
    quiet, slow = there & (lanes.extra == 0.0), lanes.extra > TRULY_SLOW
    for machine, row in enumerate(rows):
        mine = lanes.machine == machine
        row.calm, row.missed = int(calm[mine].sum()), int((calm & slow)[mine].sum())
        row.quiet, row.refused = int(quiet[mine].sum()), int((quiet & ~calm)[mine].sum())


# --- other tools


def others(core: Core, lanes: Lanes, rows: Sequence[Row], draw: np.random.Generator) -> None:
    """timeit: the least of five times 0.2 s. pytest-benchmark: the mean of a second. pyperf and asv: the median of 60.

    The first two have one process. The last has 20, each with three times 0.1 s, spread over the run. Jitter is no more
    than its mean over such times: their truth is that mean, in the middle one of the layouts.
    """
    begin = (lanes.run * RUN_LENGTH + lanes.cell * SLOT).astype(float)
    of_cell = np.exp(LOGNORMAL**2 / 2) + ADDED + INTERRUPTS * INTERRUPT
    work = of_cell[lanes.cell]

    def value(start: Array, layout: Array, length: float) -> Array:
        clock = 1.0 + lanes.drift * core.mean_lag(start, length)
        return core.end(start, length * work * clock * layout, lanes.block_key) - start

    layout = layouts(draw, lanes.cell, (len(begin), 22))
    repeats, now = [], begin
    for _ in range(5):
        took = value(now, layout[:, 0], 200.0)
        repeats.append(took / 200.0)
        now = now + took
    pooled = []
    for process in range(20):
        now = begin + process * RUN_LENGTH / 20
        for _ in range(3):
            took = value(now, layout[:, 2 + process], 100.0)
            pooled.append(took / 100.0)
            now = now + took
    said = {
        TIMEIT: np.min(repeats, axis=0),
        MEAN: value(begin, layout[:, 1], 1000.0) / 1000.0,
        MEDIAN: np.median(pooled, axis=0),
    }
    true = of_cell * np.where(TWO_LAYOUTS, (1.0 + SECOND_LAYOUT) / 2.0, 1.0)
    for rule, times in said.items():
        for row, part in zip(rows, times.reshape(len(rows), RUNS, CELLS), strict=True):
            row.said[rule], row.true[rule] = part, np.broadcast_to(true, part.shape)


def simulate(family: str, share: float, dwell: float, machines: Sequence[tuple[float, float]], seed: int) -> list[Row]:
    """Machines with the same slow states, of several ratios and drifts."""
    draw = np.random.default_rng([seed, FAMILIES.index(family), int(1000 * share), int(1000 * dwell)])
    core = Core(draw, family, share, dwell)
    lanes = lanes_of(core, machines)
    references = measure(core, lanes, draw)
    rows = [empty_row(family, share, dwell, ratio, drift) for ratio, drift in machines]
    judge(lanes, references, rows)
    others(core, lanes, rows, draw)
    return rows


def quantile(values: Any, share: float = 0.5) -> float:
    """The median, or another share; nan of nothing."""
    known = np.asarray(values)[np.isfinite(values)]
    return float(np.quantile(known, share)) if len(known) else np.nan
