"""`gradmark doctor`: is this machine fit to measure on, and what to do about it."""

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import click

# How long the A/A measurement goes on.
NOISE_S = 5.0
# Processes in each arm of a simulated comparison, and how many of these are drawn.
ARM = 3
DRAWS = 2000


@dataclass(frozen=True)
class Finding:
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
    findings = [*machine(), *tools()]
    if seconds > 0:
        findings += noise(seconds)
    for finding in findings:
        mark = click.style("ok  ", fg="green") if finding.good else click.style("look", fg="yellow", bold=True)
        click.echo(f"{mark}  {finding.what}")
        if finding.advice:
            click.echo(f"      {finding.advice}")


def machine() -> Iterator[Finding]:
    """Clock, cores, load, memory, frequency, virtualisation."""
    from gradmark.measure import environment
    from gradmark.measure.worker.timer import clock_resolution_ns
    from gradmark.units import size

    resolution = clock_resolution_ns()
    yield Finding(resolution < 1000, f"clock: steps of {resolution:.0f} ns")
    cores = environment.cores()
    yield Finding(cores >= 2, f"cores: {cores} ({environment.cpu()})", "" if cores >= 2 else "the only core is shared")
    if hasattr(os, "getloadavg"):
        load = os.getloadavg()[0]
        calm = load < 0.5 * cores
        yield Finding(calm, f"load: {load:.2f} over the last minute", "" if calm else "close other programs, then wait")
    free = _free_bytes()
    if free is not None:
        yield Finding(free > 2 << 30, f"free memory: {size(free)}", "" if free > 2 << 30 else "close other programs")
    governor = environment.governor()
    if governor is None:
        yield Finding(False, "CPU frequency governor: not shown by this system", "the frequency may change unseen")
    else:
        steady = governor == "performance"
        advice = "" if steady else "`sudo cpupower frequency-set -g performance` keeps the frequency steady"
        yield Finding(steady, f"CPU frequency governor: {governor}", advice)
    host = environment.virtualisation()
    advice = "others may use the same hardware: trust ratios of interleaved runs, not times" if host else ""
    yield Finding(host is None, f"virtualisation: {host or 'none seen'}", advice)


def tools() -> Iterator[Finding]:
    """memray and valgrind: without them some columns stay empty."""
    try:
        import memray  # noqa: F401

        yield Finding(True, "memray: installed; allocations and bytes can be counted")
    except ImportError:
        yield Finding(False, "memray: not installed", "pip install memray (Linux and macOS); until then memory is n/a")
    if shutil.which("valgrind"):
        yield Finding(True, "valgrind: installed; --instructions can be used")
    else:
        yield Finding(False, "valgrind: not installed", "install it with the system's packages to use --instructions")


def noise(seconds: float) -> list[Finding]:
    """The same work in fresh processes, compared with itself: how different can equal things look here?"""
    import time

    from gradmark.measure import process
    from gradmark.measure.job import Job
    from gradmark.records import Cell, Settings

    cell = Cell(engine="python-floats", workload="poly", suite="scalar", params={"n": 1000})
    floors: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        result = process.run(Job(kind="time", cell=cell, settings=Settings()))
        if result.sample is None:
            return [Finding(False, f"noise: could not be measured: {result.message}")]
        floors.append(result.sample.phases["primal"].floor_ns)
        print(f"\rmeasuring noise: {len(floors)} processes", end="", file=sys.stderr, flush=True)
    print(f"\r{'':40}\r", end="", file=sys.stderr)
    if len(floors) < 2 * ARM:
        return [Finding(False, f"noise: only {len(floors)} processes in {seconds:g} s", "give it more with --seconds")]
    error = aa_error(floors)
    smallest = max(0.01, 2 * error)
    good = error < 0.03
    return [
        Finding(
            good,
            f"noise: with {ARM} processes an arm, equal things differ by up to {error:.1%} (p95 of floors, "
            f"{len(floors)} processes); the smallest slowdown that can be seen is about {smallest:.0%}",
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
