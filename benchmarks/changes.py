"""How well change points are told from noise: false alarms, and planted steps that are caught.

    python benchmarks/changes.py [--groups 30] [--planted 100] [RECORDING.json.gz …]

A recording is groups of series measured together, night by night, of a program that did not change. Each family below
is one kind of noise, or one kind of machine under a group. Printed for each: how many of the series raise an alarm; and
of steps planted into one series at a random night, how many are found within five nights, the later nights not yet
being there. Only calm series are planted into: their median night-to-night change is below 5 %. The last line is a
recording of another project, tests/data/gradbench-nightlies.json.gz. A file that is named is tried instead of these:
{"series": {"job/row": {"night": time}}}, or lists of times; what is before the last slash ran in one job.
"""

import argparse
import gzip
import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gradmark.analyse.changepoints import changes

STEPS = (0.08, 0.10, 0.15, 0.30)
WITHIN = 5
NIGHTLIES = Path(__file__).parents[1] / "tests" / "data" / "gradbench-nightlies.json.gz"
CALM = 0.05
Draw = np.random.Generator
Group = dict[str, list[float | None]]


def normal(draw: Draw, size: int, nights: int, most: float = 0.05) -> Any:
    spread = np.exp(draw.uniform(math.log(0.005), math.log(most), (size, 1)))
    return spread * draw.normal(size=(size, nights))


def heavy(draw: Draw, size: int, nights: int) -> Any:
    """Student's t with three degrees of freedom."""
    spread = np.exp(draw.uniform(math.log(0.005), math.log(0.03), (size, 1)))
    return spread * draw.standard_t(3, size=(size, nights))


def outliers(draw: Draw, size: int, nights: int) -> Any:
    """One night in twenty is slow by 10 to 100 %."""
    bad = draw.random((size, nights)) < 0.05
    return normal(draw, size, nights, 0.03) + bad * draw.uniform(0.1, 0.7, (size, nights))


def upward(draw: Draw, size: int, nights: int) -> Any:
    """A floor that is reached on most nights, and exponential above it."""
    return np.exp(draw.uniform(math.log(0.005), math.log(0.04), (size, 1))) * draw.exponential(size=(size, nights))


def dependent(draw: Draw, size: int, nights: int) -> Any:
    """Each night is like the one before: AR(1), correlation 0.3 to 0.8, deviation up to 4 %."""
    rho, spread = draw.uniform(0.3, 0.8, size), np.exp(draw.uniform(math.log(0.005), math.log(0.04), size))
    return spread[:, None] * _dependent(draw, rho, nights)


def drift(draw: Draw, size: int, nights: int) -> Any:
    """A random walk of 0.2 to 0.8 % a night, and noise."""
    walk = np.cumsum(draw.normal(size=(size, nights)), axis=1) * draw.uniform(0.002, 0.008, (size, 1))
    return walk + normal(draw, size, nights, 0.02)


def two_states(draw: Draw, size: int, nights: int) -> Any:
    """Each series is in one of two states by chance every night, 3 to 20 % apart."""
    slow = draw.random((size, nights)) < draw.uniform(0.1, 0.5, (size, 1))
    return normal(draw, size, nights, 0.02) + slow * draw.uniform(0.03, 0.2, (size, 1))


def rounded(draw: Draw, size: int, nights: int) -> Any:
    """Times of two digits."""
    base = draw.uniform(10.0, 99.0, (size, 1))
    return np.log(np.round(base * np.exp(normal(draw, size, nights, 0.03))))


def missing(draw: Draw, size: int, nights: int) -> Any:
    """One night in seven lacks a series, one in ten lacks all."""
    gone = (draw.random((size, nights)) < 0.15) | (draw.random(nights) < 0.1)
    return np.where(gone, math.nan, normal(draw, size, nights, 0.03))


def _dependent(draw: Draw, rho: Any, nights: int) -> Any:
    rows = [draw.normal(size=len(rho))]
    for _ in range(nights - 1):
        rows.append(rho * rows[-1] + np.sqrt(1 - rho**2) * draw.normal(size=len(rho)))
    return np.array(rows).T


def _loadings(draw: Draw, size: int) -> Any:
    return draw.uniform(0.2, 1.8, (size, 1))


def _jump(draw: Draw, nights: int) -> Any:
    """A new machine from some night on, 10 to 50 % slower or faster."""
    return draw.choice([-1, 1]) * draw.uniform(0.1, 0.4) * (np.arange(nights) >= draw.integers(5, nights - 5))


def machine(draw: Draw, size: int, nights: int) -> Any:
    return normal(draw, size, nights, 0.03) + _jump(draw, nights)


def machine_uneven(draw: Draw, size: int, nights: int) -> Any:
    """A new machine, which does not matter to all alike."""
    return normal(draw, size, nights, 0.03) + _loadings(draw, size) * _jump(draw, nights)


def machine_part(draw: Draw, size: int, nights: int) -> Any:
    """A new machine, which matters to 20 to 60 % of the group."""
    part = draw.permutation(size) < max(2, round(size * draw.uniform(0.2, 0.6)))
    return normal(draw, size, nights, 0.03) + part[:, None] * _loadings(draw, size) * _jump(draw, nights)


def machine_nightly(draw: Draw, size: int, nights: int) -> Any:
    """Every night on one of two machines by chance."""
    state = (draw.random(nights) < draw.uniform(0.1, 0.5)) * draw.uniform(0.1, 0.4)
    return normal(draw, size, nights, 0.03) + _loadings(draw, size) * state


def machine_stretches(draw: Draw, size: int, nights: int) -> Any:
    """On one of two machines for ten nights or so at a time; three kinds of series feel it each in their own way."""
    state = np.cumsum(draw.random((3, nights)) < 0.1, axis=1) % 2 * draw.uniform(-0.3, 0.4, (3, 1))
    return normal(draw, size, nights, 0.03) + state[draw.integers(0, 3, size)] * _loadings(draw, size)


def machine_busy(draw: Draw, size: int, nights: int) -> Any:
    """Neighbours on the machine: AR(1), and not felt by all alike."""
    load = np.exp(0.5 * _dependent(draw, np.array([0.7]), nights)) * draw.uniform(0.02, 0.15)
    return normal(draw, size, nights, 0.02) + _loadings(draw, size) * load


def everything(draw: Draw, size: int, nights: int) -> Any:
    """A machine of any kind, under noise of any kind."""
    under = draw.choice([machine, machine_uneven, machine_part, machine_nightly, machine_stretches, machine_busy])
    over = draw.choice([normal, heavy, outliers, upward, dependent, drift, rounded, missing])
    return under(draw, size, nights) + over(draw, size, nights)


ALONE = [normal, heavy, outliers, upward, dependent, drift, two_states, rounded, missing]
TOGETHER = [machine, machine_uneven, machine_part, machine_nightly, machine_stretches, machine_busy, everything]


def generated(family: Callable[[Draw, int, int], Any], seed: int) -> Iterator[Group]:
    """Groups of a family without end: of 1 to 30 series, or of 4 to 30 where the machine is to be told from them."""
    draw = np.random.default_rng(seed)
    while True:
        logs = family(draw, int(draw.integers(1 if family in ALONE else 4, 31)), int(draw.integers(30, 61)))
        logs = logs + draw.uniform(0.0, 12.0, (len(logs), 1))
        yield {f"row {k}": [None if math.isnan(x) else math.exp(x) for x in row] for k, row in enumerate(logs)}


def recorded(path: Path) -> list[Group]:
    """The groups of a recording."""
    raw = path.read_bytes()
    recording = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)["series"]
    nights = sorted({night for values in recording.values() if isinstance(values, dict) for night in values})
    groups: dict[str, Group] = {}
    for name, values in recording.items():
        series = [values.get(night) for night in nights] if isinstance(values, dict) else values
        groups.setdefault(name.rsplit("/", 1)[0], {})[name] = series
    return list(groups.values())


def alarms(groups: list[Group]) -> tuple[int, int]:
    """How many series raise an alarm, and how many there are."""
    found = [bool(steps) for group in groups for steps in changes(group)[0].values()]
    return sum(found), len(found)


def calm(groups: list[Group]) -> list[tuple[Group, str]]:
    """The series that hardly change from night to night."""
    return [
        (group, name)
        for group in groups
        for name, values in group.items()
        if len(there := [x for x in values if x]) > 2 * WITHIN
        and np.median(np.abs(np.diff(np.log(there)))) < math.log1p(CALM)
    ]


def caught(places: list[tuple[Group, str]], step: float, count: int) -> float:
    """The share of steps that are found within five nights."""
    draw = random.Random(1)
    found = 0
    for _ in range(count):
        group, name = draw.choice(places)
        night = draw.randrange(WITHIN, len(group[name]) - WITHIN + 1)
        planted = [x and x * (1.0 + step if place >= night else 1.0) for place, x in enumerate(group[name])]
        seen = {key: values[: night + WITHIN] for key, values in {**group, name: planted}.items()}
        found += any(abs(c.place - night) <= WITHIN and c.ratio > 1 for c in changes(seen)[0][name])
    return found / count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--groups", type=int, default=30)
    parser.add_argument("--planted", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("recordings", nargs="*", type=Path)
    options = parser.parse_args()
    print(f"{'recording':20}{'alarms':>16}" + "".join(f"{f'+{step:.0%}':>8}" for step in STEPS))
    sources: dict[str, list[Group]] = {}
    for family in [] if options.recordings else ALONE + TOGETHER:
        stream = generated(family, options.seed)
        sources[family.__name__.replace("_", " ")] = [next(stream) for _ in range(options.groups)]
    for path in options.recordings or [NIGHTLIES]:
        sources[path.name.removesuffix(".json.gz")] = recorded(path)
    for name, groups in sources.items():
        raised, count = alarms(groups)
        places = calm(groups)
        shares = [caught(places, step, options.planted) for step in STEPS] if places else []
        print(
            f"{name:20}{f'{raised}/{count}':>9}{raised / count:7.1%}" + "".join(f"{x:8.0%}" for x in shares), flush=True
        )


if __name__ == "__main__":
    main()
