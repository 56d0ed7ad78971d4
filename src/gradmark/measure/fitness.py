"""Fitness: is this machine fit to measure on? What can be seen of it in a moment.

In: nothing. Out: checks, each with what to do about it. `gradmark doctor` prints them; a machine of a fleet that
fails one that is needed takes no work.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from gradmark import requirements
from gradmark.measure import environment
from gradmark.measure.worker.timer import clock_resolution_ns
from gradmark.units import size

# A machine that is busy for more of the time with something else has no calm moments.
MOST_BUSY = 0.5
# How long it is watched for that.
LOOK_S = 0.5


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    good: bool
    what: str
    advice: str = ""
    details: tuple[str, ...] = ()  # lines between the two
    needed: bool = False  # whether times are worth nothing without it


def machine() -> Iterator[Check]:
    """Clock, cores, load, memory, frequency, virtualisation."""
    resolution = clock_resolution_ns()
    yield Check(resolution < 1000, f"clock: steps of {resolution:.0f} ns", needed=True)
    cores = environment.cores()
    yield Check(cores >= 2, f"cores: {cores} ({environment.cpu()})", "" if cores >= 2 else "the only core is shared")
    if hasattr(os, "getloadavg"):
        load = os.getloadavg()[0]
        calm = load < 0.5 * cores
        yield Check(calm, f"load: {load:.2f} over the last minute", "" if calm else "close other programs, then wait")
    free = _free_bytes()
    if free is not None:
        advice = "" if free > 2 << 30 else "close other programs"
        yield Check(free > 2 << 30, f"free memory: {size(free)}", advice, needed=True)
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


def platform() -> Iterator[Check]:
    """What workers cannot have on this platform; nothing on Linux."""
    for there, what, advice in (
        (hasattr(os, "sched_setaffinity"), "pinning", "workers move between cores, and times spread more"),
        (sys.platform == "linux", "memory limits", "--memory-limit is not enforced; a large size may fill the memory"),
        (hasattr(os, "killpg"), "process groups", "processes that a worker starts itself may outlive a timeout"),
        (
            sys.platform == "linux",
            "forked workers",
            "every process imports its engine itself, so quick runs take longer",
        ),
    ):
        if not there:
            yield Check(False, f"{what}: not on this platform", advice)


def extras() -> Iterator[Check]:
    """Optional packages that are not installed, and the command that installs them."""
    for extra in requirements.absent_extras():
        lacks = ", ".join(extra.lacks)
        yield Check(False, f"extra {extra.name}: without {lacks}", f"{extra.command} for {extra.purpose}")


def idle() -> Check:
    """How busy the machine is at this moment, with others' work: nothing of ours may run."""
    import psutil

    busy = psutil.cpu_percent(LOOK_S) / 100.0
    good = busy <= MOST_BUSY
    advice = "" if good else "close other programs, then wait"
    return Check(good, f"busy: {100 * busy:.0f} % of the cores' time, with other work", advice, needed=True)


def _free_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
