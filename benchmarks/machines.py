"""Simulated machines that are calm and slow in turns, and a worker that times blocks between pilots on them.

In: how often a machine is calm, how long a slow stretch lasts, by how much it slows, and how far the clock drifts. Out:
what the blocks and pilots of every process took, and what of each block was the slow state's doing.

A core is calm or slow in turns, each for a random time, and its clock drifts. Blocks and pilots are integrals over that
core: a block in which a neighbour comes is slow in part, and a neighbour that comes and goes between two pilots is
missed. Times are milliseconds. The worker waits as `gradmark.measure.worker.timer` does, with two differences: it has
one pilot, that of the core; and it knows the pilots of earlier rounds only, so that in the first round it never waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradmark.commands.options import BLOCKS, MOST_PROCESSES
from gradmark.measure.worker.timer import PATIENCE
from gradmark.records import pilots

Array = Any

# How long a state lasts, and how the clock moves: an exponential and a random walk; a power law without a variance, up
# to a hundred times its mean, and steps. The third has a clock that stays where it is for a whole run. Without an end
# to the power law, whole runs are slow at times: that is a machine that is never calm.
EXPONENTIAL, HEAVY, CLOCK_OF_A_RUN = FAMILIES = ("exponential", "heavy-tailed", "one clock a run")
LONGEST = 5000.0  # and no state lasts longer

RUNS, CELLS = 5, 10
BLOCK, PILOT = 0.5, 0.009
PILOT_JITTER = 0.002
NOMINAL = BLOCKS * BLOCK
START = 100.0  # between two processes: Python starts
SLOT = START + PATIENCE * NOMINAL + 20.0
RUN_LENGTH = MOST_PROCESSES * CELLS * SLOT
CLOCK_STEP = 10.0
PLACES = 80  # room for the blocks of a process
INTERRUPTS, INTERRUPT = 0.1, 0.01  # of a millisecond: how many, and for how long on average
# A block slows by less or more than a pilot: so many times what the pilot slows by above one.
RESPONSE = np.resize((0.6, 1.0, 1.3), CELLS)
LOGNORMAL = np.resize((0.005, 0.01, 0.02, 0.0, 0.0), CELLS)
ADDED = np.resize((0.0, 0.0, 0.0, 0.01, 0.02), CELLS)
# Each process has a layout in memory of its own, which moves all of its blocks: by a lognormal share in most cells. Two
# cells have two layouts, half of the processes each.
LAYOUT = np.append(np.resize((0.01, 0.02, 0.03, 0.04), CELLS - 2), (0.005, 0.005))
TWO_LAYOUTS = np.arange(CELLS) >= CELLS - 2
SECOND_LAYOUT = 1.1


class Core:
    """One core over the time of all runs: when it was slow, and at which clock it ran (lag 0: the full clock)."""

    def __init__(self, draw: np.random.Generator, family: str, share: float, dwell: float) -> None:
        end = RUNS * RUN_LENGTH + 5000.0
        self.knots, self.slow = _states(draw, family, share, dwell, end)  # slow time up to each knot
        self.begins_slow = bool(self.slow[1] > 0.0)
        count = int(end / CLOCK_STEP) + 1
        if family == EXPONENTIAL:
            steps = draw.normal(0.0, (CLOCK_STEP / 2000.0) ** 0.5, count)
            self.lag = np.abs((np.cumsum(steps) + 1.0) % 2.0 - 1.0)  # reflected at 0 and 1; crosses in some two seconds
        else:
            steady = int((500.0 if family == HEAVY else RUN_LENGTH) / CLOCK_STEP)
            levels = draw.choice([0.0, 0.3, 0.6, 1.0], count // steady + 1)
            self.lag = np.repeat(levels, steady)[:count]
        self.lag_sum = np.concatenate([[0.0], np.cumsum(self.lag)]) * CLOCK_STEP

    def prepare(self, ratios: Sequence[float]) -> None:
        """Work that can be done up to each knot, for every factor by which the slow state slows."""
        work = [self.knots - (1.0 - 1.0 / ratio) * self.slow for ratio in ratios]
        self._far = 2.0 * self.knots[-1]
        self._work = np.concatenate([one + k * self._far for k, one in enumerate(work)])
        self._ends = np.tile(self.knots, len(work))
        self._loss = 1.0 - 1.0 / np.asarray(ratios)

    def end(self, start: Array, work: Array, key: Array) -> Array:
        """When so much work is done that began then; `key` is the place of its ratio."""
        done = start - self._loss[key] * np.interp(start, self.knots, self.slow)
        return np.interp(done + work + key * self._far, self._work, self._ends)

    def lost(self, start: Array, end: Array, key: Array) -> Array:
        """How much of the time between the slow state took."""
        return self._loss[key] * (np.interp(end, self.knots, self.slow) - np.interp(start, self.knots, self.slow))

    def lag_at(self, start: Array) -> Array:
        """0 at the full clock, 1 at the lowest."""
        return self.lag[(start / CLOCK_STEP).astype(int)]

    def mean_lag(self, start: Array, length: float) -> Array:
        """The same over a longer time."""
        at = np.arange(len(self.lag_sum)) * CLOCK_STEP
        return (np.interp(start + length, at, self.lag_sum) - np.interp(start, at, self.lag_sum)) / length

    def next_calm(self, start: Array) -> tuple[Array, Array]:
        """Whether the core is slow at that time, and when that ends."""
        place = np.searchsorted(self.knots, start, side="right")
        is_slow = (place % 2 == 1) == self.begins_slow
        return is_slow, self.knots[np.minimum(place, len(self.knots) - 1)]


def _states(draw: np.random.Generator, family: str, share: float, dwell: float, end: float) -> tuple[Array, Array]:
    if share in (0.0, 1.0):
        return np.array([0.0, end]), np.array([0.0, end * (1.0 - share)])
    calm = dwell * share / (1.0 - share)
    count = int(1.3 * end / (calm + dwell)) + 50
    means = np.array([[calm], [dwell]])
    if family == HEAVY:
        most = np.minimum(100.0, LONGEST / means)
        lengths = np.minimum(0.5 * draw.pareto(1.5, (2, count)), most) / (1.0 - (1.0 + 2.0 * most) ** -0.5)
    else:
        lengths = draw.exponential(1.0, (2, count))
    lengths = np.maximum(lengths, 1e-6) * means
    lengths *= max(1.0, 1.01 * end / lengths.sum())
    if draw.random() > share:
        order, is_slow = lengths[::-1], np.array([1.0, 0.0])
    else:
        order, is_slow = lengths, np.array([0.0, 1.0])
    flat = order.T.ravel()
    knots = np.concatenate([[0.0], np.cumsum(flat)])
    slow = np.concatenate([[0.0], np.cumsum(flat * np.resize(is_slow, flat.shape))])
    return knots, slow


# --- the worker: a lane is a cell of a run on a machine, and all lanes take their blocks together


@dataclass
class Lanes:
    """Which machine, run and cell each lane is, and what its processes took."""

    machine: Array
    run: Array
    cell: Array
    ratio: Array
    drift: Array
    pilot_key: Array
    block_key: Array
    blocks: Array  # by lane, process and place
    before: Array
    after: Array
    extra: Array  # what the slow state added to a block, relative
    count: Array  # by lane and process

    def pilots(self, lane: int, process: int) -> dict[str, list[tuple[float, float]]]:
        """As a phase has them."""
        n = self.count[lane, process]
        pairs = zip(self.before[lane, process, :n].tolist(), self.after[lane, process, :n].tolist(), strict=True)
        return {pilots.CORE: list(pairs)}


def lanes_of(core: Core, machines: Sequence[tuple[float, float]]) -> Lanes:
    """Lanes without blocks, for machines of such ratios and drifts."""
    machine, run, cell = (a.ravel() for a in np.indices((len(machines), RUNS, CELLS)))
    ratio, drift = np.array(machines)[machine].T
    response = np.round(1.0 + (ratio - 1.0) * RESPONSE[cell], 6)
    ratios = sorted({*ratio.tolist(), *response.tolist()})
    core.prepare(ratios)
    room = (len(machine), MOST_PROCESSES, PLACES)
    keys = np.searchsorted(ratios, ratio), np.searchsorted(ratios, response)
    arrays = [np.zeros(room) for _ in range(4)]
    return Lanes(machine, run, cell, ratio, drift, *keys, *arrays, np.zeros(room[:2], int))


def layouts(draw: np.random.Generator, cell: Array, shape: tuple[int, ...]) -> Array:
    """By how much the layout in memory of each process slows it; the first axis is that of the cells."""
    spread, two = (of_cell[cell].reshape(-1, *[1] * (len(shape) - 1)) for of_cell in (LAYOUT, TWO_LAYOUTS))
    found = np.exp(spread * draw.normal(0.0, 1.0, shape))
    return np.where(two & (draw.random(shape) < 0.5), SECOND_LAYOUT * found, found)


def jitter(draw: np.random.Generator, cell: Array) -> Array:
    """What moves single blocks on a calm machine, one for each cell that is named."""
    return draw.lognormal(0.0, 1.0, cell.shape) ** LOGNORMAL[cell] + ADDED[cell] * draw.exponential(1.0, cell.shape)


def interruptions(draw: np.random.Generator, length: Array) -> Array:
    """How long the system itself interrupts work of such a length."""
    return draw.gamma(draw.poisson(INTERRUPTS * length) + 1e-12, INTERRUPT)


def always_calm(draw: np.random.Generator, cell: int, processes: int) -> Array:
    """Processes by blocks on a machine that is always calm, at its full clock: multiples of an undisturbed block."""
    cells = np.full((processes, BLOCKS), cell)
    work = layouts(draw, np.array([cell]), (1, processes)).T * jitter(draw, cells)
    return work + interruptions(draw, BLOCK * work) / BLOCK


def measure(core: Core, lanes: Lanes, draw: np.random.Generator) -> list[Array]:
    """All rounds. A process knows the reference of the rounds before it; in the first nobody waits.

    Returned is what was known after each round: the reference of every lane's run.
    """
    seen = [pilots.Reference() for _ in range(int(lanes.machine[-1] + 1) * RUNS)]
    mine = lanes.machine * RUNS + lanes.run
    layout = layouts(draw, lanes.cell, (len(mine), MOST_PROCESSES))
    known, references = np.full(len(mine), np.inf), []
    for process in range(MOST_PROCESSES):
        _process(core, lanes, draw, process, layout[:, process], known * pilots.CALM[pilots.CORE])
        for lane, run in enumerate(mine):
            seen[run].add(lanes.pilots(lane, process))
        known = np.array([reference.levels()[pilots.CORE] for reference in seen])[mine]
        references.append(known)
    return references


def _process(core: Core, lanes: Lanes, draw: np.random.Generator, process: int, layout: Array, limit: Array) -> None:
    """One process of each lane: a block at once, then blocks that begin on a calm machine, until patience ends."""
    now = ((lanes.run * MOST_PROCESSES + process) * CELLS + lanes.cell) * SLOT + START
    calm, active = np.zeros(len(now), int), np.arange(len(now))
    until = np.full(len(now), np.inf)
    before, now = _pilot(core, lanes, draw, active, now)
    while len(active):
        start, cell, key = now[active], lanes.cell[active], lanes.block_key[active]
        clock = 1.0 + lanes.drift[active] * core.lag_at(start)
        end = core.end(start, BLOCK * clock * layout[active] * jitter(draw, cell), key)
        lost = core.lost(start, end, key)
        end += interruptions(draw, end - start)
        after, done = _pilot(core, lanes, draw, active, end)
        place = lanes.count[active, process]
        lanes.blocks[active, process, place] = end - start
        lanes.before[active, process, place], lanes.after[active, process, place] = before, after
        lanes.extra[active, process, place] = lost / (end - start - lost)
        lanes.count[active, process] += 1
        now[active] = done
        until[active] = np.where(place == 0, done + PATIENCE * NOMINAL, until[active])
        calm[active] += np.maximum(before, after) <= limit[active]
        active = active[(calm[active] < BLOCKS) & (done < until[active]) & (place < PLACES - 1)]
        before, now[active] = _wait(core, lanes, draw, active, now[active], limit[active], until[active])
        began_calm = before <= limit[active]
        active, before = active[began_calm], before[began_calm]


def _pilot(core: Core, lanes: Lanes, draw: np.random.Generator, active: Array, start: Array) -> tuple[Array, Array]:
    """What a pilot that begins then takes, and when it ends."""
    clock = 1.0 + lanes.drift[active] * core.lag_at(start)
    work = PILOT * clock * (1.0 + PILOT_JITTER * np.abs(draw.normal(0.0, 1.0, len(active))))
    end = core.end(start, work, lanes.pilot_key[active])
    end += interruptions(draw, end - start)
    return end - start, end


def _wait(
    core: Core, lanes: Lanes, draw: np.random.Generator, active: Array, now: Array, limit: Array, until: Array
) -> tuple[Array, Array]:
    """Pilots until one is calm, or patience ends. Those that lie within one slow state, or a low clock, are skipped."""
    took, end = _pilot(core, lanes, draw, active, now)
    waiting = np.flatnonzero((took > limit) & (end < until))
    while len(waiting):
        start, lane = end[waiting], active[waiting]
        is_slow, slow_until = core.next_calm(start)
        straddles = slow_until - draw.random(len(waiting)) * PILOT * lanes.ratio[lane]
        low = PILOT * (1.0 + lanes.drift[lane] * core.lag_at(start)) > limit[waiting]
        again = np.where(is_slow, np.maximum(start, straddles), np.where(low, start + 1.0, start))
        took[waiting], end[waiting] = _pilot(core, lanes, draw, lane, np.minimum(again, until[waiting]))
        waiting = waiting[(took[waiting] > limit[waiting]) & (end[waiting] < until[waiting])]
    return took, end
