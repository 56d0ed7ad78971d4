"""What different rules say of a simulated machine: pilots as Gradmark uses them, and the usual tools beside them.

In: a machine. Out: of each run and cell the time by every rule, relative to the truth, and how often pilots are wrong.
The truth is what a block takes on a calm core at its full clock, in the best layout of memory, without jitter.

Gradmark's rules are its own functions and constants. In each round the reference is that of the processes up to then,
and a cell that has settled takes no further processes; its time is told by the reference of the whole run. One thing is
simpler: when processes wait, they know the pilots of all cells, also of those that had settled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
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
    SLOT,
    Array,
    Core,
    Lanes,
    lanes_of,
    layouts,
    measure,
)

from gradmark.commands.options import MOST_PROCESSES
from gradmark.records import pilots
from gradmark.records.agreement import AGREEING, LEAST_PROCESSES, WITHIN

FIXED = 8
# Gradmark as it is; pilots with a fixed number of processes; the fastest block of the same processes; the usual tools.
GRADMARK, EIGHT, FASTEST, TIMEIT, MEAN, MEDIAN = RULES = ("gradmark", "eight", "fastest", "timeit", "mean", "median")
TRULY_SLOW = 0.01  # a block that the slow state made longer by more than this


@dataclass
class Row:
    """One machine: what the rules said of its cells, relative to the truth."""

    family: str
    share: float
    dwell: float
    ratio: float
    drift: float
    said: dict[str, Array] = field(default_factory=dict)  # by rule: runs by cells, relative to the truth
    calm: int = 0
    missed: int = 0  # blocks that were called calm and were slow
    quiet: int = 0
    refused: int = 0  # blocks that were called slow and were calm
    processes: float = 0.0  # of a cell, by Gradmark's rule
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

    def errors(self, rule: str) -> Array:
        """How far each time lies above the truth, relative; only of cells with a time."""
        times = self.said[rule]
        return times[np.isfinite(times)] - 1.0

    def apart(self, rule: str) -> Array:
        """Of each cell the longest time of its runs by the shortest, less one; only of cells with two times or more."""
        times = self.said[rule][:, np.isfinite(self.said[rule]).sum(axis=0) >= 2]
        return np.nanmax(times, axis=0) / np.nanmin(times, axis=0) - 1.0


# --- pilots


def settled(floors: Sequence[float]) -> bool:
    """Whether the times of the processes that have one agree, as `gradmark.records.agreement` asks."""
    return len(floors) >= LEAST_PROCESSES and sorted(floors)[AGREEING - 1] <= WITHIN * min(floors)


class Cell:
    """The processes of one cell in one run, and how many of them Gradmark took."""

    def __init__(self, lanes: Lanes, lane: int) -> None:
        self.number = lanes.cell[lane]
        self.blocks = [lanes.blocks[lane, k, : lanes.count[lane, k]].tolist() for k in range(MOST_PROCESSES)]
        self.pilots = [lanes.pilots(lane, k) for k in range(MOST_PROCESSES)]
        self.taken = MOST_PROCESSES
        self._known: dict[tuple[int, float], list[float]] = {}

    def floors(self, count: int, level: float) -> list[float]:
        """The times of those of the first processes that had enough calm blocks, by such a reference."""
        return [ns for process in range(count) for ns in self._floor(process, level)]

    def _floor(self, process: int, level: float) -> list[float]:
        if (process, level) not in self._known:
            calm = pilots.corrected(self.blocks[process], self.pilots[process], {pilots.CORE: level})
            self._known[process, level] = [pilots.fast(calm)] if len(calm) >= pilots.LEAST_CALM else []
        return self._known[process, level]


def judge(lanes: Lanes, references: Sequence[Array], rows: Sequence[Row]) -> None:
    """What pilots say of every machine, by the program's own functions; `references` are those after each round."""
    for row in rows:
        row.said |= {rule: np.full((RUNS, CELLS), np.nan) for rule in (GRADMARK, EIGHT, FASTEST)}
    for first in range(0, len(lanes.machine), CELLS):
        row, run, level = rows[lanes.machine[first]], lanes.run[first], float(references[FIXED - 1][first])
        cells = [Cell(lanes, lane) for lane in range(first, first + CELLS)]
        _until_settled(row, run, cells)
        row.reference += (level / PILOT - 1.0) / RUNS
        for cell in cells:
            row.said[EIGHT][run, cell.number] = min(cell.floors(FIXED, level), default=np.nan) / BLOCK
            row.said[FASTEST][run, cell.number] = min(min(blocks) for blocks in cell.blocks[:FIXED]) / BLOCK
    _mistakes(lanes, references[FIXED - 1], rows)


def _until_settled(row: Row, run: int, cells: Sequence[Cell]) -> None:
    """A run as Gradmark does it: rounds of the cells that have not settled."""
    seen, level, lacking = pilots.Reference(), np.nan, list(cells)
    for process in range(MOST_PROCESSES):
        for cell in lacking:
            seen.add(cell.pilots[process])
            cell.taken = process + 1
        if process + 1 >= LEAST_PROCESSES:
            level = seen.levels()[pilots.CORE]
            lacking = [cell for cell in lacking if not settled(cell.floors(cell.taken, level))]
        if not lacking:
            break
    for cell in cells:
        row.said[GRADMARK][run, cell.number] = min(cell.floors(cell.taken, level), default=np.nan) / BLOCK
        row.processes += cell.taken / (RUNS * CELLS)


def _mistakes(lanes: Lanes, level: Array, rows: Sequence[Row]) -> None:
    """Counts what pilots called calm and what was, over the first processes of all cells."""
    there = np.arange(lanes.blocks.shape[2]) < lanes.count[:, :FIXED, None]
    worse = np.maximum(lanes.before, lanes.after)[:, :FIXED]
    calm = there & (worse <= pilots.CALM[pilots.CORE] * level[:, None, None])
    quiet, slow = there & (lanes.extra[:, :FIXED] == 0.0), lanes.extra[:, :FIXED] > TRULY_SLOW
    for machine, row in enumerate(rows):
        mine = lanes.machine == machine
        row.calm, row.missed = int(calm[mine].sum()), int((calm & slow)[mine].sum())
        row.quiet, row.refused = int(quiet[mine].sum()), int((quiet & ~calm)[mine].sum())


# --- other tools


def others(core: Core, lanes: Lanes, rows: Sequence[Row], draw: np.random.Generator) -> None:
    """timeit: the least of five times 0.2 s. pytest-benchmark: the mean of a second. pyperf and asv: the median of 60.

    The first two have one process. The last has 20, each with three times 0.1 s, spread over the run.
    """
    begin = (lanes.run * RUN_LENGTH + lanes.cell * SLOT).astype(float)
    work = (np.exp(LOGNORMAL**2 / 2) + ADDED + INTERRUPTS * INTERRUPT)[lanes.cell]

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
    for rule, times in said.items():
        for row, part in zip(rows, times.reshape(len(rows), RUNS, CELLS), strict=True):
            row.said[rule] = part


def simulate(family: str, share: float, dwell: float, machines: Sequence[tuple[float, float]], seed: int) -> list[Row]:
    """Machines with the same slow states, of several ratios and drifts."""
    draw = np.random.default_rng([seed, FAMILIES.index(family), int(1000 * share), int(1000 * dwell)])
    core = Core(draw, family, share, dwell)
    lanes = lanes_of(core, machines)
    references = measure(core, lanes, draw)
    rows = [Row(family, share, dwell, ratio, drift) for ratio, drift in machines]
    judge(lanes, references, rows)
    others(core, lanes, rows, draw)
    return rows


def quantile(values: Any, share: float = 0.5) -> float:
    """The median, or another share; nan of nothing."""
    known = np.asarray(values)[np.isfinite(values)]
    return float(np.quantile(known, share)) if len(known) else np.nan
