"""Noise: what processes of one and the same program take, of known families and as recorded on a shared machine.

In: a random generator and the number of processes. Out: pairs of equal arms, drawn many times, with their truth.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

DATA = Path(__file__).with_name("data") / "shared_machine.json"
DRAWS = 10_000  # a share of 5 % is then known to 0.4 points, two standard errors
BASE_NS = 10_000.0
# A round of the quick suite has ten times as many rows as a round of the recording, and the recording 160 rounds.
ROUNDS_OF_SUITE = 8
Draw = np.random.Generator
Array = Any


def lognormal(draw: Draw, size: tuple[int, int]) -> Array:
    """Jitter of 5 % to either side: caches, layout of memory, frequency."""
    return draw.lognormal(0.0, 0.05, size)


def added(draw: Draw, size: tuple[int, int]) -> Array:
    """Noise only adds: a floor, and above it exponential interruptions of 5 %."""
    return 1.0 + draw.exponential(0.05, size)


def two_states(draw: Draw, size: tuple[int, int], slow: float = 0.4) -> Array:
    """A machine that is fast, or 1.6 to 1.9 times slower for the life of a process: a busy neighbour."""
    states = np.where(draw.random(size) < slow, draw.uniform(1.6, 1.9, size), 1.0)
    return states * draw.lognormal(0.0, 0.02, size)


def mostly_slow(draw: Draw, size: tuple[int, int]) -> Array:
    """The same with seven processes of ten in the slow state: the floor itself is rare."""
    return two_states(draw, size, slow=0.7)


def heavy(draw: Draw, size: tuple[int, int]) -> Array:
    """Tails without a variance: most processes agree, some are off by a lot."""
    return 1.0 + 0.03 * np.abs(draw.standard_t(2, size))


NOISE: dict[str, Callable[[Draw, tuple[int, int]], Array]] = {
    "lognormal": lognormal, "added": added, "two states": two_states, "mostly slow": mostly_slow, "heavy tails": heavy,
}  # fmt: skip
# The median of each, from as many draws as it takes for three digits.
MEDIANS = {name: float(np.median(noise(np.random.default_rng(9), (1_000_000, 1)))) for name, noise in NOISE.items()}


@cache
def recorded() -> list[list[list[float]]]:
    """Of each cell the sessions, and of each session the time of every process, in the order of the rounds."""
    sessions = json.loads(DATA.read_text())["sessions"]
    return [[session["cells"][name] for session in sessions] for name in sessions[0]["cells"]]


@dataclass
class Arms:
    """Two equal arms of n processes, drawn many times; rounds are pairs. `truth` is the median of what is drawn."""

    name: str
    first: Array
    second: Array
    truth: Array
    independent: bool = True  # else only what does not need it is promised


def arms(draw: Draw, n: int) -> Iterator[Arms]:
    """Every kind of noise; then recorded processes drawn at random, and as they came, in turns and in two runs."""
    for name, noise in NOISE.items():
        first, second = (BASE_NS * noise(draw, (DRAWS, n)) for _ in range(2))
        yield Arms(name, first, second, np.full(DRAWS, BASE_NS * MEDIANS[name]))
    cells = recorded()
    share = DRAWS // (len(cells) * len(cells[0]))
    parts = [(draw.choice(session, (2, share, n)), median(session)) for cell in cells for session in cell]
    both, truths = zip(*parts, strict=True)
    first, second = np.concatenate(both, axis=1)
    yield Arms("recorded", first, second, np.repeat(truths, share))
    turns = np.concatenate([_in_turns(draw, session, n, share) for cell in cells for session in cell], axis=1)
    yield Arms("recorded, in turns", *turns, np.full(turns.shape[1], np.nan), independent=False)
    for name, apart in (("sessions, suite", ROUNDS_OF_SUITE), ("sessions, one row", 1)):
        days = np.concatenate([_sessions(draw, cell, n, share * len(cell), apart) for cell in cells], axis=1)
        yield Arms(name, *days, np.full(days.shape[1], np.nan), independent=False)


def _in_turns(draw: Draw, times: list[float], n: int, count: int) -> Array:
    """Windows of 2·n processes as they came: even ones are one arm, odd ones the other."""
    starts = draw.integers(0, len(times) - 2 * n + 1, count)
    windows = np.asarray(times)[starts[:, None] + np.arange(2 * n)]
    return np.stack([windows[:, 0::2], windows[:, 1::2]])


def _sessions(draw: Draw, cell: list[list[float]], n: int, count: int, apart: int) -> Array:
    """n processes as they came, so many rounds apart, of two different sessions: two runs of one code on one day.

    Those of a run of the quick suite are spread over minutes, those of a run of one row over seconds.
    """
    chosen = np.array([draw.permutation(len(cell))[:2] for _ in range(count)])
    windows = []
    for arm in range(2):
        times = [np.asarray(cell[session]) for session in chosen[:, arm]]
        span = apart * (n - 1) + 1
        starts = [draw.integers(0, len(one) - span + 1) for one in times]
        windows.append(np.stack([one[k : k + span : apart] for one, k in zip(times, starts, strict=True)]))
    return np.stack(windows)
