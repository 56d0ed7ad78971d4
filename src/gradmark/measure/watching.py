"""Watching: a process that does nothing but take pilots, on one core after another.

In: the cores, how often each is visited and for how long. Out: the pilots of every visit, each with its time.

Never two cores at once: two of them may be halves of one physical core, and would then slow each other down.
"""

import os
import subprocess
import sys
import time

import msgspec

from gradmark.errors import GradmarkError
from gradmark.isolation import home
from gradmark.measure.worker import pilot
from gradmark.records import Record
from gradmark.records.decoding import UndecodableError, decoded

COMMAND = [sys.executable, "-P", "-m", "gradmark.measure.watching"]
# A core that was idle takes a moment to reach its clock, and this process's data to reach its caches.
SETTLING_NS = 5_000_000
# What the process may take beyond the time it watches.
PATIENCE_S = 30.0


class Order(Record, frozen=True, kw_only=True):
    """What to watch."""

    cores: list[int]  # empty: wherever the system puts the process
    rounds: int
    visit_ns: int


class Visited(Record, frozen=True, kw_only=True):
    """One visit to a core: when each pilot began, and what it took, in nanoseconds."""

    core: int
    pilots: list[tuple[int, int]]


VISITS = msgspec.json.Decoder(list[Visited])


def allowed() -> list[int]:
    """The cores that this process may use, where it can choose among them; empty where it cannot."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []


def watch(order: Order) -> list[Visited]:
    """All visits, in the order in which they were made."""
    patience_s = order.rounds * max(1, len(order.cores)) * order.visit_ns / 1e9 + PATIENCE_S
    try:
        completed = subprocess.run(
            COMMAND,
            input=msgspec.json.encode(order),
            capture_output=True,
            timeout=patience_s,
            env=home.marked(os.environ),
        )
    except subprocess.TimeoutExpired:
        raise GradmarkError(f"the watching process did not end within {patience_s:.0f} s") from None
    if completed.returncode != 0:
        errors = completed.stderr.decode(errors="replace").strip().splitlines()
        raise GradmarkError(
            f"the watching process ended with exit code {completed.returncode}: {' '.join(errors[-1:])}"
        )
    try:
        return decoded(VISITS, completed.stdout)
    except UndecodableError as error:
        raise GradmarkError(f"the watching process answered something else than visits: {error}") from error


def carry_out(order: Order) -> list[Visited]:
    """Visits the cores in turns, so that a slow second falls on all of them. Moves this process."""
    visits = []
    for _ in range(order.rounds):
        for core in order.cores or [0]:
            if order.cores:
                os.sched_setaffinity(0, [core])
            _take(SETTLING_NS)
            visits.append(Visited(core=core, pilots=_take(order.visit_ns)))
    return visits


def _take(length_ns: int) -> list[tuple[int, int]]:
    """Pilots for so long; at least one."""
    now, take = time.perf_counter_ns, pilot.core
    start_ns = at_ns = now()
    pilots = []
    while True:
        pilots.append((at_ns - start_ns, take()))
        at_ns = now()
        if at_ns - start_ns >= length_ns:
            return pilots


if __name__ == "__main__":
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    sys.stdout.buffer.write(msgspec.json.encode(carry_out(asked)))
