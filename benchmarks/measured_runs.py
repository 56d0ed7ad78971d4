"""Runs of `gradmark run` and their numbers, for the scripts that judge how far these can be trusted.

In: what to measure, or a folder of run files. Out: runs, the number of each cell, and lines that say what was kept.
"""

import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gradmark.records import Run
from gradmark.records.metric import numbers
from gradmark.records.number import Number, of_row
from gradmark.records.pilots import CORE
from gradmark.store import runs

WALL_TIMES = "wall_times.csv"  # beside run files: how long each took, which the files do not say
EXTENSIONS = (".json", ".jsonl")


def measure(path: Path, *arguments: str) -> float:
    """Runs `gradmark run` with these arguments into a file, and says how many seconds the command took."""
    told = [*arguments, "--json", str(path), "--format", "csv"]
    command = [sys.executable, "-m", "gradmark.commands.main", "run", *told]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as store:
        done = subprocess.run([*command, "--store", store], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    if not path.exists():  # a row that fails has exit code 1 too, and its file says why
        raise SystemExit(f"gradmark run ended with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    with open(path.parent / WALL_TIMES, "a", newline="") as file:
        csv.writer(file).writerow([path.name, f"{seconds:.2f}"])
    return seconds


def wall_times(folder: Path) -> dict[str, float]:
    """Seconds by the name of the run file, as far as they were written down."""
    path = folder / WALL_TIMES
    if not path.exists():
        return {}
    with open(path, newline="") as file:
        return {name: float(seconds) for name, seconds in csv.reader(file)}


def load_all(folder: Path) -> dict[str, Run]:
    """Every run of a folder by the name of its file, in the order in which they began."""
    found = {path.name: runs.load(path) for path in sorted(folder.iterdir()) if path.suffix in EXTENSIONS}
    if not found:
        raise SystemExit(f"{folder} has no run files; expected some that `gradmark run --json FILE` wrote")
    return dict(sorted(found.items(), key=lambda pair: pair[1].started))


def times(run: Run) -> dict[str, Number]:
    """The number that stands for each cell: what tables show. Cells without a time are left out."""
    found = {measurement.cell.id: of_row(numbers(measurement)) for measurement in run.measurements}
    return {cell: number for cell, number in found.items() if number is not None}


def calm_share(run: Run) -> float | None:
    """The share of the watched time in which pilots saw a calm machine; None if nothing was watched."""
    watched = [sample.watched_ns for measurement in run.measurements for sample in measurement.samples]
    total = sum(sum(spent.values()) for spent in watched)
    return sum(spent.get("calm", 0.0) for spent in watched) / total if total else None


def core_pilot_ns(run: Run) -> float | None:
    """What the core's pilot takes by the run's reference: the clock at which its times are stated."""
    samples = [sample for measurement in run.measurements for sample in measurement.samples]
    levels = [phase.reference[CORE] for s in samples for phase in s.phases.values() if CORE in phase.reference]
    return levels[-1] if levels else None


def described(run: Run, seconds: float | None = None) -> str:
    """One line about a run: its wall time if that is known, how calm the machine was, and at what clock."""
    share, pilot_ns = calm_share(run), core_pilot_ns(run)
    parts = [
        "" if seconds is None else f"{seconds:5.1f} s",
        "not watched" if share is None else f"calm {share:4.0%} of the time",
        "" if pilot_ns is None else f"core pilot {pilot_ns:.0f} ns",
    ]
    return ", ".join(part for part in parts if part)


def apart(values: Sequence[float]) -> float:
    """By what share the largest exceeds the smallest.

    >>> round(apart([100.0, 103.0, 101.0]), 3)
    0.03
    """
    return max(values) / min(values) - 1


def say(kept: bool, promise: str) -> bool:
    """Prints the verdict on a promise, and hands it on."""
    print(f"{'KEPT' if kept else 'NOT KEPT':8}  {promise}")
    return kept
