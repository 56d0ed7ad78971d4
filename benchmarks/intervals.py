"""The interval of a calm time after optional stopping: how often it holds the truth, on a machine always calm.

In: how the layouts of processes are spread. Out: how many processes a cell takes until its interval is narrow, what the
interval says that it covers, what it covers, and how far five runs lie apart, by the calm time and by the floor.

A rule that stops when the interval is narrow stops more often when it is narrow by chance. The stated coverage is that
of a number of processes that was fixed before: it is not exact for one that was not.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from machines import BLOCK, BLOCKS, SECOND_LAYOUT, interruptions

from gradmark.commands.options import MOST_PROCESSES
from gradmark.records.agreement import LEAST_PROCESSES, NARROW
from gradmark.records.order import place_and_coverage
from gradmark.records.pilots import UNDISTURBED_SHARE

CELLS, RUNS = 5000, 5
JITTER = 0.01  # of blocks, lognormal
Array = Any

# Lognormal layouts of such spreads; layouts that can only be slower than a best one, by half a normal or, as recorded
# processes are, with a standard deviation of 5 % and a long tail; two layouts.
LOGNORMAL, ONE_SIDED, TAIL, TWO = (
    "lognormal {:.0%}", "one-sided 4%", "long tail 5%", f"two, {SECOND_LAYOUT - 1:.0%} apart",
)  # fmt: skip
KINDS = (*(LOGNORMAL.format(share) for share in (0.01, 0.02, 0.03, 0.04)), ONE_SIDED, TAIL, TWO)


@dataclass
class Found:
    """What cells of one kind of layouts came to. Shares, but for the processes."""

    processes: float
    narrow: float  # of the cells that stopped with a narrow interval
    stated: float  # mean coverage as stated
    held: float  # intervals that hold the truth
    held_by_most: float  # the same with as many processes as there may be, without stopping
    error: float  # nine of ten times are so near the truth
    apart: float  # of nine of ten cells five runs lie so near each other
    floors_apart: float  # the same by floors


def layouts(kind: str, draw: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """By how much the layout of each process slows it."""
    normal = draw.normal(0.0, 1.0, shape)
    if kind == ONE_SIDED:
        return 1.0 + 0.04 * np.abs(normal)
    if kind == TAIL:
        return 1.0 + draw.gamma(2.0, 0.05 / 2.0**0.5, shape)
    if kind == TWO:
        return np.exp(0.005 * normal) * np.where(draw.random(shape) < 0.5, SECOND_LAYOUT, 1.0)
    return np.exp(float(kind.split()[1].rstrip("%")) / 100.0 * normal)


def stops(times: Array) -> tuple[Array, Array, Array, Array]:
    """Of cells by processes: how many Gradmark takes, low, high, and the coverage that it states."""
    taken = np.full(len(times), MOST_PROCESSES)
    low, high, coverage = np.zeros((3, len(times)))
    going = np.ones(len(times), bool)
    for count in range(LEAST_PROCESSES, MOST_PROCESSES + 1):
        ordered = np.sort(times[:, :count], axis=1)
        place, stated = place_and_coverage(count)
        below, above = ordered[:, place], ordered[:, -1 - place]
        stop = going & ((above - below) / 2.0 / np.median(ordered, axis=1) <= NARROW)
        now = going if count == MOST_PROCESSES else stop
        taken[stop], low[now], high[now], coverage[now] = count, below[now], above[now], stated
        going &= ~stop
    return taken, low, high, coverage


def simulate(kind: str, seed: int) -> Found:
    """Cells of which nothing but layout and jitter is unsure."""
    draw = np.random.default_rng([seed, KINDS.index(kind)])
    shape = (CELLS, MOST_PROCESSES)
    layout = layouts(kind, draw, shape)
    work = layout[..., None] * np.exp(JITTER * draw.normal(0.0, 1.0, (*shape, BLOCKS)))
    blocks = work + interruptions(draw, BLOCK * work) / BLOCK
    ordered_blocks = np.sort(blocks, axis=2)
    times, floors = ordered_blocks[..., int(UNDISTURBED_SHARE * (BLOCKS - 1))], ordered_blocks[..., 0]
    truth = np.quantile(times, (0.25, 0.75)).mean() if kind == TWO else np.median(times)
    taken, low, high, coverage = stops(times)
    number = np.array([np.median(row[:count]) for row, count in zip(times, taken, strict=True)])
    least = np.minimum.accumulate(floors, axis=1)[np.arange(CELLS), taken - 1]
    ordered, (place, _) = np.sort(times, axis=1), place_and_coverage(MOST_PROCESSES)
    return Found(
        processes=float(taken.mean()),
        narrow=float(((high - low) / 2.0 / number <= NARROW).mean()),
        stated=float(coverage.mean()),
        held=float(((low <= truth) & (truth <= high)).mean()),
        held_by_most=float(((ordered[:, place] <= truth) & (truth <= ordered[:, -1 - place])).mean()),
        error=float(np.quantile(np.abs(number / truth - 1.0), 0.9)),
        apart=_apart(number),
        floors_apart=_apart(least),
    )


def _apart(numbers: Array) -> float:
    runs = numbers.reshape(-1, RUNS)
    return float(np.quantile(runs.max(axis=1) / runs.min(axis=1) - 1.0, 0.9))


HEADER = f"""\
{"":19}{"of the cells":>22}{"interval covers, %":>27}{"nine of ten, %":>25}
{"layouts":19}{"processes":>11}{"narrow, %":>11}{"stated":>9}{"found":>8}{f"always {MOST_PROCESSES}":>11}\
{"error":>8}{"apart":>8}{"floors":>9}"""


def show(seed: int) -> dict[str, Found]:
    """A table with a line for each kind of layouts."""
    found = {kind: simulate(kind, seed) for kind in KINDS}
    print(HEADER)
    for kind, one in found.items():
        shares = [f"{100 * share:.1f}" for share in (one.stated, one.held, one.held_by_most)]
        last = [f"{100 * share:.1f}" for share in (one.error, one.apart, one.floors_apart)]
        print(
            f"{kind:19}{one.processes:11.1f}{100 * one.narrow:11.0f}{shares[0]:>9}{shares[1]:>8}{shares[2]:>11}"
            f"{last[0]:>8}{last[1]:>8}{last[2]:>9}"
        )
    return found
