"""`gradmark doctor`: is this machine fit to measure on, and what to do about it."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import click

# How long the A/A measurement goes on.
NOISE_S = 5.0
# Processes in each arm of a simulated comparison, and how many of these are drawn.
ARM = 3
DRAWS = 2000
# As wide as a terminal that nobody has widened.
WIDTH = 80


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    good: bool
    what: str
    advice: str = ""


@click.command()
@click.option("--seconds", default=NOISE_S, show_default=True, help="Length of the A/A measurement; 0 leaves it out.")
def command(seconds: float) -> None:
    """Check whether this machine is fit to measure on.

    Looks at the clock, the load, the CPU and the tools, and measures the noise.
    """
    checks = [*machine(), *tools()]
    if seconds > 0:
        checks += noise(seconds)
    for check in checks:
        mark = click.style("ok  ", fg="green") if check.good else click.style("look", fg="yellow", bold=True)
        first, *rest = [*wrapped(check.what), *(wrapped(check.advice) if check.advice else [])]
        click.echo(f"{mark}  {first}")
        for line in rest:
            click.echo(f"      {line}")


def wrapped(text: str) -> list[str]:
    """The lines of a text that stands beside a mark."""
    import textwrap

    return textwrap.wrap(text, WIDTH - len("look  "))


def machine() -> Iterator[Check]:
    """Clock, cores, load, memory, frequency, virtualisation."""
    from gradmark.measure import environment
    from gradmark.measure.worker.timer import clock_resolution_ns
    from gradmark.units import size

    resolution = clock_resolution_ns()
    yield Check(resolution < 1000, f"clock: steps of {resolution:.0f} ns")
    cores = environment.cores()
    yield Check(cores >= 2, f"cores: {cores} ({environment.cpu()})", "" if cores >= 2 else "the only core is shared")
    if hasattr(os, "getloadavg"):
        load = os.getloadavg()[0]
        calm = load < 0.5 * cores
        yield Check(calm, f"load: {load:.2f} over the last minute", "" if calm else "close other programs, then wait")
    free = _free_bytes()
    if free is not None:
        yield Check(free > 2 << 30, f"free memory: {size(free)}", "" if free > 2 << 30 else "close other programs")
    governor = environment.governor()
    if governor is None:
        yield Check(False, "CPU frequency governor: not shown by this system", "the frequency may change unseen")
    else:
        steady = governor == "performance"
        advice = "" if steady else "`sudo cpupower frequency-set -g performance` keeps the frequency steady"
        yield Check(steady, f"CPU frequency governor: {governor}", advice)
    host = environment.virtualisation()
    advice = "others may use the same hardware: trust ratios of interleaved runs, not times" if host else ""
    yield Check(host is None, f"virtualisation: {host or 'none seen'}", advice)


def tools() -> Iterator[Check]:
    """memray and valgrind: without them some columns stay empty."""
    try:
        import memray  # noqa: F401

        yield Check(True, "memray: installed; allocations and bytes can be counted")
    except ImportError:
        yield Check(False, "memray: not installed", "pip install memray (Linux and macOS); until then memory is n/a")
    if shutil.which("valgrind"):
        yield Check(True, "valgrind: installed; --instructions can be used")
    else:
        yield Check(False, "valgrind: not installed", "install it with the system's packages to use --instructions")


def noise(seconds: float) -> list[Check]:
    """The same work in fresh processes, compared with itself: how different can equal things look here?"""
    import time

    from gradmark.commands.progress import working
    from gradmark.measure import process
    from gradmark.measure.job import Job
    from gradmark.records import Cell, Settings
    from gradmark.report.model.characters import plural

    cell = Cell(engine="python-floats", workload="poly", suite="scalar", params={"n": 1000})
    floors: list[float] = []
    with working(f"measuring noise for {seconds:g} s"):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            result = process.run(Job(kind="time", cell=cell, settings=Settings()))
            if result.sample is None:
                return [Check(False, f"noise: could not be measured: {result.message}")]
            floors.append(result.sample.phases["primal"].floor_ns)
    if len(floors) < 2 * ARM:
        return [
            Check(
                False, f"noise: only {plural(len(floors), 'process')} in {seconds:g} s", "give it more with --seconds"
            )
        ]
    error = aa_error(floors)
    smallest = max(0.01, 2 * error)
    good = error < 0.03
    return [
        Check(
            good,
            f"noise: with {ARM} processes on each side, equal things differ by up to {100 * error:.1f} % (95th "
            f"percentile, {len(floors)} processes); the smallest slowdown that can be seen is "
            f"about {100 * smallest:.0f} %",
            "" if good else "measure with --full (more processes), or on a calmer machine",
        )
    ]


def aa_error(floors: list[float]) -> float:
    """The 95th percentile of |ratio - 1| of two arms drawn from equal processes."""
    import random

    draw = random.Random(0)
    errors = []
    for _ in range(DRAWS):
        drawn = draw.sample(floors, 2 * ARM)
        errors.append(abs(min(drawn[:ARM]) / min(drawn[ARM:]) - 1.0))
    return sorted(errors)[int(0.95 * DRAWS)]


def _free_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
